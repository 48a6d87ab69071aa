"""Facts written as text, as codes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.errors import Diagnostic
from tidelog.program.nodes import Program, Relation
from tidelog.program.suggest import counted, did_you_mean
from tidelog.source import Span
from tidelog.syntax import print_node, tree
from tidelog.values import Branch, Codec, Kind, Value
from tidelog.values.types import ValueType

_NUMBER_RANGE: Final = (-(1 << 63), (1 << 63) - 1)
_UNSIGNED_RANGE: Final = (0, (1 << 64) - 1)


def find_relation(atom: tree.Atom, program: Program) -> Relation | Diagnostic:
    """Return the relation of a fact, or what is wrong with its name or its number of terms."""
    relation = program.relations.get(atom.relation)
    if relation is None:
        return Diagnostic(
            code="undeclared-relation",
            message=f"there is no relation `{atom.relation}`",
            span=atom.span,
            hint=did_you_mean(atom.relation, program.relations, f"declare it: .decl {atom.relation}(...)"),
        )
    if relation.arity != len(atom.terms):
        columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
        return Diagnostic(
            code="wrong-arity",
            message=f"`{atom.relation}` has {counted(relation.arity, 'column')}, not {len(atom.terms)}",
            span=atom.span,
            hint=f"it is declared as `{atom.relation}({columns})`",
        )
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
    before = len(found)
    reader = _ConstantReader(codec, found)
    columns = [
        [reader.value(atom.terms[place], codec.resolve(column.type)) for atom in atoms]
        for place, column in enumerate(relation.columns)
    ]
    if len(found) > before:
        return [np.empty(0, dtype=np.int64) for _ in columns]
    return [
        codec.encode_column(values, column.type)
        for values, column in zip(columns, relation.columns, strict=True)
    ]


def encode_pattern(
    atom: tree.Atom, relation: Relation, codec: Codec, found: list[Diagnostic]
) -> tuple[int | None, ...]:
    """Return the code that each column must have, None for variables and wildcards.

    The atom must be of the relation and have its arity; mistakes are added to `found`.
    """
    before = len(found)
    reader = _ConstantReader(codec, found)
    codes: list[int | None] = []
    for term, column in zip(atom.terms, relation.columns, strict=True):
        if isinstance(term, tree.Variable | tree.Wildcard):
            codes.append(None)
            continue
        value = reader.value(term, codec.resolve(column.type))
        codes.append(codec.encode(value, column.type) if len(found) == before else None)
    return tuple(codes)


class _ConstantReader:
    """Reads the values of constant terms; mistakes gather in `found`."""

    def __init__(self, codec: Codec, found: list[Diagnostic]) -> None:
        self._codec = codec
        self._found = found

    def value(self, term: tree.Term, wanted: ValueType) -> Value:
        """Return the value of a term of a type; None stands for nil, and for a mistake."""
        match term:
            case tree.StringLiteral(text) if wanted.kind is Kind.SYMBOL:
                return text
            case tree.FloatLiteral(real) if wanted.kind is Kind.FLOAT:
                return real
            case tree.UnsignedLiteral(number) if wanted.kind is Kind.UNSIGNED:
                return number
            case tree.NumberLiteral(number) if wanted.kind.is_numeric:
                return self._number(number, wanted, term.span)
            case tree.Application("neg", (tree.NumberLiteral(number),)) if wanted.kind.is_numeric:
                return self._number(-number, wanted, term.span)
            case tree.Application("neg", (tree.FloatLiteral(real),)) if wanted.kind is Kind.FLOAT:
                return -real
            case tree.NilLiteral() if wanted.kind is Kind.RECORD:
                return None
            case tree.RecordTerm(terms) if wanted.kind is Kind.RECORD:
                types = [field.type for field in wanted.fields]
                return self._fields(f"record type `{wanted.name}`", terms, types, term.span)
            case tree.BranchTerm(name, terms) if wanted.kind is Kind.ADT:
                return self._branch(name, terms, wanted, term.span)
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
        return tuple(self.value(term, self._codec.resolve(type_name)) for term, type_name in pairs)

    def _report_other(self, term: tree.Term, wanted: ValueType) -> None:
        constants = (
            tree.StringLiteral | tree.FloatLiteral | tree.UnsignedLiteral | tree.NumberLiteral
            | tree.NilLiteral | tree.RecordTerm | tree.BranchTerm
        )  # fmt: skip
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
        self._found.append(Diagnostic(code=code, message=message, span=span, hint=hint))


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
