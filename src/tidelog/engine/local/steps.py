"""Operators made runnable: each step takes a batch and pushes batches to the next one.

A step owns its output buffer and reuses it: the next step is done with a batch before the
following one is made. Steps belong to one thread.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, Visible
from tidelog.plan import operators as ops
from tidelog.plan.measured import Meter
from tidelog.program.nodes import BranchTerm, RecordTerm
from tidelog.storage.join import EQUAL, LESS, LESS_EQUAL, UNEQUAL, scan_rows, select_rows
from tidelog.storage.kernel import Bools, CodeArray, Int32s, Int64s

Mask = npt.NDArray[np.bool_]
# Takes batches, and must copy what it keeps: buffers are reused.
Sink = Callable[[CodeArray], None]
# Rows per buffer: large enough to hide the cost of a kernel call, small enough for the cache.
BUFFER_ROWS = 1 << 14
# What a buffer begins with: most steps of most programs never yield more at a time.
_FIRST_ROWS = 1 << 8
_BUFFER_GROWTH = 8

KERNEL_OPS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, "<=": LESS_EQUAL}
_COMPARE = {EQUAL: np.equal, UNEQUAL: np.not_equal, LESS: np.less, LESS_EQUAL: np.less_equal}


class Sources:
    """Numbers the operands of one operator the way kernels read them.

    Columns of the incoming batch come first, then the columns an operator binds; a constant gets
    a negative number.
    """

    def __init__(
        self, layout: ops.Layout, bound: Sequence[str], state: LocalState, expressions: Expressions
    ) -> None:
        self._places: dict[ops.Operand, int] = {}
        for place, operand in enumerate((*layout, *bound)):
            self._places.setdefault(operand, place)
        self._constants: list[int] = []
        self._state = state
        self._expressions = expressions

    def number(self, operand: ops.Operand) -> int:
        """Return the source of an operand."""
        if operand in self._places:
            return self._places[operand]
        assert not isinstance(operand, str), f"unbound {operand}"
        code = self._expressions.codec.encode(operand.value, operand.type)
        self._state.require(code)
        self._constants.append(code)
        self._places[operand] = -len(self._constants)
        return -len(self._constants)

    def numbers(self, operands: Sequence[ops.Operand]) -> Int32s:
        """Return the sources of several operands."""
        return np.array([self.number(operand) for operand in operands], np.int32)

    def filters(self, comparisons: Sequence[ops.Comparison]) -> Int32s:
        """Return comparisons as rows (comparison, left, right)."""
        rows = [(KERNEL_OPS[c.op], self.number(c.left), self.number(c.right)) for c in comparisons]
        return np.array(rows, np.int32).reshape(-1, 3)

    def constants(self) -> Int64s:
        """Return the codes of the constants met so far."""
        return np.array(self._constants, np.int64)


def first_buffer(columns: int, dtype: npt.DTypeLike) -> CodeArray:
    """Return a buffer for the first batches of a step."""
    return np.empty((_FIRST_ROWS, columns), dtype)


def next_buffer(buffer: CodeArray, written: int) -> CodeArray:
    """Return the buffer for the next batch: the same one, or a larger one if this batch filled it."""
    if written < len(buffer) or len(buffer) >= BUFFER_ROWS:
        return buffer
    return np.empty((min(_BUFFER_GROWTH * len(buffer), BUFFER_ROWS), buffer.shape[1]), buffer.dtype)


class ChainStep(ABC):
    """One operator of a chain, with the step that follows it."""

    next: "ChainStep"

    @abstractmethod
    def run(self, batch: CodeArray) -> None:
        """Process a batch and push the result to the next step."""


class SinkStep(ChainStep):
    """The end of a chain: passes batches to a sink."""

    def __init__(self) -> None:
        self.sink: Sink

    def run(self, batch: CodeArray) -> None:
        """Pass the batch on."""
        self.sink(batch)


class MeterStep(ChainStep):
    """Counts the bindings that pass, and the seconds that the steps behind it take."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def run(self, batch: CodeArray) -> None:
        """Pass the batch on."""
        meter = self._meter
        meter.rows += batch.shape[0]
        begun = time.perf_counter()
        self.next.run(batch)
        meter.seconds += time.perf_counter() - begun


