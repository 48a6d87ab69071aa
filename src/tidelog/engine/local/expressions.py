"""Terms, constraints and ranges over batches of bindings, as codes.

`values.functors` says what everything means. A term is compiled once to a function from the
columns of a batch to codes; arithmetic then runs on whole columns, and what needs texts or a
Python callable is asked once for every distinct combination of operands.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice, repeat
from threading import RLock
from typing import Final, assert_never, cast

import numpy as np
import numpy.typing as npt
from numba import vectorize

from tidelog.engine.protocol import Codes, UserFunctions
from tidelog.engine.user_functors import call_functor, failed_call, find_functor
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program import nodes
from tidelog.program.nodes import BranchTerm, Constraint, Generator, RecordTerm, Term, UserApplication
from tidelog.values import Codec, Kind, NoValueError, Value, functors
from tidelog.values.codes import float_order, floats_to_codes
from tidelog.values.records import NIL

Bools = npt.NDArray[np.bool_]
Bindings = Mapping[str, Codes]
# Codes, and which rows have a value (None: all). The code of a row without a value means nothing.
Evaluated = tuple[Codes, Bools | None]
Compiled = Callable[[Bindings, int], Evaluated]
CompiledConstraint = Callable[[Bindings, int], Bools]
_RowKernel = Callable[[Sequence[Codes], int], Evaluated]
# The numbers of derivations given as columns, each of so many rows or of one that stands for all.
NumberFunctor = _RowKernel

# Up to this many rows Python finds the distinct ones sooner than numpy.
_SMALL_BATCH: Final = 64
# More values than these at once are refused; floats are counted one by one.
_RANGE_LIMIT: Final = 1 << 28
_FLOAT_RANGE_LIMIT: Final = 1 << 26


class Expressions:
    """Evaluates the terms, constraints and ranges of one program over batches of bindings.

    A batch is a column of codes per variable, all of `count` rows. Nodes are compiled when they
    are first met and kept; several threads may evaluate at once.

        expressions.term(x_plus_1, {"x": codes}, codes.size)  ->  (codes + 1, None)
    """

    def __init__(
        self, program: nodes.Program, codec: Codec, functions: UserFunctions,
        numbers: Mapping[str, NumberFunctor] | None = None,
    ) -> None:  # fmt: skip
        self._program = program
        self.codec = codec
        self.functions = functions
        self._numbers = numbers or {}
        self._known_ranks: Codes = np.empty(0, dtype=np.int64)
        # Dictionaries grow while texts and records are made, so one thread at a time makes them.
        self._growing = RLock()
        # Keyed by identity, which costs no walk through the node; the node is kept alive beside it.
        self._nodes: dict[int, tuple[Term, Compiled]] = {}
        self._constraints: dict[int, tuple[Constraint, CompiledConstraint]] = {}

    def term(self, term: Term, columns: Bindings, count: int) -> Evaluated:
        """Return the codes of a term whose variables are all in `columns`, and who has a value.

        The codes of rows without a value mean nothing. The result may be a column of the batch
        itself, so it must not be written to.
        """
        codes, mask = self._node(term)(columns, count)
        if codes.size != count:
            codes = np.full(count, codes[0])
        return codes, mask if mask is None or mask.size == count else np.full(count, mask[0])

    def compile_term(self, term: Term) -> Compiled:
        """Return `term` for one term, as a function of columns and count."""
        self._node(term)
        return partial(self.term, term)

    def constraint(self, constraint: Constraint, columns: Bindings, count: int) -> Bools:
        """Return for which rows a constraint holds: never where an operand has no value."""
        return self.compile_constraint(constraint)(columns, count)

    def compile_constraint(self, constraint: Constraint) -> CompiledConstraint:
        """Return `constraint` for one constraint, as a function of columns and count."""
        known = self._constraints.get(id(constraint))
        if known is None:
            known = (constraint, self._compile_constraint(constraint))
            self._constraints[id(constraint)] = known
        return known[1]

    def generate(self, generator: Generator, columns: Bindings, count: int) -> tuple[Codes, Codes]:
        """Return a row number and a code for each value of each row's range.

        Row numbers ascend, and the values of a row stand in the order of its range. A row whose
        start, stop or step has no value has no range. The target is the caller's to match.

            x = range(1, y) over y = [3, 2]  ->  [0, 0, 1], [1, 2, 1]
        """
        terms = (generator.start, generator.stop, generator.step)
        nodes = [self._node(term) for term in terms if term is not None]
        bounds, mask = _operands(nodes, columns, count)
        rows = np.flatnonzero(np.broadcast_to(True if mask is None else mask, count))
        ranges = _float_ranges if generator.kind is Kind.FLOAT else _integer_ranges
        places, values = ranges(generator, *(np.broadcast_to(bound, count)[rows] for bound in bounds))
        return rows[places], values

    def take_apart(self, pattern: RecordTerm | BranchTerm, codes: Codes) -> tuple[Bools, list[Codes]]:
        """Return which codes are such a record or branch, and the codes of their fields.

        There is one array per field of the pattern, as long as `codes`; rows that do not match
        have 0 there. Nil never matches. The pattern's own terms are the caller's to match.
        """
        records = self.codec.records
        width = len(pattern.terms)
        if isinstance(pattern, RecordTerm):
            rows = np.flatnonzero(codes != NIL)
            found = records.unpack(codes[rows], width)
        else:
            position, _ = self.codec.resolve(pattern.type).branch(pattern.name)
            rows = np.flatnonzero(records.widths(codes) == width + 1)
            found = records.unpack(codes[rows], width + 1)
            is_branch = found[:, 0] == position
            rows, found = rows[is_branch], found[is_branch, 1:]
        matches = np.zeros(codes.size, dtype=np.bool_)
        matches[rows] = True
        fields = np.zeros((width, codes.size), dtype=np.int64)
        fields[:, rows] = found.T
        return matches, list(fields)

    # --- terms -----------------------------------------------------------------------------

    def _node(self, term: Term) -> Compiled:
        """Return the compiled term; its arrays have `count` rows, or one that stands for all."""
        known = self._nodes.get(id(term))
        if known is None:
            known = (term, self._compile(term))
            self._nodes[id(term)] = known
        return known[1]

    def _compile(self, term: Term) -> Compiled:
        match term:
            case nodes.Variable():
                name = term.name
                return lambda columns, _: (columns[name], None)
            case nodes.Constant():
                constant = np.array([self.codec.encode(term.value, term.type)], dtype=np.int64)
                return lambda _columns, _count: (constant, None)
            case nodes.Application():
                return self._compile_application(term)
            case UserApplication():
                return self._compile_user_application(term)
            case RecordTerm():
                return self._compile_row((), term.terms)
            case BranchTerm():
                position, _ = self.codec.resolve(term.type).branch(term.name)
                return self._compile_row((position,), term.terms)
            case nodes.Wildcard() | nodes.Aggregate() | nodes.Counter():
                raise AssertionError(f"{type(term).__name__} is the engine's to evaluate")
            case _:
                assert_never(term)

    def _compile_application(self, term: nodes.Application) -> Compiled:
        operands = [self._node(operand) for operand in term.terms]
        key = (term.functor, term.kind)
        if key in _IDENTITIES:
            return operands[0]
        if key in _TOTAL:
            kernel = _TOTAL[key]
            return _on_columns(lambda *codes: (kernel(*codes), None), operands)
        if key in _PARTIAL:
            return _on_columns(_PARTIAL[key], operands)
        if term.functor in ("min", "max"):
            choose = partial(self._choose_text, np.less if term.functor == "min" else np.greater)
            return _on_valid_rows(lambda codes, _: (reduce(choose, codes), None), operands)
        types = [operand.type for operand in term.terms]
        encode = partial(self.codec.encode_column, type_name=term.type)
        return self._compile_calls(partial(functors.apply, *key), term.terms, types, encode)

    def _compile_user_application(self, term: UserApplication) -> Compiled:
        functor = self._program.functors[term.name]
        numbers = self._numbers.get(term.name)
        if numbers is not None:
            return _on_valid_rows(numbers, [self._node(each) for each in term.terms])
        call = _user_call(term, self.functions, self.codec, functor.result)
        if not functor.is_stateful:
            return self._compile_calls(call, term.terms, functor.parameters, _as_codes)
        calls = _Calls(self.codec, self._growing, call, functor.parameters, _as_codes)
        return _on_valid_rows(calls.for_rows, [self._node(operand) for operand in term.terms], each_row=True)

    def _compile_calls(
        self, call: "_Call", terms: Sequence[Term], types: Sequence[str], encode: "_Encode"
    ) -> Compiled:
        """Return a node that calls once for each distinct combination of operands."""
        operands = [self._node(operand) for operand in terms]
        calls = _Calls(self.codec, self._growing, call, types, encode)
        varying = [place for place, term in enumerate(terms) if not isinstance(term, nodes.Constant)]
        if len(varying) == 1 and not self.codec.resolve(types[varying[0]]).kind.is_numeric:
            return _on_valid_rows(_Remembered(calls, varying[0]).for_codes, operands)
        return _on_valid_rows(calls.for_combinations, operands)

    def _compile_row(self, start: tuple[int, ...], terms: Sequence[Term]) -> Compiled:
        width = len(start) + len(terms)

        def intern(codes: Sequence[Codes], count: int) -> Evaluated:
            rows = np.empty((count, width), dtype=np.int64)
            rows[:, : len(start)] = start
            for position, column in enumerate(codes, len(start)):
                rows[:, position] = column
            with self._growing:
                return self.codec.records.intern(rows), None

        return _on_valid_rows(intern, [self._node(term) for term in terms])

    def _ranks(self, codes: Sequence[Codes]) -> list[Codes]:
        """Return the ranks of symbols by text; there must be a row.

        Ranks once taken stay right among the codes they cover, whatever the dictionary learns.
        """
        ranks = self._known_ranks
        if max(column.max() for column in codes) >= ranks.size:
            self._known_ranks = ranks = self.codec.symbols.ranks()
        return [ranks[column] for column in codes]

    def _choose_text(self, compare: "_Compare", left: Codes, right: Codes) -> Codes:
        return np.where(compare(*self._ranks((left, right))), left, right)

    # --- constraints -----------------------------------------------------------------------

    def _compile_constraint(self, constraint: Constraint) -> CompiledConstraint:
        operands = [self._node(constraint.left), self._node(constraint.right)]
        op, kind = constraint.op, constraint.kind
        if op not in _COMPARISONS:
            types = [constraint.left.type, constraint.right.type]
            call: _Call = lambda values: functors.compare(op, kind, *values)  # noqa: E731 - typed
            node = self._compile_calls(call, (constraint.left, constraint.right), types, _as_codes)
        elif kind is Kind.SYMBOL and op not in ("=", "!="):
            compare = _comparison(op, Kind.NUMBER)
            node = _on_valid_rows(lambda codes, _: compare(*self._ranks(codes)), operands)
        else:
            node = _on_columns(_comparison(op, kind), operands)

        def holds(columns: Bindings, count: int) -> Bools:
            truths, mask = node(columns, count)
            result = truths.astype(np.bool_, copy=False)
            if mask is not None:
                result = result & mask
            return result if result.size == count else np.full(count, result[0])

        return holds


# --- operands ------------------------------------------------------------------------------


def _operands(nodes: Sequence[Compiled], columns: Bindings, count: int) -> tuple[list[Codes], Bools | None]:
    """Return the codes of every operand, and the rows in which all have a value."""
    codes: list[Codes] = []
    mask: Bools | None = None
    for node in nodes:
        node_codes, node_mask = node(columns, count)
        codes.append(node_codes)
        mask = _both(mask, node_mask)
    return codes, mask


def _both(left: Bools | None, right: Bools | None) -> Bools | None:
    if left is None:
        return right
    return left if right is None else left & right


def _on_columns(kernel: Callable[..., Evaluated], operands: Sequence[Compiled]) -> Compiled:
    """Return a node that gives `kernel` whole columns, rows without a value included."""

    def node(columns: Bindings, count: int) -> Evaluated:
        codes, mask = _operands(operands, columns, count)
        result, result_mask = kernel(*codes)
        return result, _both(mask, result_mask)

    return node


def _on_valid_rows(evaluate: _RowKernel, operands: Sequence[Compiled], *, each_row: bool = False) -> Compiled:
    """Return a node that shows `evaluate` only the rows in which every operand has a value.

    `evaluate` gets its operands' codes, each of `count` rows or of one that stands for all. With
    operands that are the same for all rows it is asked for one row, unless for `each_row`.
    """

    def node(columns: Bindings, count: int) -> Evaluated:
        codes, mask = _operands(operands, columns, count)
        if count and not each_row and all(column.size == 1 for column in codes):
            count = 1
        if count == 0:
            return np.empty(0, dtype=np.int64), None
        if mask is None:
            return evaluate(codes, count)
        result = np.zeros(count, dtype=np.int64)
        has_value = np.zeros(count, dtype=np.bool_)
        rows = np.flatnonzero(np.broadcast_to(mask, count))
        if rows.size:
            shown = [column if column.size == 1 else column[rows] for column in codes]
            result[rows], answered = evaluate(shown, rows.size)
            has_value[rows] = True if answered is None else answered
        return result, has_value

    return node


def _distinct_rows(columns: Sequence[Codes], count: int) -> tuple[Codes, Codes]:
    """Return one row for each distinct combination, and each row's place among them."""
    if count <= _SMALL_BATCH or not columns:
        numbers: dict[tuple[int, ...], int] = {}
        keys = zip(*(column.tolist() for column in columns), strict=True) if columns else repeat((), count)
        small = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        return np.unique(small, return_index=True)[1], small
    rows, axis = (columns[0], None) if len(columns) == 1 else (np.column_stack(columns), 0)
    _, first, places = np.unique(rows, axis=axis, return_index=True, return_inverse=True)
    return first, places.reshape(-1)


