"""The named workloads: a program, where its facts come from, and how many facts must come out."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PROGRAMS: Final = Path(__file__).parent / "workloads"


@dataclass(frozen=True, slots=True)
class Published:
    """A published data set: a folder of `.facts`, or an archive of that folder.

    `rename` says which files are taken and what the program calls them; empty takes all as they are.
    """

    folder: str
    rename: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generated:
    """Facts made by a generator, which writes `.facts` files into the folder it is given."""

    write: Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Workload:
    """One program over one set of facts.

    `expected` are sizes that an independent program confirmed; a run that disagrees has failed.
    """

    name: str
    program: str
    facts: Published | Generated
    about: str
    expected: Mapping[str, int] = field(default_factory=dict)
    # Too long or too large to be run unless it is asked for by name.
    is_heavy: bool = False

    @property
    def path(self) -> Path:
        """Return the program's file."""
        return PROGRAMS / self.program


def _grid(side: int) -> Generated:
    def write(folder: Path) -> None:
        from benchmarks.generators import grid, write_arcs  # noqa: PLC0415 - numpy only where facts are made

        write_arcs(grid(side), folder / "arc.facts")

    return Generated(write)


def _rmat(scale: int) -> Generated:
    def write(folder: Path) -> None:
        from benchmarks.generators import rmat, write_arcs  # noqa: PLC0415 - numpy only where facts are made

        write_arcs(rmat(scale, 10 << scale, seed=1), folder / "arc.facts")

    return Generated(write)


def _line(arcs: int) -> Generated:
    def write(folder: Path) -> None:
        lines = (f"{number}\t{number + 1}\n" for number in range(arcs))
        folder.joinpath("arc.facts").write_text("".join(lines), encoding="utf-8")

    return Generated(write)


def _lubm(universities: int) -> Generated:
    def write(folder: Path) -> None:
        from benchmarks.generators import lubm, write_triples  # noqa: PLC0415 - numpy only where facts are made

        schema, assertions = lubm(universities)
        write_triples(schema, folder / "T.facts")
        write_triples(assertions, folder / "A.facts")

    return Generated(write)


def _graph(name: str) -> Published:
    return Published("bigdatalog_graphs", {f"{name}.facts": "arc.facts"})


