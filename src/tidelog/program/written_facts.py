"""Facts written as text, as codes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.program.flatten_rules import PLAIN
from tidelog.program.nodes import Program, Relation
from tidelog.program.suggest import counted, did_you_mean, undeclared_relation, wrong_arity
from tidelog.source import Span
from tidelog.syntax import parse_atom, print_node, tree
from tidelog.values import Branch, Codec, Kind, Value
from tidelog.values.types import ValueType

_NUMBER_RANGE: Final = (-(1 << 63), (1 << 63) - 1)
_UNSIGNED_RANGE: Final = (0, (1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class WrittenPattern:
    """An atom with the code that each column must have; None where a variable or a wildcard stands."""

    atom: tree.Atom
    relation: Relation
    codes: tuple[int | None, ...]


def read_pattern(
    text: str, name: str, program: Program, codec: Codec, *, is_fact: bool = False
) -> WrittenPattern:
    """Return what a user wrote to name facts; messages about it say its `name`.

    Strings may be in single quotes, and variables stand for any value unless it `is_fact`. All mistakes
    are raised.
    """
    atom = parse_atom(text, name)
    relation = find_relation(atom, program, is_asked=True)
    if isinstance(relation, Diagnostic):
        raise TidelogError([relation])
    reader = ConstantReader(codec)
    free = () if is_fact else (tree.Variable, tree.Wildcard)
    pairs = list(zip(atom.terms, relation.columns, strict=True))
    values = [None if isinstance(term, free) else reader.value(term, column.type) for term, column in pairs]
    raise_if_any(reader.mistakes)
    codes = (
        None if isinstance(term, free) else codec.encode(value, column.type)
        for value, (term, column) in zip(values, pairs, strict=True)
    )
    return WrittenPattern(atom, relation, tuple(codes))


def find_relation(atom: tree.Atom, program: Program, *, is_asked: bool = False) -> Relation | Diagnostic:
    """Return the relation of a fact, or what is wrong with its name or its number of terms."""
    relation = program.relations.get(atom.relation)
    if relation is None:
        return undeclared_relation(atom.relation, program.relations, atom.span, is_asked=is_asked)
    if relation.arity != len(atom.terms):
        return wrong_arity(relation, len(atom.terms), atom.span)
    return relation


def encode_atoms(
    atoms: Sequence[tree.Atom], relation: Relation, codec: Codec, found: list[Diagnostic]
) -> list[npt.NDArray[np.int64]]:
    """Return the codes of facts, one array per column; mistakes are added to `found`.

    Every atom must be of the relation and have its arity. A relation without columns has one array
    of zeros, as in an epoch.
    """
    if not relation.columns:
        return [np.zeros(len(atoms), dtype=np.int64)]
    reader = ConstantReader(codec)
    columns = [
        [reader.value(atom.terms[place], column.type) for atom in atoms]
        for place, column in enumerate(relation.columns)
    ]
    if reader.mistakes:
        found += reader.mistakes
        return [np.empty(0, dtype=np.int64) for _ in columns]
    return [
        codec.encode_column(values, column.type)
        for values, column in zip(columns, relation.columns, strict=True)
    ]


def literal_value(term: tree.Term) -> Value:
    """Return the value of a number or a text, perhaps negated; None for every other term."""
    match term:
        case (
            tree.StringLiteral(value)
            | tree.NumberLiteral(value)
            | tree.UnsignedLiteral(value)
            | tree.FloatLiteral(value)
        ):
            return value
        case tree.Application("neg", (tree.NumberLiteral(number) | tree.FloatLiteral(number),)):
            return -number
    return None


class ConstantReader:
    """Reads the values of constant terms; mistakes gather in `mistakes`."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self.mistakes: list[Diagnostic] = []

    def value(self, term: tree.Term, type_name: str) -> Value:
        """Return the value of a term of a type; None stands for nil, and for a mistake."""
        wanted = self._codec.resolve(type_name)
        literal = literal_value(term)
        match term:
            case tree.NilLiteral() if wanted.kind is Kind.RECORD:
                return None
            case tree.RecordTerm(terms) if wanted.kind is Kind.RECORD:
                types = [field.type for field in wanted.fields]
                return self._fields(f"record type `{wanted.name}`", terms, types, term.span)
            case tree.BranchTerm(name, terms) if wanted.kind is Kind.ADT:
                return self._branch(name, terms, wanted, term.span)
            case tree.UnsignedLiteral() if wanted.kind is not Kind.UNSIGNED:
                literal = None
        match literal:
            case str() if wanted.kind is Kind.SYMBOL:
                return literal
            case float() if wanted.kind is Kind.FLOAT:
                return literal
            case int() if wanted.kind.is_numeric:
                return self._number(literal, wanted, term.span)
        self._report_other(term, wanted)
        return None

    def _number(self, number: int, wanted: ValueType, span: Span) -> Value:
        if wanted.kind is Kind.FLOAT:
            return float(number)
        low, high = _UNSIGNED_RANGE if wanted.kind is Kind.UNSIGNED else _NUMBER_RANGE
        if not low <= number <= high:
            self._report(
                "number-too-large",
                f"{number} does not fit the 64 bits of `{wanted.name}`",
                span,
                f"the values of `{wanted.kind.value}` go from {low} to {high}",
            )
        return number

    def _branch(self, name: str, terms: Sequence[tree.Term], wanted: ValueType, span: Span) -> Value:
        try:
            _, branch = wanted.branch(name)
        except KeyError:
            names = [each.name for each in wanted.branches]
            hint = did_you_mean(name, names, f"its branches are {', '.join(names)}")
            self._report("undeclared-branch", f"`{wanted.name}` has no branch `{name}`", span, hint)
            return None
        fields = self._fields(f"branch `{name}`", terms, [field.type for field in branch.fields], span)
        return Branch(name, fields)

    def _fields(
        self, what: str, terms: Sequence[tree.Term], types: Sequence[str], span: Span
    ) -> tuple[Value, ...]:
        if len(terms) != len(types):
            message = f"{what} has {counted(len(types), 'member')}, not {len(terms)}"
            self._report("wrong-field-count", message, span)
            return ()
        pairs = zip(terms, types, strict=True)
        return tuple(self.value(term, type_name) for term, type_name in pairs)

    def _report_other(self, term: tree.Term, wanted: ValueType) -> None:
        constants = PLAIN | tree.NilLiteral | tree.RecordTerm | tree.BranchTerm
        if isinstance(term, constants):
            self._report(
                "type-clash",
                f"expected `{wanted.name}`, found `{print_node(term)}`",
                term.span,
                _example(wanted),
            )
            return
        hint = "a text is written in quotes" if isinstance(term, tree.Variable) else "write its value"
        self._report("not-a-constant", f"`{print_node(term)}` is not a constant", term.span, hint)

    def _report(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        self.mistakes.append(Diagnostic(code=code, message=message, span=span, hint=hint))


def _example(wanted: ValueType) -> str:
    match wanted.kind:
        case Kind.SYMBOL:
            return 'a symbol is written "text"'
        case Kind.RECORD:
            return "a record is written `[1, 2]`, or `nil`"
        case Kind.ADT:
            return f"a value of `{wanted.name}` is written `${wanted.branches[0].name}(...)`"
        case Kind.FLOAT:
            return "a float is written `1.5`"
        case _:
            return f"a {wanted.kind.value} is written `1`"
