"""The fact somebody asks about, from text or from Python values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import written
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.rules import RuleBook
from tidelog.program.suggest import counted, did_you_mean
from tidelog.program.written_facts import encode_atoms, find_relation
from tidelog.source import Source, Span
from tidelog.syntax import tree
from tidelog.syntax.query import parse_query
from tidelog.values import Codec, Value
from tidelog.values.functors import canonical_value

if TYPE_CHECKING:
    from tidelog.engine.protocol import Codes

# "path(1, 2)", GroundAtom("path", (1, 2)), or ("path", (1, 2)).
AskedFact = str | GroundAtom | tuple[str, Sequence[Value]]


def read_fact(asked: AskedFact, book: RuleBook) -> GroundAtom:
    """Return the fact as values of the relation's columns; every mistake in it is raised.

    Strings may be in single quotes: `why("alias('a', 'b')")`.
    """
    if isinstance(asked, str):
        return _read_text(asked, book)
    relation, values = _named(asked)
    declared = book.program.relations.get(relation)
    if declared is None:
        raise TidelogError([_undeclared(relation, book)])
    if len(values) != declared.arity:
        raise TidelogError([_wrong_arity(relation, declared.arity, len(values))])
    return GroundAtom(
        relation,
        tuple(
            _exact(value, column.type, book.codec)
            for value, column in zip(values, declared.columns, strict=True)
        ),
    )


def _named(asked: object) -> tuple[str, Sequence[Value]]:
    """Return the relation and the values of a fact given in Python; anything else is a mistake."""
    match asked:
        case GroundAtom():
            return asked.relation, asked.fact
        case (str() as relation, tuple() | list() as values):
            return relation, values
        case _:
            message = f"{written(asked)} is not a fact"
            hint = 'ask for example "path(1, 3)" or ("path", (1, 3))'
            raise TidelogError([Diagnostic("not-a-fact", message, None, hint)])


def _exact(value: object, type_name: str, codec: Codec) -> Value:
    """Return the value as a column of the type holds it; one of another type is a mistake."""
    return canonical_value(codec.decode(codec.encode(cast("Value", value), type_name), type_name))


def _read_text(text: str, book: RuleBook) -> GroundAtom:
    query = parse_query(Source("fact", text))
    elements = [element for each in query.body.alternatives for element in each.elements]
    if len(elements) != 1 or not isinstance(elements[0], tree.Atom):
        whole = Span(query.source, 0, len(text))
        raise TidelogError(
            [Diagnostic("not-a-fact", "this is not one fact", whole, "ask for example path(1, 3)")]
        )
    atom = elements[0]
    declared = find_relation(atom, book.program)
    found: list[Diagnostic] = []
    if isinstance(declared, Diagnostic):
        is_unknown = declared.code == "undeclared-relation"
        found.append(_undeclared(atom.relation, book, declared.span) if is_unknown else declared)
        codes: list[Codes] = []
    else:
        codes = encode_atoms([atom], declared, book.codec, found)
    found = [_about_one_fact(each) for each in found]
    if found or isinstance(declared, Diagnostic):
        raise query.point_at_query(TidelogError(found)) from None
    values = (
        canonical_value(book.codec.decode(int(column[0]), type_.type))
        for column, type_ in zip(codes, declared.columns, strict=False)
    )
    return GroundAtom(atom.relation, tuple(values))


def _about_one_fact(found: Diagnostic) -> Diagnostic:
    """Return the diagnostic, which tells who left a variable how to find facts to ask about."""
    if found.code != "not-a-constant":
        return found
    return replace(found, hint=f"{found.hint}; a query finds the facts that one can ask about")


def _undeclared(relation: str, book: RuleBook, span: Span | None = None) -> Diagnostic:
    names = [name for name in book.program.relations if not name.startswith("_")]
    return Diagnostic(
        "undeclared-relation",
        f"there is no relation `{relation}`",
        span,
        did_you_mean(relation, names, f"there are {', '.join(names) or 'none'}"),
    )


def _wrong_arity(relation: str, arity: int, found: int, span: Span | None = None) -> Diagnostic:
    return Diagnostic("wrong-arity", f"`{relation}` has {counted(arity, 'column')}, not {found}", span)
