"""Aggregates over the same body at several levels of grouping, each kept on top of the next finer one.

    sum w : { sale(shop, item, w) }     by shop and item
    sum w : { sale(shop, _i, w) }       by shop: the sum of the sums by shop and item

A coarse group then has one entry for each finer group instead of one for each derivation, and a change
reaches it only if the finer group's value changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.program.binding import bound_variables
from tidelog.program.nodes import Aggregate, Literal, Term, Variable
from tidelog.program.walk_nodes import deep_variables, map_literal, map_parts, variables_of
from tidelog.values import Kind

# The functor that combines the values of finer groups.
_TOGETHER = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}


@dataclass(frozen=True, slots=True)
class Level:
    """An aggregate and the places of its variables: the first one in its body is number 0."""

    aggregate: Aggregate
    places: Mapping[str, int]

    @property
    def outer(self) -> frozenset[int]:
        """Return the places of the variables that group it."""
        return frozenset(self.places[name] for name in self.aggregate.outer)

    @property
    def functor(self) -> str:
        """Return the functor that combines the values of finer groups."""
        return _TOGETHER[self.aggregate.functor]


@dataclass
class Levels:
    """All aggregates of a program that may share a structure, by what they have in common."""

    _by_shape: dict[object, list[Level]] = field(default_factory=dict)

    def add(self, aggregates: Iterable[Aggregate]) -> None:
        """Learn about aggregates with flat bodies."""
        for aggregate in aggregates:
            shape = _shape(aggregate)
            if shape is not None:
                self._by_shape.setdefault(shape[0], []).append(shape[1])

    def finer(self, aggregate: Aggregate) -> tuple[Level, Level] | None:
        """Return an aggregate as a level, with the next finer one, or None if there is no finer one."""
        shape = _shape(aggregate)
        if shape is None:
            return None
        own = shape[1]
        finer = [other for other in self._by_shape.get(shape[0], ()) if own.outer < other.outer]
        if not finer:
            return None
        return own, min(finer, key=lambda level: (len(level.outer), sorted(level.outer)))


def _shape(aggregate: Aggregate) -> tuple[object, Level] | None:
    """Return what aggregates of several levels have in common, or None if one cannot be built on another."""
    is_exact = aggregate.functor != "sum" or aggregate.kind is not Kind.FLOAT
    if aggregate.functor not in _TOGETHER or not is_exact or not aggregate.body:
        return None
    if not variables_of(aggregate) <= bound_variables(aggregate.body):
        return None
    places: dict[str, int] = {}
    for variable in deep_variables(aggregate.body):
        places.setdefault(variable.name, len(places))

    def change(term: Term) -> Term:
        if isinstance(term, Variable):
            return replace(term, name=f"%{places[term.name]}")
        if isinstance(term, Aggregate):
            # Names inside another aggregate are not followed: such bodies are equal only as written.
            return term
        return map_parts(term, change)

    body: tuple[Literal, ...] = tuple(map_literal(literal, change) for literal in aggregate.body)
    target = None if aggregate.target is None else change(aggregate.target)
    shape = (aggregate.functor, aggregate.kind, aggregate.type, target, body)
    return repr(shape), Level(aggregate, places)
