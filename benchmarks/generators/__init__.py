"""Facts made on the spot: graphs of the literature and a university ontology."""

from benchmarks.generators.gnp import gnp
from benchmarks.generators.grid import grid
from benchmarks.generators.lubm import lubm
from benchmarks.generators.rmat import rmat
from benchmarks.generators.tree import tree
from benchmarks.generators.write import write_arcs, write_triples

__all__ = ["gnp", "grid", "lubm", "rmat", "tree", "write_arcs", "write_triples"]
