"""Index structures behind one interface, for experiments: `INDEXES` has them by name."""

from collections.abc import Callable, Mapping
from typing import Final

from benchmarks.reasoners.indexes.btree import BTreeIndex
from benchmarks.reasoners.indexes.hashed import HashIndex
from benchmarks.reasoners.indexes.interface import FactIndex, Positions
from benchmarks.reasoners.indexes.ordered import SortedIndex
from benchmarks.reasoners.indexes.trie import TrieIndex

INDEXES: Final[Mapping[str, Callable[[Positions, int], FactIndex]]] = {
    "hash": HashIndex,
    "sorted": SortedIndex,
    "btree": BTreeIndex,
    "trie": TrieIndex,
}