class ScanStep:
    """The first operator of a chain, run over ranges of row numbers."""

    def __init__(self, scan: ops.ScanView, state: LocalState, expressions: Expressions) -> None:
        relation = state.program.relations[scan.relation]
        columns: list[str] = [f"%unread{column}" for column in range(relation.arity)]
        same: list[ops.Comparison] = []
        for column, name in scan.binds:
            if columns[column].startswith("%unread"):
                columns[column] = name
            else:
                same.append(ops.Comparison("=", columns[column], name))
        sources = Sources(tuple(columns), (), state, expressions)
        self._relation = state.relations[scan.relation]
        self._filters = sources.filters(_renamed((*scan.filters, *same), scan.binds, columns))
        self._sources = sources.numbers(scan.outputs)
        self._constants = sources.constants()
        self._is_whole = not self._filters.size and list(self._sources) == list(range(relation.arity))
        self._out = first_buffer(len(scan.outputs), state.dtype)
        self._progress = np.zeros(1, np.int64)
        self.view = scan.view
        self.visible: Visible = state.visible[scan.relation]
        self.next: ChainStep

    def rows(self) -> tuple[int, int]:
        """Return the row numbers to scan in this iteration, or the places where all rows are found."""
        if self._reads_places():
            return 0, self._relation.places
        return self.visible.rows(self.view)

    def _reads_places(self) -> bool:
        """Say whether rows have been dropped, and are found in places of what knows them."""
        return self.view is ops.View.FULL and bool(self._relation.dropped[1])

    def facts(self) -> int:
        """Return how many facts the rows stand for."""
        first, last = self.visible.rows(self.view)
        return last - first

    def run(self, first: int, last: int) -> None:
        """Push the rows numbered `first` to `last - 1`."""
        relation = self._relation
        if self._reads_places():
            rows = relation.rows_at(first, last)
            for start in range(0, len(rows), BUFFER_ROWS):
                piece = rows[start : start + BUFFER_ROWS]
                if self._is_whole:
                    self.next.run(piece)
                else:
                    self._scan(piece, relation.alive, 0, len(piece))
            return
        if self._is_whole and not relation.deleted:
            self.next.run(relation.held[first:last])
            return
        if self._is_whole:
            rows = relation.live_rows(first, last)
            if len(rows):
                self.next.run(rows)
            return
        self._scan(relation.held, relation.alive, first, last)

    def _scan(self, rows: CodeArray, alive: Bools, first: int, last: int) -> None:
        """Push what the filters leave of the living ones among rows, in buffers."""
        self._progress[0] = first
        while self._progress[0] < last:
            read = (self._constants, self._filters, self._sources)
            written = scan_rows(rows, alive, *read, self._progress, last, self._out)
            if written:
                self.next.run(self._out[:written])
            self._out = next_buffer(self._out, written)


def _renamed(
    filters: Sequence[ops.Comparison], binds: Sequence[tuple[int, str]], columns: Sequence[str]
) -> list[ops.Comparison]:
    """Return comparisons in which a column that is bound twice has one name."""
    names: Mapping[ops.Operand, str] = {name: columns[column] for column, name in binds}
    return [ops.Comparison(c.op, names.get(c.left, c.left), names.get(c.right, c.right)) for c in filters]