# --- texts and Python callables ------------------------------------------------------------

_Call = Callable[[tuple[Value, ...]], Value]
_Encode = Callable[[list[Value]], Codes]


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls a function of Python values for rows of codes; columns of one row stand for all."""

    codec: Codec
    growing: AbstractContextManager[bool]
    call: _Call
    types: Sequence[str]
    encode: _Encode

    def for_rows(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return what the call gives for every row, in order."""
        with self.growing:
            columns = [
                self.codec.decode_column(np.broadcast_to(column, count), name)
                for column, name in zip(codes, self.types, strict=True)
            ]
            values: list[Value] = []
            has_value = np.ones(count, dtype=np.bool_)
            for row, operands in enumerate(zip(*columns, strict=True) if columns else repeat((), count)):
                try:
                    values.append(self.call(operands))
                except NoValueError:
                    has_value[row] = False
            result = np.zeros(count, dtype=np.int64)
            result[has_value] = self.encode(values)
        return result, _unless_all(has_value)

    def for_combinations(self, codes: Sequence[Codes], count: int) -> Evaluated:
        """Return the same with one call for each distinct row."""
        rows, places = _distinct_rows([column for column in codes if column.size != 1], count)
        shown = [column if column.size == 1 else column[rows] for column in codes]
        result, mask = self.for_rows(shown, rows.size)
        return result[places], None if mask is None else mask[places]


