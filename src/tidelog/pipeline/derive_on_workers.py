"""What derives a pipeline's outputs on Spark: large loads, outputs and differences stay with its workers."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.frames import belongs_to_workers, frame_of, frame_of_codes, frame_of_columns
from tidelog.engine.spark.nested_values import nested_places
from tidelog.engine.spark.texts import FEW_TEXTS
from tidelog.engine.spark.value_files import has_unread_values
from tidelog.maintain.partners.frame_changes import FramedChange
from tidelog.options import OpenOptions
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.derive import Before, Derived, FrameChange, SessionDeriver, stratum_work
from tidelog.pipeline.facts import ArrowFacts, SourceFacts, arrow_schema, published_columns
from tidelog.pipeline.framed_facts import DIFF, FramedFacts, compare, write_signed
from tidelog.session.framed import apply_frames
from tidelog.session.nested_frames import with_plain_texts
from tidelog.views.facts import FactSet, FixedFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.pipeline.derive import Facts


class WorkerDeriver(SessionDeriver):
    """A session on Spark, with its state in files that workers write.

    Up to `driver_facts` facts, of a relation or of one side of a change, are settled in the driver, which
    takes less time. More of them it never sees, if workers can encode them.
    """

    def __init__(self, bound: CheckedJob, folder: Path, spark: "SparkSession") -> None:
        # Frames that Spark keeps until the epoch after them.
        self._kept: list[DataFrame] = []
        super().__init__(bound, folder, spark)

    def apply(self, changes: Mapping[str, FrameChange], outputs: tuple[str, ...], before: Before) -> Derived:
        """Bring the state to the next epoch; the first one evaluates the program, and so do large changes."""
        self._release()
        if self._session is None:
            return super().apply(changes, outputs, before)
        looked_at = {name: self._looked_at(change) for name, change in changes.items()}
        is_large = any(change is None for change in looked_at.values())
        if not is_large or not all(map(self._is_divisible, changes)):
            here = {name: change or changes[name] for name, change in looked_at.items()}
            return super().apply(here, outputs, before)
        done = apply_frames(self._session, self._framed_changes(changes))
        return replace(self.difference(outputs, before), inputs=done.inputs, strata=stratum_work(done.strata))

    def facts(self, relation: str) -> SourceFacts:
        """Return all facts of a relation, from workers if they have them and they are many."""
        frame = self._frame(relation)
        return self._all(relation) if frame is None else self._framed(relation, frame, self._size(relation))

    def difference(self, outputs: tuple[str, ...], before: Before) -> Derived:
        """Return what the last epoch changed, found by comparing with the epoch before it."""
        assert self._session is not None
        inserted: dict[str, SourceFacts] = {}
        deleted: dict[str, SourceFacts] = {}
        for name in outputs:
            past = before(name)
            if not self._bound.relation(name).arity:
                found = super().difference((name,), before)
                inserted |= found.inserted
                deleted |= found.deleted
                continue
            now = self._frame(name)
            if now is None:
                now = frame_of(self._all(name).table, self._spark)
            different = compare(now, past, self._spark).persist()
            self._kept.append(different)
            counts = {row[DIFF]: row["count"] for row in different.groupBy(DIFF).count().collect()}
            for side, diff in ((inserted, 1), (deleted, -1)):
                frame = different.where(f"{DIFF} = {diff}").drop(DIFF)
                side[name] = self._framed(name, frame, counts.get(diff, 0))
        return Derived(self._session.epoch, inserted, deleted, {}, ())

    def write_feed(
        self, folder: Path, op: str, deleted: SourceFacts | None, inserted: SourceFacts | None
    ) -> None:
        """Write facts that were deleted and inserted to a new folder, with a column that says which."""
        sides = [
            (sign, facts)
            for sign, facts in (("-", deleted), ("+", inserted))
            if isinstance(facts, (ArrowFacts, FramedFacts)) and facts.count()
        ]
        if any(isinstance(facts, FramedFacts) for _, facts in sides):
            write_signed(sides, op, folder, self._spark)
        else:
            super().write_feed(folder, op, deleted, inserted)

    def close(self) -> None:
        """Release the state."""
        self._release()
        super().close()

    def _release(self) -> None:
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()

    def _has_state(self) -> bool:
        return (self._folder / "manifest.json").exists()

    def _options(self, facts: Mapping[str, object]) -> OpenOptions:
        place = {"storage": str(self._folder), **self._bound.job.spark_options}
        return replace(self._bound.options, facts=facts, spark=self._spark, spark_options=place)

    def _load(self, name: str, frame: "Facts") -> object:
        """Return the facts that a relation begins with: workers read a frame."""
        is_read_here = isinstance(frame, pa.Table) or not self._bound.relation(name).arity
        return self._data(name, frame) if is_read_here else frame

    @property
    def _shared(self) -> Folder:
        """Return the folder that driver and workers share."""
        assert self._session is not None
        return Folder(cast("Any", self._session.snapshot.engine).folder_uri)

    @property
    def _most(self) -> int:
        assert self._session is not None
        return int(cast("Any", self._session.snapshot.engine).most_driver_facts)

    def _size(self, relation: str) -> int:
        assert self._session is not None
        return len(self._session[relation])

    def _is_divisible(self, relation: str) -> bool:
        return self._bound.relation(relation).arity > 0

    def _looked_at(self, change: FrameChange) -> FrameChange | None:
        """Return a change that the driver has read, or None if it is too large for that."""
        sides: list[pa.Table | None] = []
        for side in (change.insert, change.delete):
            if side is None or isinstance(side, pa.Table):
                sides.append(side)
                continue
            first = side.limit(self._most + 1).toArrow()
            if first.num_rows > self._most:
                return None
            sides.append(first)
        return FrameChange(*sides)

    def _sides(self, changes: Mapping[str, FrameChange]) -> tuple[dict[str, object], dict[str, object]]:
        """Return what to insert and what to delete; workers encode texts that would not be looked up here."""
        assert self._session is not None
        by_workers = {name: each for name, each in changes.items() if self._has_many_texts(name, each)}
        insert, delete = super()._sides({n: each for n, each in changes.items() if n not in by_workers})
        if by_workers:
            framed = self._framed_changes(by_workers)
            for side, codes in cast("Any", self._session.snapshot.engine).encode(framed).items():
                relation, codec = self._bound.relation(side[1:]), self._session.snapshot.codec
                facts = FixedFacts(relation.name, relation.columns, codec, codes, len(codes[0]))
                # Nobody asks for value order, which takes texts.
                ordered = facts.in_order(codes, len(codes[0]))
                (insert if side[0] == "+" else delete)[relation.name] = ordered
        return insert, delete

    def _changed(self, facts: FactSet) -> SourceFacts:
        """Return one side of what an epoch changed; workers decode texts that would not be looked up here."""
        own = self._bound.relation(facts.name)
        if not self._are_texts_elsewhere(facts.name, len(facts)):
            return self._table(facts)
        frame = frame_of_columns(facts.unordered_codes(), own, facts.codec, self._spark, self._shared)
        schema = arrow_schema(published_columns(own, self._bound.program))
        return FramedFacts(frame, len(facts), schema)

    def _has_many_texts(self, name: str, change: FrameChange) -> bool:
        tables = [each for each in (change.insert, change.delete) if isinstance(each, pa.Table)]
        return self._are_texts_elsewhere(name, max((table.num_rows for table in tables), default=0))

    def _are_texts_elsewhere(self, name: str, rows: int) -> bool:
        """Say whether facts have more texts than the driver looks up in the files of workers, or records."""
        assert self._session is not None
        codec, own = self._session.snapshot.codec, self._bound.relation(name)
        if not has_unread_values(codec) or not rows:
            return False
        count = rows * sum(codec.is_symbol(column.type) for column in own.columns)
        return count > FEW_TEXTS or bool(nested_places(own, codec))

    def _framed_changes(self, changes: Mapping[str, FrameChange]) -> dict[str, FramedChange]:
        return {
            name: FramedChange(self._coded(name, change.insert), self._coded(name, change.delete))
            for name, change in changes.items()
        }

    def _coded(self, name: str, facts: "Facts | None") -> "DataFrame | None":
        """Return facts as a frame with the columns c0, c1, ..."""
        assert self._session is not None
        if facts is None:
            return None
        frame = frame_of(facts, self._spark) if isinstance(facts, pa.Table) else facts
        own = self._bound.relation(name)
        named = frame.toDF(*(f"c{place}" for place in range(own.arity)))
        return with_plain_texts(named, own, self._session.snapshot.codec)

    def _frame(self, relation: str) -> "DataFrame | None":
        """Return the facts of a relation as a frame, or None if the driver has them, or few."""
        assert self._session is not None
        snapshot, own = self._session.snapshot, self._bound.relation(relation)
        with snapshot.lock:
            if not belongs_to_workers(snapshot.engine, own, snapshot.codec):
                return None
            return frame_of_codes(snapshot.engine, own, snapshot.codec)

    def _framed(self, relation: str, frame: "DataFrame", size: int) -> SourceFacts:
        """Return facts that workers have; a few come to the driver."""
        schema = arrow_schema(published_columns(self._bound.relation(relation), self._bound.program))
        if size <= self._most:
            return ArrowFacts(frame.toArrow().rename_columns(schema.names).cast(schema))
        return FramedFacts(frame, size, schema)
