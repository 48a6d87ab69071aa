"""Which aggregates are over a range of one column, so that a scan tree can answer them."""

from typing import Final, NamedTuple

from tidelog.plan.operators import RangeScan
from tidelog.program.nodes import (
    Aggregate,
    Application,
    Atom,
    Constant,
    Constraint,
    Literal,
    Term,
    Variable,
    Wildcard,
)
from tidelog.program.walk_nodes import variables_of
from tidelog.values import Kind

# Each comparison with its sides exchanged.
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGE_KINDS: Final = (Kind.NUMBER, Kind.UNSIGNED)


class _Bound(NamedTuple):
    """A comparison with a column on its left side."""

    column: int
    kind: Kind
    op: str
    term: Term


def range_scan(aggregate: Aggregate) -> RangeScan | None:
    """Return a flat aggregate as one over a range, or None if it is another.

    Its body is an atom with comparisons of one column, a number or unsigned, with terms over outer variables:

        s = sum v : { reading(k, t, v), lo <= t, t < hi }

    At least one bound has a variable. Sums are of integers, extremes of numeric values.
    """
    atoms = [literal for literal in aggregate.body if isinstance(literal, Atom)]
    if len(atoms) != 1 or aggregate.negates or not _is_summarised(aggregate):
        return None
    columns = _columns(atoms[0], aggregate)
    if columns is None:
        return None
    bounds = [_bound(x, columns) for x in aggregate.body if not isinstance(x, Atom)]
    found = [bound for bound in bounds if bound is not None]
    ranged = {(bound.column, bound.kind) for bound in found}
    if len(found) < len(bounds) or len(ranged) != 1 or not any(variables_of(x.term) for x in found):
        return None
    value = None
    if aggregate.target is not None:
        if not isinstance(aggregate.target, Variable) or aggregate.target.name not in columns:
            return None
        value = columns[aggregate.target.name]
    atom, outer = atoms[0], variables_of(aggregate)
    key = [n for n, term in enumerate(atom.terms) if _is_key(term, outer)]
    return RangeScan(
        atom.relation,
        tuple(key),
        tuple(atom.terms[column] for column in key),
        found[0].column,
        found[0].kind,
        tuple((bound.op, bound.term) for bound in found),
        value,
    )


def _is_summarised(aggregate: Aggregate) -> bool:
    """Say whether a scan tree has the values of the aggregate."""
    if aggregate.functor == "sum":
        return aggregate.kind in _RANGE_KINDS
    return aggregate.functor == "count" or (aggregate.functor in ("min", "max") and aggregate.kind.is_numeric)


def _is_key(term: Term, outer: frozenset[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in outer)


def _columns(atom: Atom, aggregate: Aggregate) -> dict[str, int] | None:
    """Return the columns of the aggregate's own variables, or None if one of them is in two columns."""
    outer = variables_of(aggregate)
    columns: dict[str, int] = {}
    for column, term in enumerate(atom.terms):
        if isinstance(term, Wildcard) or _is_key(term, outer):
            continue
        if not isinstance(term, Variable) or term.name in columns:
            return None
        columns[term.name] = column
    return columns


def _bound(literal: Literal, columns: dict[str, int]) -> _Bound | None:
    """Return a comparison of a column with a term, or None for other literals."""
    if not isinstance(literal, Constraint) or literal.op not in _FLIPPED or literal.kind not in _RANGE_KINDS:
        return None
    sides = ((literal.left, literal.op, literal.right), (literal.right, _FLIPPED[literal.op], literal.left))
    for column, op, term in sides:
        if isinstance(column, Variable) and column.name in columns and _is_outer(term, columns):
            return _Bound(columns[column.name], literal.kind, op, term)
    return None


def _is_outer(term: Term, columns: dict[str, int]) -> bool:
    """Say whether a term is arithmetic over constants and variables that the atom does not bind."""
    match term:
        case Constant():
            return True
        case Variable():
            return term.name not in columns
        case Application():
            return term.kind in _RANGE_KINDS and all(_is_outer(part, columns) for part in term.terms)
        case _:
            return False