class SelectingStep(ChainStep):
    """A step that keeps some bindings, perhaps with columns it adds, and rearranges their columns.

    `bound` are the variables of the added columns; only what satisfies the operator's filters is kept.
    """

    def __init__(
        self,
        operator: ops.Operator,
        layout: ops.Layout,
        state: LocalState,
        expressions: Expressions,
        bound: Sequence[str] = (),
    ) -> None:
        self._state = state
        self._expressions = expressions
        self._names = [operand if isinstance(operand, str) else "" for operand in layout]
        self._operands = Sources(layout, bound, state, expressions)
        filters = operator.filters if isinstance(operator, ops.Compute | ops.Unpack) else ()
        self._filters = self._operands.filters(filters)
        self._sources = self.numbers(operator.outputs)
        self._out: CodeArray = np.empty((0, len(operator.outputs)), state.dtype)

    def numbers(self, operands: Sequence[ops.Operand]) -> Int32s:
        """Return the sources of operands."""
        numbers = self._operands.numbers(operands)
        self._constants = self._operands.constants()
        return numbers

    def columns(self, batch: CodeArray) -> dict[str, Int64s]:
        """Return the batch as named columns of 64-bit codes."""
        return {name: batch[:, place].astype(np.int64) for place, name in enumerate(self._names)}

    def push(self, batch: CodeArray, keep: Bools) -> None:
        """Push the kept bindings in the layout of the outputs."""
        if self._out.shape[0] < batch.shape[0]:
            self._out = np.empty((max(batch.shape[0], 256), self._out.shape[1]), self._state.dtype)
        written = select_rows(batch, keep, self._sources, self._constants, self._out)
        if written:
            self.next.run(self._out[:written])

    def extend(self, batch: CodeArray, keep: Mask | None, columns: Sequence[CodeArray]) -> None:
        """Push the kept rows of the batch with further columns, after the filters."""
        count, width = batch.shape
        wide: CodeArray = np.empty((count, width + len(columns)), self._state.dtype)
        wide[:, :width] = batch
        self._state.fill(wide[:, width:], columns)
        mask = np.ones(count, np.bool_) if keep is None else keep
        for comparison, left, right in self._filters:
            mask &= _COMPARE[comparison](self._column(wide, left), self._column(wide, right))
        self.push(wide, mask.view(np.uint8))

    def _column(self, wide: CodeArray, source: int) -> CodeArray:
        """Return what a source names: a column, or a constant as one element."""
        if source < 0:
            return self._constants[-1 - source : -source]
        return wide[:, source]


class ProjectStep(SelectingStep):
    """Rearranges columns."""

    def run(self, batch: CodeArray) -> None:
        """Push all bindings."""
        self.push(batch, np.ones(batch.shape[0], np.uint8))


class FilterStep(SelectingStep):
    """Keeps bindings that satisfy a constraint."""

    def __init__(
        self, operator: ops.Filter, layout: ops.Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator, layout, state, expressions)
        self._holds = expressions.compile_constraint(operator.constraint)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings that satisfy the constraint."""
        self.push(batch, self._holds(self.columns(batch), batch.shape[0]).view(np.uint8))


class ComputeStep(SelectingStep):
    """Binds a variable to the value of a term."""

    def __init__(
        self, operator: ops.Compute, layout: ops.Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator, layout, state, expressions, (operator.variable,))
        self._term = expressions.compile_term(operator.term)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings for which the term has a value."""
        codes, has_value = self._term(self.columns(batch), batch.shape[0])
        if has_value is not None:
            # Codes of rows without a value are arbitrary and must not ask for wide codes.
            codes, has_value = np.where(has_value, codes, 0), has_value.copy()
        self.extend(batch, has_value, [codes])


class GenerateStep(SelectingStep):
    """Binds a variable to each value of a range."""

    def __init__(
        self, operator: ops.Generate, layout: ops.Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator, layout, state, expressions, (operator.variable,))
        self._generator = operator.generator

    def run(self, batch: CodeArray) -> None:
        """Push each binding once per value."""
        rows, values = self._expressions.generate(self._generator, self.columns(batch), batch.shape[0])
        if len(rows):
            self.extend(batch[rows], None, [values])


class TakeApartStep(SelectingStep):
    """Binds the parts of records and branches."""

    def __init__(
        self, operator: ops.Unpack, layout: ops.Layout, state: LocalState, expressions: Expressions
    ) -> None:
        super().__init__(operator, layout, state, expressions, [name for _, name in operator.binds])
        assert isinstance(operator.pattern, RecordTerm | BranchTerm)
        self._pattern = operator.pattern
        self._place = layout.index(operator.variable)
        self._positions = [position for position, _ in operator.binds]

    def run(self, batch: CodeArray) -> None:
        """Push the bindings whose value has the pattern's shape."""
        matches, parts = self._expressions.take_apart(self._pattern, batch[:, self._place].astype(np.int64))
        self.extend(batch, matches, [parts[position] for position in self._positions])
