"""The reasoners that are compared, and the subjects they are compared on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.workload import PROGRAMS


@dataclass(frozen=True, slots=True)
class Reasoner:
    """An engine with a strategy.

    The engine `algebra` evaluates the program's relational algebra, and `substitution` is that of
    `benchmarks.reasoners.substitution`, over an index structure.
    """

    name: str
    engine: str
    strategy: str = "recompute"
    is_parallel: bool = False
    index: str = ""
    # Why it follows no changes, if it follows none.
    no_changes: str = ""


# The kinds of `benchmarks.reasoners.indexes`, which are not loaded here: the runner stays small.
INDEX_KINDS: Final = ("hash", "sorted", "btree", "trie")
REASONERS: Final = (
    Reasoner("naive substitution", "reference"),
    Reasoner("relational algebra", "algebra", no_changes="keeps no state"),
    *(
        Reasoner(f"substitution with DRed, {kind}", "substitution", "dred", index=kind)
        for kind in INDEX_KINDS
    ),
    Reasoner(
        "substitution with DRed, threads", "substitution", "dred", is_parallel=True, index=INDEX_KINDS[0]
    ),
    Reasoner("semi-naive", "local"),
    Reasoner("semi-naive, threads", "local", is_parallel=True),
    Reasoner("sparse (update)", "local", "update"),
    Reasoner("dense (counting)", "local", "counting"),
    Reasoner("DRed", "local", "dred"),
    Reasoner("DRed with counters", "local", "dred-counters"),
    Reasoner("backward-forward", "local", "backward-forward"),
    Reasoner("elastic, eager", "local", "elastic-eager"),
    Reasoner("elastic, lazy", "local", "elastic-lazy"),
    Reasoner("auto", "local", "auto"),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A program, what writes its facts into a folder, and the input relation that is changed.

    Without a writer, the facts are the published data set `name`.
    """

    name: str
    program: str
    changed: str
    write: Callable[[Path], None] | None = None

    @property
    def path(self) -> Path:
        """Return the program's file."""
        return PROGRAMS / self.program


def subjects(*, is_small: bool) -> tuple[Subject, ...]:
    """Return what is measured; the small ones take seconds and need no data set."""
    if is_small:
        return _generated(side=10, depth=5, universities=())
    return (
        *_generated(side=30, depth=7, universities=(1, 2, 5, 10)),
        Subject("cspa10k", "cspa.dl", "Assign"),
        Subject("galen", "galen.dl", "p"),
    )


def _generated(side: int, depth: int, universities: tuple[int, ...]) -> tuple[Subject, ...]:
    grids = Subject(f"closure of a grid of {side + 1}", "tc.dl", "arc", partial(_grid, side=side))
    name = f"same generation, depth {depth}"
    trees = Subject(name, "same_generation.dl", "arc", partial(_tree, depth=depth))
    ontologies = (
        Subject(f"RDFS, LUBM {number}", "rdfs.dl", "A", partial(_lubm, universities=number))
        for number in universities
    )
    return grids, trees, *ontologies


def _grid(folder: Path, side: int) -> None:
    from benchmarks.generators import grid, write_arcs  # noqa: PLC0415 - numpy only where facts are made

    write_arcs(grid(side), folder / "arc.facts")


def _tree(folder: Path, depth: int) -> None:
    from benchmarks.generators import tree, write_arcs  # noqa: PLC0415 - as above

    write_arcs(tree(depth, 1, 3, seed=1), folder / "arc.facts")


def _lubm(folder: Path, universities: int) -> None:
    from benchmarks.generators import lubm, write_triples  # noqa: PLC0415 - as above

    schema, assertions = lubm(universities)
    write_triples(schema, folder / "T.facts")
    write_triples(assertions, folder / "A.facts")
