"""A workload as epochs are measured on it: its program, its input facts, and engines over both."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.workload import Workload
from tidelog import io
from tidelog.engine.epoch import RelationChange
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Codes, Settings
from tidelog.maintain import LocalMaintainedEngine
from tidelog.plan.passes import run_passes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec

Rows = npt.NDArray[np.int64]
FactSet = Mapping[str, Rows]


@dataclass(frozen=True)
class Subject:
    """A program with its input facts, read once; engines over them are made afresh."""

    name: str
    program: Program
    codec: Codec
    inputs: FactSet
    jobs: int

    @property
    def input_size(self) -> int:
        """Return the number of input facts of all relations."""
        return sum(map(len, self.inputs.values()))

    def plain_engine(self) -> LocalEngine:
        """Return an engine that evaluates and forgets how, loaded and not yet evaluated."""
        return self._load(LocalEngine(self.program, self.codec, Settings(jobs=self.jobs), {}))

    def maintained_engine(self) -> LocalMaintainedEngine:
        """Return an engine that takes changes, loaded and not yet evaluated."""
        engine = LocalMaintainedEngine(self.program, self.codec, Settings(jobs=self.jobs), {})
        self._load(engine)
        return engine

    def _load(self, engine: LocalEngine) -> LocalEngine:
        for name, rows in self.inputs.items():
            engine.insert(name, columns_of(rows))
        gc.collect()
        return engine

    def sample(
        self, size: int, random: np.random.Generator, relations: Sequence[str] = ()
    ) -> dict[str, Rows]:
        """Return distinct random input facts, every fact as likely as any other."""
        names = [name for name in self.inputs if not relations or name in relations]
        lengths = np.array([len(self.inputs[name]) for name in names])
        chosen = np.sort(random.choice(int(lengths.sum()), size, replace=False))
        ends = np.cumsum(lengths)
        owner = np.searchsorted(ends, chosen, side="right")
        return {
            names[place]: self.inputs[names[place]][chosen[owner == place] - (ends[place] - lengths[place])]
            for place in np.unique(owner)
        }


def read_subject(workload: Workload, folder: Path, jobs: int = 1) -> Subject:
    """Return a workload's program and the facts its `.input` directives name."""
    return replace(read_program(workload.path, folder, jobs), name=workload.name)


def read_program(path: Path, folder: Path, jobs: int = 1) -> Subject:
    """Return a program, named for its file, and the facts its `.input` directives name."""
    built, _ = build_program(parse(Source(path.name, path.read_text(encoding="utf-8"))))
    program = run_passes(built)
    codec = Codec(program.types)
    return Subject(path.stem, program, codec, dict(_read_inputs(program, codec, folder)), jobs)


def _read_inputs(program: Program, codec: Codec, folder: Path) -> Iterator[tuple[str, Rows]]:
    for directive in program.directives:
        if directive.kind == "input":
            relation = program.relations[directive.relation]
            columns = io.read_relation(relation, directive, codec, folder)
            if columns:
                yield relation.name, np.unique(np.column_stack(columns), axis=0)


def columns_of(rows: Rows) -> list[Codes]:
    """Return rows as one array per column."""
    return [np.ascontiguousarray(rows[:, place]) for place in range(rows.shape[1])]


def deletion(facts: FactSet) -> dict[str, RelationChange]:
    """Return the change that deletes input facts."""
    return {name: RelationChange(columns_of(rows[:0]), columns_of(rows)) for name, rows in facts.items()}


def insertion(facts: FactSet) -> dict[str, RelationChange]:
    """Return the change that inserts input facts."""
    return {name: RelationChange(columns_of(rows), columns_of(rows[:0])) for name, rows in facts.items()}
