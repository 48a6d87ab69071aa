"""One relation of a session, and the answer to a query."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Relation
from tidelog.values import Fact
from tidelog.views.facts import FactSet, FixedFacts
from tidelog.views.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame as SparkFrame


class RelationView(FactSet):
    """The facts of one relation as they are now: after an epoch it shows the new facts.

    `len` and `in` ask the engine; the first iteration or conversion in an epoch fetches the facts
    and sorts them, and later ones reuse that. `snapshot()` returns the facts of this epoch to keep.
    """

    def __init__(self, relation: Relation, read: Callable[[], Snapshot]) -> None:
        super().__init__(relation.name, relation.columns, read().codec)
        self._relation = relation
        self._read = read
        self._seen: int | None = None

    def snapshot(self) -> FixedFacts:
        """Return the facts of this epoch, which later epochs leave as they are."""
        with self._read().lock:
            size = len(self)
            return FixedFacts(self.name, self._columns, self._codec, self.codes(), size)

    def codes(self) -> list[Codes]:
        """Return one array of codes per column, facts in value order."""
        snapshot = self._read()
        with snapshot.lock:
            if self._seen != snapshot.epoch:
                self._sorted, self._seen = None, snapshot.epoch
            return super().codes()

    def __len__(self) -> int:
        snapshot = self._read()
        with snapshot.lock:
            return snapshot.engine.size(self.name)

    def __iter__(self) -> Iterator[Fact]:
        # A loop sees one epoch, also if it applies changes itself.
        return iter(self.snapshot())

    def to_spark(self, spark: object = None) -> "SparkFrame":
        """Return a Spark data frame; workers read the numbers and texts that they keep in files."""
        from tidelog.engine.spark.frames import frame_of_codes  # noqa: PLC0415 - an optional package

        snapshot = self._read()
        with snapshot.lock:
            found = frame_of_codes(snapshot.engine, self._relation, self._codec)
        # The session that keeps the facts may be another one than that asked for.
        if found is None or (spark is not None and found.sparkSession is not spark):
            return super().to_spark(spark)
        return found

    def to_cupy(self) -> "dict[str, Any]":
        """Return the columns as CuPy arrays, for numbers, unsigneds and floats.

        On the engine `cuda` they never leave the GPU; facts are in the engine's order. Other libraries
        accept them without a copy, through DLPack or `__cuda_array_interface__`.
        """
        from tidelog.views.device_arrays import device_arrays  # noqa: PLC0415 - an optional package

        snapshot = self._read()
        with snapshot.lock:
            return device_arrays(snapshot.engine, self._relation, self._codec)

    def _codes(self) -> list[Codes]:
        return self._read().engine.facts(self.name)

    def _holds(self, fact: Sequence[int]) -> bool:
        if not fact:
            return len(self) > 0
        snapshot = self._read()
        with snapshot.lock:
            return len(snapshot.engine.match(self.name, fact)[0]) > 0


class Answer(FixedFacts):
    """The bindings of a query's variables, each once, in the order in which the variables first occur.

    A query without variables has one empty binding when it holds and none otherwise, so an
    answer is true exactly when the query holds. It belongs to the epoch of the question.
    """