WORKLOADS: Final = (
    Workload("ten_rules", "ten_rules.dl", _line(4), "ten rules on four facts: the start", {"near": 25}),
    Workload(
        "deep", "deep.dl", _line(1_000_000), "a path of a million arcs, one a time", {"reached": 1_000_001}
    ),
    Workload("tc_grid10", "tc.dl", _grid(10), "transitive closure, grid of 11 x 11", {"tc": 4_235}),
    Workload("tc_grid50", "tc.dl", _grid(50), "transitive closure, grid of 51 x 51", {"tc": 1_755_675}),
    Workload("tc_grid100", "tc.dl", _grid(100), "transitive closure, grid of 101 x 101", {"tc": 26_522_600}),
    Workload(
        "tc_grid150",
        "tc.dl",
        _graph("grid150"),
        "transitive closure, grid of 151 x 151",
        {"tc": 131_675_775},
        is_heavy=True,
    ),
    Workload("tc_tree11", "tc.dl", _graph("tree11"), "transitive closure, tree of depth 11", {"tc": 805_001}),
    Workload(
        "tc_g10k",
        "tc.dl",
        _graph("gnp10K"),
        "transitive closure, random graph of 10,000 vertices",
        {"tc": 100_000_000},
        is_heavy=True,
    ),
    Workload(
        "tc_rmat12",
        "tc.dl",
        _rmat(12),
        "transitive closure, R-MAT graph of 4,096 vertices",
        {"tc": 13_395_297},
    ),
    Workload(
        "tc_sf_cedge",
        "tc.dl",
        Published("graphs", {"sf_cedge.facts": "arc.facts"}),
        "transitive closure, roads of San Francisco",
        {"tc": 80_498_014},
        is_heavy=True,
    ),
    Workload(
        "tc_usroads",
        "tc.dl",
        Published("graphs", {"usroads.facts": "arc.facts"}),
        "transitive closure, roads of the United States",
        {"tc": 871_365_688},
        is_heavy=True,
    ),
    Workload(
        "sg_sf_cedge",
        "same_generation.dl",
        Published("graphs", {"sf_cedge.facts": "arc.facts"}),
        "same generation, roads of San Francisco",
        is_heavy=True,
    ),
    Workload(
        "same_generation",
        "same_generation.dl",
        _graph("grid150"),
        "same generation, grid of 151 x 151",
        {"sg": 2_295_050},
    ),
    Workload("csda100k", "csda.dl", Published("csda100k"), "context-sensitive data flow", {"Null": 170_698}),
    Workload(
        "cspa10k",
        "cspa.dl",
        Published("cspa10k"),
        "context-sensitive points-to, 10,000 assignments",
        {"ValueFlow": 30_152, "ValueAlias": 384_485, "MemoryAlias": 112_761},
    ),
    Workload(
        "cspa100k",
        "cspa.dl",
        Published("cspa100k"),
        "context-sensitive points-to, 100,000 assignments",
        {"ValueFlow": 303_801, "ValueAlias": 5_003_241, "MemoryAlias": 1_515_902},
    ),
    Workload(
        "galen",
        "galen.dl",
        Published("galen"),
        "classification of a medical ontology",
        {"p": 7_560_179, "q": 16_595_494},
        is_heavy=True,
    ),
    Workload(
        "crdt",
        "crdt.dl",
        Published("crdt"),
        "a collaborative editing trace, rules of the papers",
        {"skipBlank": 151_669_663, "nextVisible": 104_851, "result": 104_653},
        is_heavy=True,
    ),
    Workload(
        "crdt_linear",
        "crdt_linear.dl",
        Published("crdt"),
        "the same trace with linear relations: thousands of tiny iterations",
        {"nextVisible": 104_851, "result": 104_653},
    ),
    Workload(
        "crdt_steps",
        "crdt_steps.dl",
        Published("crdt"),
        "the same trace, rules of the papers without pairs over deleted elements",
        {"nextVisible": 104_851, "result": 104_653},
    ),
    Workload(
        "crdt_jumps",
        "crdt_jumps.dl",
        Published("crdt"),
        "the same trace in jumps of powers of two: few iterations",
        {"nextVisible": 104_851, "result": 104_653},
    ),
    Workload(
        "doop",
        "doop.dl",
        Published("doop_ddlog"),
        "Java points-to with its call graph, over strings",
        {
            "Subtype": 13_435,
            "Lookup": 88_614,
            "Reachable": 2_875,
            "CallGraphEdge": 13_150,
            "VarPointsTo": 621_102,
            "FieldPointsTo": 355_342,
            "StaticFieldPointsTo": 705,
            "ArrayPointsTo": 5_665,
            "ApplicationVarPointsTo": 207_297,
            "IllTyped": 0,
        },
    ),
    Workload(
        "polonius",
        "polonius.dl",
        Published("polonius_self"),
        "borrow checking of 256 Rust functions",
        {
            "region_live_at": 230_662,
            "subset": 968_047,
            "requires": 34_093,
            "borrow_live_at": 23_248,
            "error": 0,
        },
    ),
    Workload(
        "rdfs_lubm1",
        "rdfs.dl",
        _lubm(1),
        "RDFS over one university",
        {"subclass": 65, "subproperty": 6, "triple": 130_554, "typed": 63_161},
    ),
    Workload("rdfs_lubm10", "rdfs.dl", _lubm(10), "RDFS over ten universities"),
)


def workloads_named(names: Sequence[str]) -> list[Workload]:
    """Return workloads by their names; an unknown name ends the command with a message."""
    by_name = {workload.name: workload for workload in WORKLOADS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        print(
            f"error: no workload is called {', '.join(unknown)}; see `python -m benchmarks list`",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return [by_name[name] for name in names]
