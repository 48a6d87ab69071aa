"""Chains of operators as instructions for the kernel of small epochs."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from functools import partial, reduce

from tidelog.dataclass import dataclass
from tidelog.engine.local.arithmetic import IDENTITIES
from tidelog.engine.local.by_row import layout
from tidelog.engine.local.by_row.tables import StrataTables
from tidelog.plan.operators import (
    Comparison,
    Compute,
    Filter,
    Find,
    IndexJoin,
    Operand,
    Operator,
    Rearrange,
    Start,
)
from tidelog.program.nodes import Application, Constant, Constraint, Term, Variable
from tidelog.storage.join import EQUAL, LESS, LESS_EQUAL, UNEQUAL
from tidelog.storage.ordered import ABOVE, AT_LEAST, AT_MOST, BELOW
from tidelog.storage.relation_indexes import IndexName
from tidelog.values import Kind

_COMPARISONS = {"=": EQUAL, "!=": UNEQUAL, "<": LESS, "<=": LESS_EQUAL}
_FLIPPED = {">": "<", ">=": "<="}
_SIGN_BIT = -(1 << 63)
_INTEGER = {
    "+": layout.ADD,
    "-": layout.SUBTRACT,
    "*": layout.MULTIPLY,
    "band": layout.AND,
    "bor": layout.OR,
    "bxor": layout.XOR,
    "bshl": layout.SHIFT_LEFT,
    "bshru": layout.SHIFT_IN_ZEROS,
    "land": layout.BOTH,
    "lor": layout.EITHER,
    "lxor": layout.ONE_OF_TWO,
}
# Functors of two operands; `min` and `max` take any number of them.
_FUNCTORS = {
    Kind.NUMBER: {
        **_INTEGER,
        "/": layout.DIVIDE,
        "%": layout.REMAINDER,
        "bshr": layout.SHIFT_RIGHT,
        "min": layout.LESSER,
        "max": layout.GREATER,
    },
    Kind.UNSIGNED: {
        **_INTEGER,
        "/": layout.UNSIGNED_DIVIDE,
        "%": layout.UNSIGNED_REMAINDER,
        "bshr": layout.SHIFT_IN_ZEROS,
    },
    Kind.FLOAT: {
        "+": layout.FLOAT_ADD,
        "-": layout.FLOAT_SUBTRACT,
        "*": layout.FLOAT_MULTIPLY,
        "/": layout.FLOAT_DIVIDE,
    },
}
# Functors of one operand as functors of two: with which constant, and whether it comes first.
_UNARY = {
    ("neg", Kind.NUMBER): (layout.SUBTRACT, 0, True),
    ("neg", Kind.UNSIGNED): (layout.SUBTRACT, 0, True),
    ("neg", Kind.FLOAT): (layout.FLOAT_SUBTRACT, 0, True),
    ("bnot", Kind.NUMBER): (layout.XOR, -1, False),
    ("bnot", Kind.UNSIGNED): (layout.XOR, -1, False),
    ("lnot", Kind.NUMBER): (layout.ONE_OF_TWO, 1, False),
    ("lnot", Kind.UNSIGNED): (layout.ONE_OF_TWO, 1, False),
    ("itof", Kind.NUMBER): (layout.NUMBER_TO_FLOAT, 0, False),
    ("to_float", Kind.NUMBER): (layout.NUMBER_TO_FLOAT, 0, False),
    ("utof", Kind.UNSIGNED): (layout.UNSIGNED_TO_FLOAT, 0, False),
    ("to_float", Kind.UNSIGNED): (layout.UNSIGNED_TO_FLOAT, 0, False),
}
_FLOAT_TESTS = {"<": layout.FLOAT_IS_LESS, "<=": layout.FLOAT_IS_AT_MOST}


class NotSmall(Exception):  # noqa: N818 - a property of a rule, no error
    """The rule needs an operator that the kernel does not have."""


@dataclass
class Instructions:
    """The instructions of all chains of a stratum, one after the other, and the constants so far.

    `keys` are the indexes they use, which are entered into the tables; `encode` gives the code of a constant.
    """

    tables: StrataTables
    encode: Callable[[Constant], int]
    code: list[int] = field(default_factory=list)
    keys: set[tuple[str, IndexName]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.constants: list[int] = self.tables.constants.tolist()
        self._places = {code: place for place, code in enumerate(self.constants)}

    def add(self, operators: Sequence[Operator]) -> int:
        """Append a chain and return where it begins; raise `NotSmall` if the kernel cannot run it."""
        beginning = operators[0]
        if not isinstance(beginning, Start) or len(beginning.outputs) > layout.REGISTERS:
            raise NotSmall
        if sum(isinstance(operator, IndexJoin) for operator in operators) > layout.DEPTH:
            raise NotSmall
        place = len(self.code)
        chain = _Chain(self, {name: number for number, name in enumerate(beginning.outputs)})
        try:
            for operator in operators[1:]:
                chain.append(operator)
            outputs = operators[-1].outputs
            self.code.extend((layout.END, len(outputs), *map(chain.register, outputs)))
        except NotSmall:
            del self.code[place:]
            raise
        return self.tables.code.size + place

    def constant(self, code: int) -> int:
        """Return the register of a constant."""
        place = self._places.get(code)
        if place is None:
            place = self._places[code] = len(self.constants)
            self.constants.append(code)
        return layout.REGISTERS + place


def index_name(join: IndexJoin) -> IndexName:
    """Return the name of the index, or of the level of one, that a join reads."""
    if join.over:
        return join.key, join.over
    return join.key if join.ordered is None else (join.key, join.ordered)


@dataclass
class _Chain:
    all: Instructions
    registers: dict[Operand, int]

    def append(self, operator: Operator) -> None:
        match operator:
            case IndexJoin():
                self.join(operator)
            case Find():
                self.find(operator)
            case Filter():
                self.filter(operator.constraint)
            case Compute():
                self.compute(operator)
            case Rearrange():
                pass
            case _:
                raise NotSmall

    def emit(self, *words: int) -> None:
        self.all.code.extend(words)

    def fresh(self, operand: Operand) -> int:
        number = len(self.registers)
        if number >= layout.REGISTERS:
            raise NotSmall
        self.registers[operand] = number
        return number

    def register(self, operand: Operand) -> int:
        if isinstance(operand, Constant):
            return self.all.constant(self.all.encode(operand))
        return self.registers[operand]

    def join(self, join: IndexJoin) -> None:
        is_expanded = bool(join.group) and not join.over
        keys = [self.register(operand) for operand in ((join.group,) if is_expanded else join.operands)]
        known = set(self.registers)
        tables, number = self.all.tables, self.all.tables.numbers[join.relation]
        arity = int(tables.relations[number]["arity"])
        rest = [*(column for column in join.over or range(arity) if column not in join.key), -1]
        binds: list[int] = [len(rest) - 1, self.fresh(join.group)] if join.over else []
        for column, name in join.binds:
            binds.extend((rest.index(-1 if column == arity else column), self.fresh(name)))
        filters: list[int] = []
        for comparison in join.filters:
            filters.extend(self.comparison(comparison))
        index = join.relation, index_name(join)
        self.all.keys.add(index)
        ordered = {name for column, name in join.binds if column == join.ordered}
        bounds = [bound for comparison in join.filters for bound in self.bounds(comparison, ordered, known)]
        self.emit(layout.EXPAND if is_expanded else layout.JOIN, tables.number_index(*index), number)
        self.emit(len(keys), len(binds) // 2, len(join.filters), len(bounds))
        self.emit(*keys, *binds, *filters, *(word for bound in bounds for word in bound))

    def find(self, find: Find) -> None:
        registers = [self.register(operand) for operand in find.operands]
        tables = self.all.tables
        number, row = tables.numbers[find.relation], self.fresh(find.row)
        projection = tables.projections.get(find.relation)
        if projection is None:
            self.emit(layout.FIND, number, row, int(find.is_negated), len(registers), *registers)
            return
        assert find.is_negated, "only negated atoms are projected"
        self.all.keys.add((projection.base, projection.kept))
        index = tables.number_index(projection.base, projection.kept)
        self.emit(layout.LACK, number, row, index, tables.numbers[projection.base], *registers)

    def bounds(
        self, comparison: Comparison, ordered: set[str], known: AbstractSet[Operand]
    ) -> Iterator[tuple[int, int]]:
        """Yield the bound that a comparison sets for the ordered column, if its other side is bound."""
        is_strict = comparison.op == "<"
        if comparison.op in {"<", "<="}:
            left, right = comparison.left, comparison.right
            if left in ordered and (right in known or isinstance(right, Constant)):
                yield BELOW if is_strict else AT_MOST, self.register(right)
            if right in ordered and (left in known or isinstance(left, Constant)):
                yield ABOVE if is_strict else AT_LEAST, self.register(left)

    def comparison(self, comparison: Comparison) -> tuple[int, int, int]:
        left, right = self.register(comparison.left), self.register(comparison.right)
        return _COMPARISONS[comparison.op], left, right

    def filter(self, constraint: Constraint) -> None:
        left, right = self.value(constraint.left), self.value(constraint.right)
        op = constraint.op
        if op in _FLIPPED:
            left, right, op = right, left, _FLIPPED[op]
        if op not in _COMPARISONS:
            raise NotSmall
        # Equal values of any kind have equal codes; only those of numbers are in order.
        if op in _FLOAT_TESTS and constraint.kind is Kind.FLOAT:
            left, right = self.result(_FLOAT_TESTS[op], left, right), self.all.constant(1)
            op = "="
        elif op in _FLOAT_TESTS and constraint.kind is Kind.UNSIGNED:
            left, right = self.in_order(left), self.in_order(right)
        elif op in _FLOAT_TESTS and constraint.kind is not Kind.NUMBER:
            raise NotSmall
        self.emit(layout.COMPARE, _COMPARISONS[op], left, right)

    def compute(self, compute: Compute) -> None:
        value = self.value(compute.term)
        self.emit(layout.COMPUTE, layout.COPY, self.fresh(compute.variable), value, value)
        for comparison in compute.filters:
            self.emit(layout.COMPARE, *self.comparison(comparison))

    def value(self, term: Term) -> int:
        """Emit the instructions for a term and return its register."""
        match term:
            case Variable():
                return self.registers[term.name]
            case Constant():
                return self.register(term)
            case Application():
                return self.application(term)
            case _:
                raise NotSmall

    def application(self, term: Application) -> int:
        """Emit the instructions for a functor applied to terms and return the register of its value."""
        operands = [self.value(each) for each in term.terms]
        named = term.functor, term.kind
        if named in IDENTITIES:
            return operands[0]
        if named in _UNARY:
            functor, code, is_first = _UNARY[named]
            constant = self.all.constant(code)
            return self.result(functor, *((constant, operands[0]) if is_first else (operands[0], constant)))
        is_unsigned_choice = term.kind is Kind.UNSIGNED and term.functor in {"min", "max"}
        kind = Kind.NUMBER if is_unsigned_choice else term.kind
        functors = _FUNCTORS.get(kind, {})
        if term.functor not in functors:
            raise NotSmall
        if is_unsigned_choice:
            operands = [self.in_order(operand) for operand in operands]
        chosen = reduce(partial(self.result, functors[term.functor]), operands)
        return self.in_order(chosen) if is_unsigned_choice else chosen

    def result(self, functor: int, left: int, right: int) -> int:
        """Emit a functor of two registers and return that of its value."""
        result = self.fresh(f"%value{len(self.all.code)}")
        self.emit(layout.COMPUTE, functor, result, left, right)
        return result

    def in_order(self, register: int) -> int:
        """Return the register of a number that is ordered as the unsigned is, or of the unsigned again."""
        return self.result(layout.XOR, register, self.all.constant(_SIGN_BIT))