class _Remembered:
    """Keeps what calls gave for each code of the one operand that varies; codes must be dense."""

    def __init__(self, calls: _Calls, varying: int) -> None:
        self._calls = calls
        self._varying = varying
        self._answers: Codes = np.empty(0, dtype=np.int64)
        self._states = np.empty(0, dtype=np.int8)  # 0: not asked yet, 1: no value, 2: a value

    def for_codes(self, codes: Sequence[Codes], _count: int) -> Evaluated:
        """Return what the call gives for every row, with one call ever for each code."""
        column = codes[self._varying]
        with self._calls.growing:
            if column.max() >= self._answers.size:
                missing = (0, 2 * int(column.max()) + 16 - self._answers.size)
                self._answers = np.pad(self._answers, missing)
                self._states = np.pad(self._states, missing)
            fresh = np.unique(column[self._states[column] == 0])
            if fresh.size:
                shown = [fresh if place == self._varying else each for place, each in enumerate(codes)]
                self._answers[fresh], mask = self._calls.for_rows(shown, fresh.size)
                self._states[fresh] = 2 if mask is None else 1 + mask
            return self._answers[column], _unless_all(self._states[column] == 2)


_as_codes: Final = partial(np.array, dtype=np.int64)


def _user_call(term: UserApplication, functions: UserFunctions, codec: Codec, result: str) -> _Call:
    """Return a call of a user's functor that gives the code of its value."""
    function = find_functor(term.name, functions, term.span)

    def call(operands: tuple[Value, ...]) -> int:
        value = call_functor(term.name, function, operands, term.span)
        try:
            return codec.encode(value, result)
        except TidelogError as error:
            # The result is no value of its type: that diagnostic lacks only the place.
            start = failed_call(term.name, operands)
            found = [replace(d, message=start + d.message, span=term.span) for d in error.diagnostics]
            raise TidelogError(found) from error

    return call


