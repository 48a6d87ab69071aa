"""The fact somebody asks about, from text or from Python values."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import written
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.rules import RuleBook
from tidelog.program.suggest import undeclared_relation, wrong_arity
from tidelog.program.written_facts import read_pattern
from tidelog.values import Codec, Value
from tidelog.values.functors import canonical_value

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
        raise TidelogError([undeclared_relation(relation, book.program.relations, is_asked=True)])
    if len(values) != declared.arity:
        raise TidelogError([wrong_arity(declared, len(values))])
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
    try:
        found = read_pattern(text, "fact", book.program, book.codec, is_fact=True)
    except TidelogError as error:
        raise TidelogError(map(_about_one_fact, error.diagnostics)) from None
    values = (
        canonical_value(book.codec.decode(code, column.type))
        for code, column in zip(found.codes, found.relation.columns, strict=True)
        if code is not None
    )
    return GroundAtom(found.relation.name, tuple(values))


def _about_one_fact(found: Diagnostic) -> Diagnostic:
    """Return the diagnostic, which tells who left a variable how to find facts to ask about."""
    if found.code == "syntax" and found.hint is None:
        return replace(found, hint="a fact is written for example path(1, 'a')")
    if found.code != "not-a-constant":
        return found
    return replace(found, hint=f"{found.hint}; a query finds the facts that one can ask about")
