"""Facts as a set of Python tuples, an Arrow stream, a frame or a small HTML table."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from tidelog.engine.lazy_columns import LazyColumns
from tidelog.engine.protocol import Codes
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, described, is_whole, written
from tidelog.io.html import facts_html
from tidelog.io.show import as_text
from tidelog.program.nodes import Column, Relation
from tidelog.program.suggest import counted, did_you_mean
from tidelog.values import Codec, Fact, TypeTable, Value
from tidelog.values.arrow import pa
from tidelog.views.lookup import find_codes

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame as SparkFrame

# Facts are decoded in slices: iterating over ten million of them must not build ten million tuples.
_SLICE = 65_536


class FactSet(AbstractSet[Fact]):
    """A read-only set of facts with named, typed columns, in value order.

    It compares and combines like any Python set of tuples:

        db["path"] == {(1, 2), (1, 3), (2, 3)}
        db["path"] - db["edge"]
    """

    def __init__(self, name: str, columns: Sequence[Column], codec: Codec) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._codec = codec
        self._sorted: list[Codes] | None = None

    @abstractmethod
    def _codes(self) -> list[Codes]:
        """Return one array of codes per column, facts in any order."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def snapshot(self) -> "FixedFacts":
        """Return the facts of this epoch, which later epochs leave as they are."""

    def __reduce__(self) -> tuple[object, ...]:
        facts = self.snapshot()
        values = [
            list(self._codec.decode_column(codes, column.type))
            for codes, column in zip(facts.codes(), self._columns, strict=True)
        ]
        return _restored, (self._name, self._columns, dict(self._codec.types), values, len(facts))

    @property
    def name(self) -> str:
        """Return the name of the relation, or the text of the query."""
        return self._name

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self._columns)

    @property
    def types(self) -> tuple[str, ...]:
        """Return the names of the columns' types."""
        return tuple(column.type for column in self._columns)

    @property
    def codec(self) -> Codec:
        """Return what the codes mean."""
        return self._codec

    def codes(self) -> list[Codes]:
        """Return one array of codes per column, facts in value order.

        Numbers, unsigned and floats sort by value, symbols by text, records by their fields.
        """
        if self._sorted is None:
            columns = self._codes()
            if columns and len(columns[0]) > 1:
                order = self._codec.sort_rows(columns, self.types)
                columns = [codes[order] for codes in columns]
            self._sorted = columns
        return self._sorted

    def unordered_codes(self) -> list[Codes]:
        """Return one array of codes per column, facts in any order: no text is looked at."""
        return self._codes()

    def __iter__(self) -> Iterator[Fact]:
        return self._decode(0, len(self))

    def __contains__(self, fact: object) -> bool:
        if not isinstance(fact, tuple):
            return False
        found = find_codes(fact, self.types, self._codec)
        return found is not None and self._holds(found)

    @overload
    def __getitem__(self, place: int) -> Fact: ...
    @overload
    def __getitem__(self, place: slice) -> "FixedFacts": ...
    def __getitem__(self, place: int | slice) -> "Fact | FixedFacts":
        """Return the fact at a place of the order, or the facts of a slice."""
        facts = self.snapshot()
        if isinstance(place, slice):
            with Arguments() as arguments:
                for name in ("start", "stop", "step"):
                    part = getattr(place, name)
                    is_right = part is None or (is_whole(part) and (part != 0 or name != "step"))
                    wanted = "a whole number" + (" other than 0" if name == "step" else "")
                    arguments.expect(name, part, wanted, is_right=is_right)
            places = range(len(facts))[place]
            chosen = np.arange(places.start, places.stop, places.step)
            return facts.in_order([codes[chosen] for codes in facts.codes()], len(places))
        with Arguments() as arguments:
            arguments.expect("place", place, "a whole number or a slice", is_right=is_whole(place))
        first = place if place >= 0 else place + len(facts)
        if not 0 <= first < len(facts):
            raise NoSuchPlaceError([_no_place(facts, place)])
        return next(iter(facts[first : first + 1]))

    def limit(self, count: int) -> "FixedFacts":
        """Return the first `count` facts."""
        with Arguments() as arguments:
            arguments.whole("count", count, least=0)
        return self[:count]

    def order_by(self, *columns: str, descending: bool = False) -> "FixedFacts":
        """Return the facts of this epoch ordered by some columns; equal ones stay in value order.

        db["score"].order_by("points", descending=True).limit(10)
        """
        with Arguments() as arguments:
            arguments.flag("descending", descending)
        unknown = [name for name in columns if name not in self.columns]
        if unknown:
            raise TidelogError(_no_column(self, name) for name in unknown)
        facts = self.snapshot()
        codes = facts.codes()
        order = np.arange(len(facts) if codes else 0)
        for place in reversed([self.columns.index(name) for name in columns]):
            keys = self._codec.order_keys(codes[place], self.types[place])[order]
            order = order[_falling(keys) if descending else np.argsort(keys, kind="stable")]
        return facts.in_order([each[order] for each in codes], len(facts))

    def head(self, count: int = 20) -> list[Fact]:
        """Return the first `count` facts in value order."""
        with Arguments() as arguments:
            arguments.whole("count", count, least=0)
        return list(self._decode(0, min(count, len(self))))

    def to_arrow(self) -> "pa.Table":
        """Return an Arrow table: int64, uint64, float64 and string columns.

        Values of record and algebraic types are represented by their text, `[1, nil]` or `$Leaf(2)`.
        """
        arrays = [
            self._codec.column_to_arrow(codes, column.type)
            for codes, column in zip(self.codes(), self._columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the Arrow PyCapsule stream that pandas, polars, DuckDB and others read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: Path | str) -> None:
        """Write the facts to a Parquet file, with the columns of `to_arrow`, completely or not at all."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - only who writes files needs it

        self._write(path, pq.write_table)

    def to_csv(self, path: Path | str) -> None:
        """Write the facts to a CSV file with a header, with the columns of `to_arrow`."""
        import pyarrow.csv  # noqa: PLC0415 - only who writes files needs it

        self._write(path, pyarrow.csv.write_csv)

    def _write(self, path: Path | str, write: "Callable[[pa.Table, Path], object]") -> None:
        from tidelog.io.staging import Staging, unwritable  # noqa: PLC0415 - as above

        with Arguments() as arguments:
            arguments.path("path", path)
        table = self.to_arrow()
        with Staging() as staging:
            staged = staging.path_for(Path(path))
            try:
                write(table, staged)
            except OSError as cause:
                raise unwritable(Path(path), cause) from cause

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas data frame."""
        try:
            import pandas as pd  # noqa: F401, PLC0415 - an optional package
        except ImportError as cause:
            raise _missing("pandas") from cause
        return self.to_arrow().to_pandas()

    def to_polars(self) -> "pl.DataFrame":
        """Return a polars data frame."""
        try:
            import polars as pl  # noqa: PLC0415 - an optional package
        except ImportError as cause:
            raise _missing("polars") from cause
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_spark(self, spark: object = None) -> "SparkFrame":
        """Return a Spark data frame, of the given session or of the active one."""
        from tidelog.engine.spark.frames import frame_of  # noqa: PLC0415 - an optional package

        with Arguments() as arguments:
            is_right = spark is None or hasattr(spark, "createDataFrame")
            arguments.expect("spark", spark, "a Spark session", is_right=is_right)
        return frame_of(self.to_arrow(), spark)

    def __repr__(self) -> str:
        return as_text(self.name, self.columns, self.head(), len(self))

    def _repr_html_(self) -> str:
        return facts_html(self.name, self.columns, self.types, self.head(), len(self))

    def _holds(self, fact: Sequence[int]) -> bool:
        columns = self.codes()
        if not columns:
            return len(self) > 0
        agree = np.ones(len(columns[0]), dtype=np.bool_)
        for codes, code in zip(columns, fact, strict=True):
            agree &= codes == code
        return bool(agree.any())

    def _decode(self, start: int, stop: int) -> Iterator[Fact]:
        if not self._columns:
            yield from [()] * (stop - start)
            return
        columns = self.codes()
        for first in range(start, stop, _SLICE):
            last = min(first + _SLICE, stop)
            yield from zip(
                *(
                    self._codec.decode_column(codes[first:last], column.type)
                    for codes, column in zip(columns, self._columns, strict=True)
                ),
                strict=True,
            )

    @classmethod
    def _from_iterable(cls, facts: Iterable[Fact]) -> AbstractSet[Fact]:  # type: ignore[override]
        # `db["a"] | db["b"]` is an ordinary set: it has no columns of its own.
        return frozenset(facts)


class NoSuchPlaceError(TidelogError, IndexError):
    """A place was asked for behind the last fact, or before the first."""


class FixedFacts(FactSet):
    """Facts that stay as they are, whatever the session does.

    A pickle holds the facts as values, and can be read without a session.
    """

    def __init__(
        self, name: str, columns: Sequence[Column], codec: Codec, codes: Sequence[Codes], size: int
    ) -> None:
        super().__init__(name, columns, codec)
        self._found = codes
        self._size = size

    def snapshot(self) -> "FixedFacts":
        """Return the facts themselves: they stay as they are."""
        return self

    def __len__(self) -> int:
        return self._size

    def _codes(self) -> list[Codes]:
        return list(self._found)

    def to_spark(self, spark: object = None) -> "SparkFrame":
        """Return a Spark data frame; workers read a delta that they keep in files."""
        found = self._found
        if isinstance(found, LazyColumns):
            from tidelog.engine.spark.frames import frame_of_codes  # noqa: PLC0415 - an optional package

            frame = frame_of_codes(found, Relation(self._name, self._columns), self._codec)
            if frame is not None and (spark is None or frame.sparkSession is spark):
                return frame
        return super().to_spark(spark)

    def in_order(self, codes: list[Codes], size: int) -> "FixedFacts":
        """Return some of the facts, in the order in which they are passed."""
        found = FixedFacts(self._name, self._columns, self._codec, codes, size)
        found._sorted = codes
        return found


def _restored(
    name: str, columns: tuple[Column, ...], types: TypeTable, values: list[list[Value]], size: int
) -> FixedFacts:
    """Return facts from a pickle, in the order that they had there."""
    codec = Codec(types)
    codes = [codec.encode_column(each, column.type) for each, column in zip(values, columns, strict=True)]
    return FixedFacts(name, columns, codec, codes, size).in_order(codes, size)


def _falling(keys: Codes) -> npt.NDArray[np.intp]:
    """Return the permutation from the greatest key to the smallest, equal ones as they stand."""
    return len(keys) - 1 - np.argsort(keys[::-1], kind="stable")[::-1]


def _no_place(facts: FactSet, place: int) -> Diagnostic:
    return Diagnostic(
        code="no-such-place",
        message=f"`{facts.name}` has no fact at {described(place)}",
        hint=f"it has {counted(len(facts), 'fact')}",
    )


def _no_column(facts: FactSet, name: object) -> Diagnostic:
    listed = ", ".join(facts.columns) or "none"
    return Diagnostic(
        code="unknown-column",
        message=f"`{facts.name}` has no column `{written(name)}`",
        hint=did_you_mean(written(name), facts.columns, f"its columns are {listed}"),
    )


def _missing(package: str) -> TidelogError:
    return TidelogError(
        [
            Diagnostic(
                code="missing-package",
                message=f"`to_{package}` needs the package {package}, which is not installed",
                hint=f"pip install {package}, or pip install 'tidelog[frames]'",
            )
        ]
    )