# --- arithmetic ----------------------------------------------------------------------------

_Compare = Callable[[Codes, Codes], Bools]


def _fold(kernel: Callable[[Codes, Codes], Codes]) -> Callable[..., Codes]:
    return lambda *codes: reduce(kernel, codes)


def _unsigned(kernel: Callable[..., npt.NDArray[np.uint64 | np.float64]]) -> Callable[..., Codes]:
    return lambda *codes: kernel(*(column.view(np.uint64) for column in codes)).view(np.int64)


def _floats(kernel: Callable[..., npt.NDArray[np.float64]]) -> Callable[..., Codes]:
    quiet = np.errstate(all="ignore")(kernel)
    return lambda *codes: floats_to_codes(quiet(*(column.view(np.float64) for column in codes)))


@vectorize(cache=True)  # type: ignore[no-untyped-call, untyped-decorator] # numba has no types for it
def _float_power(base: float, exponent: float) -> float:
    # The C library's power, as `math.pow`: numpy's own may round otherwise.
    return base**exponent  # type: ignore[no-any-return] # Python's may be complex


def _choose_float(compare: _Compare) -> Callable[[Codes, Codes], Codes]:
    return lambda left, right: np.where(compare(float_order(left), float_order(right)), left, right)


def _unless_all(has_value: Bools) -> Bools | None:
    return None if has_value.all() else has_value


