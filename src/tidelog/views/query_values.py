"""Python values in the place of `$name` in a query."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real

from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.errors.arguments import bad_argument, no_effect
from tidelog.program.nodes import Program
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.depth import MAX_DEPTH
from tidelog.syntax.query import ParsedQuery
from tidelog.syntax.walk_tree import map_atom, map_body, map_term, walk
from tidelog.values import Branch


def bind_values(query: ParsedQuery, values: Mapping[str, object], program: Program) -> ParsedQuery:
    """Return the query with each `$name` replaced by the value of that name.

        path($x, y)   with x="it's"   is   path("it's", y)

    A branch of the program is hidden by a value of the same name. Every name must be given a value, and
    every value must be asked for.
    """
    asked = asked_names(query)
    branches = {branch.name for each in program.types.values() for branch in each.branches}
    missing = [_missing(name, span) for name, span in asked.items() if name not in branches | values.keys()]
    unused = [
        no_effect(name, f"the query has no `${name}`", f"write `${name}` where the value belongs")
        for name in values
        if name not in asked
    ]
    raise_if_any([*missing, *unused])

    def change(term: tree.Term) -> tree.Term:
        if isinstance(term, tree.BranchTerm) and not term.terms and term.name in values:
            return _as_term(values[term.name], term.name, term.span)
        return map_term(term, change)

    if not values:
        return query
    return ParsedQuery(query.source, map_body(query.body, lambda atom: map_atom(atom, change), change))


def asked_names(query: ParsedQuery) -> dict[str, Span]:
    """Return the names after `$`, with their places; a branch without terms is one too."""
    nodes = (node for node in walk((query.body,)) if isinstance(node, tree.BranchTerm) and not node.terms)
    return {node.name: node.span for node in nodes}


def _as_term(value: object, name: str, span: Span, depth: int = 0) -> tree.Term:
    """Return a value as the term that stands for it."""
    if depth > MAX_DEPTH:
        message = f"the value of `${name}` is nested more than {MAX_DEPTH} levels deep"
        raise TidelogError([Diagnostic(code="nested-too-deeply", message=message, span=span)])

    def inside(values: Sequence[object]) -> tuple[tree.Term, ...]:
        return tuple(_as_term(each, name, span, depth + 1) for each in values)

    match value:
        case None:
            return tree.NilLiteral(span=span)
        case str():
            return tree.StringLiteral(str(value), span=span)
        case Integral() if not isinstance(value, bool):
            return _number(int(value), span)
        case Real() if not isinstance(value, bool):
            return tree.FloatLiteral(float(value), span=span)
        case tuple() | list():
            return tree.RecordTerm(inside(value), span=span)
        case Branch():
            return tree.BranchTerm(value.name, inside(value.fields), span=span)
    raise TidelogError([bad_argument(name, value, "a number, a text, a tuple, None or a Branch")])


def _number(number: int, span: Span) -> tree.Term:
    if number < 0:
        return tree.Application("neg", (tree.NumberLiteral(-number, span=span),), span=span)
    literal = tree.UnsignedLiteral if 1 << 63 <= number < 1 << 64 else tree.NumberLiteral
    return literal(number, span=span)


def _missing(name: str, span: Span) -> Diagnostic:
    return Diagnostic(
        code="missing-value",
        message=f"`${name}` has no value, and is not a branch of a type",
        span=span,
        hint=f"give it: db.query(..., {name}=...)",
    )
