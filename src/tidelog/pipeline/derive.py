"""What derives a pipeline's outputs: a session on the local engine, see `derive_on_workers` for the other."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import StratumReport
from tidelog.options import OpenOptions
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.facts import ArrowFacts, SourceFacts, arrow_schema, published_columns, subtract
from tidelog.pipeline.past import PastFiles, read_all
from tidelog.session.open import open_session
from tidelog.store import Store
from tidelog.views.facts import FactSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.session.session import Session


# Facts on Spark, or a few of them in the driver.
Facts: TypeAlias = "DataFrame | pa.Table"


@dataclass(frozen=True, slots=True)
class FrameChange:
    """Facts of one relation to insert and to delete; None for none.

    `kept` is a frame that Spark keeps for the two until `release`.
    """

    insert: "Facts | None" = None
    delete: "Facts | None" = None
    kept: "DataFrame | None" = None

    def release(self) -> None:
        """Let Spark forget the facts."""
        if self.kept is not None:
            self.kept.unpersist()


@dataclass(frozen=True, slots=True)
class StratumWork:
    """What an epoch did to a stratum, for the report."""

    relations: tuple[str, ...]
    action: str
    strategy: str
    reason: str
    work: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Derived:
    """An epoch of the engine: what it changed in every output that changed, and how it was done.

    `inputs` has for every relation that sources changed how many facts became input, and ceased to be.
    """

    epoch: int
    inserted: Mapping[str, SourceFacts]
    deleted: Mapping[str, SourceFacts]
    inputs: Mapping[str, tuple[int, int]]
    strata: tuple[StratumWork, ...]


# Says where the facts of an output at the last committed epoch are.
Before = Callable[[str], PastFiles]


class JobEngine(Protocol):
    """An engine with a state of its own on disk, which is at most one epoch ahead of the manifest."""

    @property
    def epoch(self) -> int | None:
        """Return the epoch of the state; None before the first."""

    def apply(self, changes: Mapping[str, FrameChange], outputs: tuple[str, ...], before: Before) -> Derived:
        """Bring the state to the next epoch; on return it is on the disk."""

    def facts(self, relation: str) -> SourceFacts:
        """Return all facts of a relation."""

    def difference(self, outputs: tuple[str, ...], before: Before) -> Derived:
        """Return what the last epoch changed, found by comparing with the epoch before it."""

    def write_feed(
        self, folder: Path, op: str, deleted: SourceFacts | None, inserted: SourceFacts | None
    ) -> None:
        """Write facts that were deleted and inserted to a new folder, with a column that says which."""

    def close(self) -> None:
        """Release the state."""


class SessionDeriver:
    """A session whose facts are in the driver, with its state in a store."""

    def __init__(self, bound: CheckedJob, folder: Path, spark: "SparkSession") -> None:
        self._bound = bound
        self._folder = folder
        self._spark = spark
        self._session: Session | None = None
        if self._has_state():
            self._session = self._open({name: self._data(name, None) for name in bound.inputs})

    @property
    def epoch(self) -> int | None:
        """Return the epoch of the state; None if there is none yet."""
        return None if self._session is None else self._session.epoch

    def apply(self, changes: Mapping[str, FrameChange], outputs: tuple[str, ...], before: Before) -> Derived:
        """Bring the state to the next epoch; the first one evaluates the program."""
        del before
        if self._session is None:
            return self._begin(changes, outputs)
        insert, delete = self._sides(changes)
        delta = self._session.apply(insert=insert, delete=delete)
        changed = [name for name in outputs if name in delta]
        return Derived(
            delta.epoch,
            {name: self._changed(delta[name].inserted) for name in changed},
            {name: self._changed(delta[name].deleted) for name in changed},
            {name: (len(each.inserted), len(each.deleted)) for name, each in delta.changes.items()},
            stratum_work(delta.strata),
        )

    def facts(self, relation: str) -> SourceFacts:
        """Return all facts of a relation."""
        return self._all(relation)

    def difference(self, outputs: tuple[str, ...], before: Before) -> Derived:
        """Return what the last epoch changed, found by comparing with the epoch before it."""
        assert self._session is not None
        now = {name: self._all(name).table for name in outputs}
        old = {name: read_all(before(name)) for name in outputs}
        return Derived(
            self._session.epoch,
            {name: ArrowFacts(subtract(now[name], old[name])) for name in outputs},
            {name: ArrowFacts(subtract(old[name], now[name])) for name in outputs},
            {},
            (),
        )

    def write_feed(
        self, folder: Path, op: str, deleted: SourceFacts | None, inserted: SourceFacts | None
    ) -> None:
        """Write facts that were deleted and inserted to a new folder, with a column that says which."""
        tables = []
        for sign, facts in (("-", deleted), ("+", inserted)):
            if facts is not None:
                assert isinstance(facts, ArrowFacts)
                signs = pa.array([sign] * facts.count(), pa.string())
                tables.append(facts.table.add_column(0, op, signs))
        ArrowFacts(pa.concat_tables(tables)).write(folder)

    def close(self) -> None:
        """Release the state."""
        if self._session is not None:
            self._session.close()

    def _begin(self, changes: Mapping[str, FrameChange], outputs: tuple[str, ...]) -> Derived:
        bound = self._bound
        facts = {name: self._data(name, None) for name in bound.inputs}
        for name, change in changes.items():
            if change.insert is not None:
                facts[name] = self._load(name, change.insert)
        self._session = self._open(facts)
        strata = tuple(
            StratumWork(
                each.relations, "evaluated", "evaluate", "the first epoch", each.derivations, each.seconds
            )
            for each in self._session.statistics.strata
        )
        inputs = {name: (len(self._session[name]), 0) for name in bound.inputs}
        return Derived(0, {name: self.facts(name) for name in outputs}, {}, inputs, strata)

    def _has_state(self) -> bool:
        return Store.exists(self._folder)

    def _open(self, facts: Mapping[str, object]) -> "Session":
        """Return the session that goes on from the state; if there is none, a new one over the facts."""
        job = self._bound.job
        return open_session(job.place(job.program), options=self._options(facts))

    def _options(self, facts: Mapping[str, object]) -> OpenOptions:
        return replace(self._bound.options, facts=facts, store=self._folder)

    def _load(self, name: str, frame: "Facts") -> object:
        """Return the facts that a relation begins with, as a session takes them."""
        return self._data(name, frame)

    def _sides(self, changes: Mapping[str, FrameChange]) -> tuple[dict[str, object], dict[str, object]]:
        """Return what to insert and what to delete as a session takes it."""
        insert = {name: each.insert for name, each in changes.items() if each.insert is not None}
        delete = {name: each.delete for name, each in changes.items() if each.delete is not None}
        return (
            {name: self._data(name, facts) for name, facts in insert.items()},
            {name: self._data(name, facts) for name, facts in delete.items()},
        )

    def _data(self, name: str, frame: "Facts | None") -> object:
        """Return facts as a session takes them, in the driver."""
        relation = self._bound.relation(name)
        if not relation.arity:
            return frame is not None and not _is_empty(frame)
        schema = arrow_schema(published_columns(relation, self._bound.program))
        if frame is None:
            return schema.empty_table()
        return (frame if isinstance(frame, pa.Table) else frame.toArrow()).cast(schema)

    def _changed(self, facts: FactSet) -> SourceFacts:
        """Return one side of what an epoch changed in a relation."""
        return self._table(facts)

    def _all(self, name: str) -> ArrowFacts:
        """Return all facts of a relation, in the driver."""
        assert self._session is not None
        return self._table(self._session[name])

    def _table(self, facts: FactSet) -> ArrowFacts:
        columns = published_columns(self._bound.relation(facts.name), self._bound.program)
        schema = arrow_schema(columns)
        if not facts.columns:
            return ArrowFacts(pa.table([pa.array([True] * len(facts), pa.bool_())], schema=schema))
        return ArrowFacts(facts.to_arrow().cast(schema))


def stratum_work(reports: Iterable[StratumReport]) -> tuple[StratumWork, ...]:
    """Return what an epoch did to strata, for the report."""
    return tuple(
        StratumWork(
            each.relations, each.action.value, each.strategy.value, each.reason, each.work, each.seconds
        )
        for each in reports
    )


def _is_empty(facts: "Facts") -> bool:
    return not facts.num_rows if isinstance(facts, pa.Table) else bool(facts.isEmpty())