def _by_divisor(dtype: type, kernel: Callable[..., Codes]) -> Callable[..., Evaluated]:
    quiet = np.errstate(all="ignore")(kernel)

    def divide(left: Codes, right: Codes) -> Evaluated:
        if right.all():
            return quiet(left.view(dtype), right.view(dtype)).view(np.int64), None
        has_value = right != 0
        divisor: Codes = np.where(has_value, right, 1).view(dtype)
        return quiet(left.view(dtype), divisor).view(np.int64), has_value

    return divide


def _truncate(least: float, beyond: float, dtype: type) -> Callable[[Codes], Evaluated]:
    @np.errstate(all="ignore")
    def truncate(codes: Codes) -> Evaluated:
        values = np.trunc(codes.view(np.float64))
        has_value = (values >= least) & (values < beyond)
        return np.where(has_value, values, 0.0).astype(dtype).view(np.int64), _unless_all(has_value)

    return truncate


_N, _U, _F, _S = Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL
# A code serves `ord` well: equal values have equal codes.
_IDENTITIES: Final[frozenset[tuple[str, Kind]]] = frozenset(
    [("ord", kind) for kind in Kind]
    + [(name, kind) for name in ("to_number", "to_unsigned") for kind in (_N, _U)]
    + [("to_float", _F), ("to_string", _S), ("itou", _N), ("utoi", _U)]
)

