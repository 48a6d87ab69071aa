"""Terms, constraints and ranges over batches of bindings, as codes.

`values.functors` defines the meaning of all of them. A term is compiled once to a function from the
columns of a batch to codes; arithmetic then runs on whole columns, and whatever needs texts or a Python
callable is called once for every distinct combination of operands.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from threading import RLock
from typing import assert_never

import numpy as np

from tidelog.engine import patterns
from tidelog.engine.libraries import LibraryFunctor
from tidelog.engine.local.arithmetic import COMPARISONS, IDENTITIES, PARTIAL, TOTAL, Compare, comparison
from tidelog.engine.local.calls import Call, Calls, Encode, Remembered, as_codes, user_call
from tidelog.engine.local.evaluated import (
    Bindings,
    Bools,
    Compiled,
    Evaluated,
    RowKernel,
    on_columns,
    on_valid_rows,
    operands_of,
)
from tidelog.engine.local.ranges import float_ranges, integer_ranges
from tidelog.engine.protocol import Codes, UserFunctions
from tidelog.program import nodes
from tidelog.program.nodes import BranchTerm, Constraint, Generator, RecordTerm, Term, UserApplication
from tidelog.values import Codec, Kind, functors
from tidelog.values.records import NIL

CompiledConstraint = Callable[[Bindings, int], Bools]
# The numbers of derivations in columns, each of this many rows or of one that applies to all.
NumberFunctor = RowKernel


class Expressions:
    """Evaluates the terms, constraints and ranges of one program over batches of bindings.

    A batch has a column of codes per variable, each of `count` rows. Nodes are compiled on first use and
    kept; several threads may evaluate at once.

        expressions.term(x_plus_1, {"x": codes}, codes.size)  ->  (codes + 1, None)
    """

    def __init__(
        self,
        program: nodes.Program,
        codec: Codec,
        functions: UserFunctions,
        numbers: Mapping[str, NumberFunctor] | None = None,
    ) -> None:
        self._program = program
        self.codec = codec
        self.functions = functions
        self._numbers = numbers or {}
        self._known_ranks: Codes = np.empty(0, dtype=np.int64)
        # Dictionaries grow when texts and records are made, so only one thread at a time makes them.
        self._growing = RLock()
        # Keyed by identity, which needs no walk through the node; the node is kept alive with it.
        self._nodes: dict[int, tuple[Term, Compiled]] = {}
        self._constraints: dict[int, tuple[Constraint, CompiledConstraint]] = {}

    def term(self, term: Term, columns: Bindings, count: int) -> Evaluated:
        """Return the codes of a term whose variables are all in `columns`, and which rows have a value.

        The codes of rows without a value are meaningless. The result may be a column of the batch
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
        """Return the rows for which a constraint holds: never one in which an operand has no value."""
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

        Row numbers ascend, and the values of a row are in the order of its range. A row whose
        start, stop or step has no value has no range. Matching the target is up to the caller.

            x = range(1, y) over y = [3, 2]  ->  [0, 0, 1], [1, 2, 1]
        """
        terms = (generator.start, generator.stop, generator.step)
        nodes = [self._node(term) for term in terms if term is not None]
        bounds, mask = operands_of(nodes, columns, count)
        rows = np.flatnonzero(np.broadcast_to(True if mask is None else mask, count))
        ranges = float_ranges if generator.kind is Kind.FLOAT else integer_ranges
        places, values = ranges(generator, *(np.broadcast_to(bound, count)[rows] for bound in bounds))
        return rows[places], values

    def take_apart(self, pattern: RecordTerm | BranchTerm, codes: Codes) -> tuple[Bools, list[Codes]]:
        """Return which codes are such a record or branch, and the codes of their fields.

        There is one array per field of the pattern, as long as `codes`; rows that do not match
        have 0 there. Nil never matches. Matching the pattern's own terms is up to the caller.
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
        """Return the compiled term; its arrays have `count` rows, or one that applies to all."""
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
                return self._compile_row((), term)
            case BranchTerm():
                position, _ = self.codec.resolve(term.type).branch(term.name)
                return self._compile_row((position,), term)
            case nodes.Wildcard() | nodes.Aggregate() | nodes.Counter():
                raise AssertionError(f"{type(term).__name__} is the engine's to evaluate")
            case _:
                assert_never(term)

    def _compile_application(self, term: nodes.Application) -> Compiled:
        operands = [self._node(operand) for operand in term.terms]
        key = (term.functor, term.kind)
        if key in IDENTITIES:
            return operands[0]
        if key in TOTAL:
            kernel = TOTAL[key]
            return on_columns(lambda *codes: (kernel(*codes), None), operands)
        if key in PARTIAL:
            return on_columns(PARTIAL[key], operands)
        if term.functor in ("min", "max"):
            choose = partial(self._choose_text, np.less if term.functor == "min" else np.greater)
            return on_valid_rows(lambda codes, _: (reduce(choose, codes), None), operands)
        types = [operand.type for operand in term.terms]
        encode = partial(self.codec.encode_column, type_name=term.type)
        return self._compile_calls(partial(functors.apply, *key), term.terms, types, encode)

    def _compile_user_application(self, term: UserApplication) -> Compiled:
        functor = self._program.functors[term.name]
        numbers = self._numbers.get(term.name)
        if numbers is not None:
            return on_valid_rows(numbers, [self._node(each) for each in term.terms])
        function = self.functions.get(term.name)
        if isinstance(function, LibraryFunctor):
            return self._compile_library_functor(term, function)
        call = user_call(term, self.functions, self.codec, functor.result)
        if not functor.is_stateful:
            return self._compile_calls(call, term.terms, functor.parameters, as_codes)
        calls = Calls(self.codec, self._growing, call, functor.parameters, as_codes)
        return on_valid_rows(calls.for_rows, [self._node(operand) for operand in term.terms], each_row=True)

    def _compile_library_functor(self, term: UserApplication, functor: LibraryFunctor) -> Compiled:
        """Return a node that calls a function in C for all rows, or for texts not met before."""
        from tidelog.engine.local.library_calls import LibraryCalls  # noqa: PLC0415 - few programs have one

        declared = functor.interface.declared
        types = declared.parameters
        call = user_call(term, self.functions, self.codec, declared.result)
        plain = Calls(self.codec, self._growing, call, types, as_codes)
        calls = LibraryCalls(functor, term, plain)
        operands = [self._node(operand) for operand in term.terms]
        if functor.is_stateful:
            return on_valid_rows(calls.for_rows, operands, each_row=True)
        varying = self._varying_code(term.terms, types)
        if varying is None:
            return on_valid_rows(calls.for_rows, operands)
        return on_valid_rows(Remembered(calls, self._growing, varying).for_codes, operands)

    def _compile_calls(
        self, call: Call, terms: Sequence[Term], types: Sequence[str], encode: Encode
    ) -> Compiled:
        """Return a node that calls once for each distinct combination of operands."""
        operands = [self._node(operand) for operand in terms]
        calls = Calls(self.codec, self._growing, call, types, encode)
        varying = self._varying_code(terms, types)
        if varying is None:
            return on_valid_rows(calls.for_combinations, operands)
        return on_valid_rows(Remembered(calls, self._growing, varying).for_codes, operands)

    def _varying_code(self, terms: Sequence[Term], types: Sequence[str]) -> int | None:
        """Return the place of the only operand that varies, if its codes are dense."""
        varying = [place for place, term in enumerate(terms) if not isinstance(term, nodes.Constant)]
        is_dense = len(varying) == 1 and not self.codec.resolve(types[varying[0]]).kind.is_numeric
        return varying[0] if is_dense else None

    def _compile_row(self, start: tuple[int, ...], term: RecordTerm | BranchTerm) -> Compiled:
        width, value_type = len(start) + len(term.terms), self.codec.resolve(term.type)

        def intern(codes: Sequence[Codes], count: int) -> Evaluated:
            rows = np.empty((count, width), dtype=np.int64)
            rows[:, : len(start)] = start
            for position, column in enumerate(codes, len(start)):
                rows[:, position] = column
            with self._growing:
                return self.codec.make_records(rows, value_type), None

        return on_valid_rows(intern, [self._node(each) for each in term.terms])

    def _ranks(self, codes: Sequence[Codes]) -> list[Codes]:
        """Return the ranks of symbols by text; there must be a row.

        Ranks stay valid among the codes they cover, whatever is added to the dictionary.
        """
        ranks = self._known_ranks
        if max(column.max() for column in codes) >= ranks.size:
            self._known_ranks = ranks = self.codec.symbols.ranks()
        return [ranks[column] for column in codes]

    def _choose_text(self, compare: Compare, left: Codes, right: Codes) -> Codes:
        return np.where(compare(*self._ranks((left, right))), left, right)

    # --- constraints -----------------------------------------------------------------------

    def _compile_constraint(self, constraint: Constraint) -> CompiledConstraint:
        operands = [self._node(constraint.left), self._node(constraint.right)]
        op, kind = constraint.op, constraint.kind
        if op not in COMPARISONS:
            types = [constraint.left.type, constraint.right.type]
            call: Call = lambda values: patterns.holds(constraint, values, self.codec)  # noqa: E731 - typed
            node = self._compile_calls(call, (constraint.left, constraint.right), types, as_codes)
        elif kind is Kind.SYMBOL and op not in ("=", "!="):
            compare = comparison(op, Kind.NUMBER)
            node = on_valid_rows(lambda codes, _: compare(*self._ranks(codes)), operands)
        else:
            node = on_columns(comparison(op, kind), operands)

        def holds(columns: Bindings, count: int) -> Bools:
            truths, mask = node(columns, count)
            result = truths.astype(np.bool_, copy=False)
            if mask is not None:
                result = result & mask
            return result if result.size == count else np.full(count, result[0])

        return holds