# Two's complement: these do the same to the bits of a number and of an unsigned.
_INTEGER: Final[Mapping[str, Callable[..., Codes]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "neg": np.negative,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "bnot": np.invert,
    "bshl": lambda left, right: left << (right & 63),
    "bshru": _unsigned(lambda left, right: left >> (right & 63)),
    "land": lambda left, right: ((left != 0) & (right != 0)).astype(np.int64),
    "lor": lambda left, right: (left | right != 0).astype(np.int64),
    "lxor": lambda left, right: ((left != 0) != (right != 0)).astype(np.int64),
    "lnot": lambda codes: (codes == 0).astype(np.int64),
}

_TOTAL: Final[Mapping[tuple[str, Kind], Callable[..., Codes]]] = {
    **{(name, kind): kernel for name, kernel in _INTEGER.items() for kind in (_N, _U)},
    ("bshr", _N): lambda left, right: left >> (right & 63),
    ("bshr", _U): _INTEGER["bshru"],
    ("^", _U): _unsigned(np.power),
    ("min", _N): _fold(np.minimum),
    ("max", _N): _fold(np.maximum),
    ("min", _U): _fold(_unsigned(np.minimum)),
    ("max", _U): _fold(_unsigned(np.maximum)),
    ("min", _F): _fold(_choose_float(np.less)),
    ("max", _F): _fold(_choose_float(np.greater)),
    ("+", _F): _floats(np.add),
    ("-", _F): _floats(np.subtract),
    ("*", _F): _floats(np.multiply),
    ("/", _F): _floats(np.divide),
    ("^", _F): _floats(_float_power),
    ("neg", _F): _floats(np.negative),
    **{(name, _N): lambda codes: codes.astype(np.float64).view(np.int64) for name in ("itof", "to_float")},
    **{(name, _U): _unsigned(lambda codes: codes.astype(np.float64)) for name in ("utof", "to_float")},
}

_PARTIAL: Final[Mapping[tuple[str, Kind], Callable[..., Evaluated]]] = {
    # With the remainder gone the quotient is exact, and rounding down is rounding to zero.
    ("/", _N): _by_divisor(np.int64, lambda left, right: (left - np.fmod(left, right)) // right),
    ("%", _N): _by_divisor(np.int64, np.fmod),
    ("/", _U): _by_divisor(np.uint64, np.floor_divide),
    ("%", _U): _by_divisor(np.uint64, np.remainder),
    ("^", _N): lambda base, power: (np.power(base, np.maximum(power, 0)), _unless_all(power >= 0)),
    **{(name, _F): _truncate(-(2.0**63), 2.0**63, np.int64) for name in ("ftoi", "to_number")},
    **{(name, _F): _truncate(0.0, 2.0**64, np.uint64) for name in ("ftou", "to_unsigned")},
}

_COMPARISONS: Final[Mapping[str, Callable[..., Bools]]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_DTYPES: Final = {_N: np.int64, _U: np.uint64, _F: np.float64}


def _comparison(op: str, kind: Kind) -> Callable[..., Evaluated]:
    compare = np.errstate(invalid="ignore")(_COMPARISONS[op]) if kind is _F else _COMPARISONS[op]
    # Equal values have equal codes, whatever the kind.
    dtype = np.int64 if op in ("=", "!=") else _DTYPES[kind]
    return lambda left, right: (cast("Codes", compare(left.view(dtype), right.view(dtype))), None)


# --- ranges --------------------------------------------------------------------------------


def _integer_ranges(generator: Generator, start: Codes, stop: Codes, *step: Codes) -> tuple[Codes, Codes]:
    """Return the place of the range and the code for each value of each range."""
    dtype = _DTYPES[generator.kind]
    rises = start.view(dtype) < stop.view(dtype)
    by: Codes = step[0] if step else np.where(rises, 1, -1)
    goes_up = by.view(dtype) > 0 if step else rises
    # Distances and sizes of steps reach 2**64 - 1: the wrapped differences are right as unsigned.
    distance = np.where(goes_up, stop - start, start - stop).view(np.uint64)
    size = np.where(goes_up, by, np.where(by == 0, -1, -by)).view(np.uint64)
    counts = np.where(by == 0, 0, (distance - np.uint64(1)) // size) + np.uint64(1)
    counts[(start == stop) | (rises != goes_up) & (by != 0)] = 0
    _refuse_more_than(_RANGE_LIMIT, float(counts.astype(np.float64).sum()), generator)
    lengths = counts.astype(np.int64)
    try:
        places = np.repeat(np.arange(start.size, dtype=np.int64), lengths)
        before: Codes = np.cumsum(lengths, dtype=np.int64) - lengths
        return places, start[places] + (np.arange(places.size, dtype=np.int64) - before[places]) * by[places]
    except MemoryError:
        _refuse_more_than(int(lengths.sum()), float(lengths.sum()), generator)
        raise


def _float_ranges(generator: Generator, start: Codes, stop: Codes, *step: Codes) -> tuple[Codes, Codes]:
    """Return the place of the range and the code for each value of each range."""
    columns = [codes.view(np.float64).tolist() for codes in (start, stop, *step)]
    if not step:
        columns.append([None] * start.size)
    values: list[Value] = []
    places: list[int] = []
    for place, bounds in enumerate(zip(*columns, strict=True)):
        _refuse_more_than(_FLOAT_RANGE_LIMIT, 0.99 * functors.float_range_length(*bounds), generator)
        values.extend(islice(functors.range_values(Kind.FLOAT, *bounds), _FLOAT_RANGE_LIMIT))
        _refuse_more_than(_FLOAT_RANGE_LIMIT, len(values), generator)
        places.extend(repeat(place, len(values) - len(places)))
    return _as_codes(places), floats_to_codes(np.array(values, dtype=np.float64))


def _refuse_more_than(limit: int, values: float, generator: Generator) -> None:
    if values >= limit:
        message = f"the range gives {limit:,} values or more at once"
        hint = "bring start and stop closer together, or give a larger step"
        raise TidelogError(
            [Diagnostic(code="range-too-large", message=message, span=generator.span, hint=hint)]
        )
