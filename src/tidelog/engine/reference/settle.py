"""What a relation holds after an iteration: the laws that are not about single derivations."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.solve import Solver
from tidelog.program.nodes import Subsumption
from tidelog.values import Fact, Value
from tidelog.values.functors import order_key

Join = Callable[[Value, Value], Value]


def choose(
    old: AbstractSet[Fact], candidates: Iterable[Fact], domains: Sequence[tuple[int, ...]]
) -> AbstractSet[Fact]:
    """Return the old facts and those candidates that a choice-domain lets in.

    Candidates come in value order; one is left out if a fact already agrees with it on the
    columns of some domain.
    """
    facts = set(old)
    taken = {(domain, _project(fact, domain)) for fact in old for domain in domains}
    for fact in sorted(candidates, key=order_key):
        keys = {(domain, _project(fact, domain)) for domain in domains}
        if not keys & taken:
            facts.add(fact)
            taken |= keys
    return facts


def join_lattices(facts: Iterable[Fact], joins: Sequence[Join | None]) -> AbstractSet[Fact]:
    """Return the facts with those that agree on the plain columns joined into one.

    `joins` has the least upper bound of each lattice column and None for a plain one.
    """
    groups: dict[Fact, list[Fact]] = defaultdict(list)
    plain = [position for position, join in enumerate(joins) if join is None]
    for fact in sorted(facts, key=order_key):
        groups[_project(fact, plain)].append(fact)
    return {
        tuple(
            group[0][position] if join is None else reduce(join, (fact[position] for fact in group))
            for position, join in enumerate(joins)
        )
        for group in groups.values()
    }


def widen_lattices(
    old: Iterable[Fact], joined: AbstractSet[Fact], widens: Mapping[int, Join], plain: Sequence[int]
) -> AbstractSet[Fact]:
    """Return joined facts with the values that differ from those of the old facts widened.

    `widens` has the widening of each column that has one; `plain` are the columns that are no lattice.
    """
    before = {_project(fact, plain): fact for fact in old}

    def widened(fact: Fact) -> Fact:
        was = before.get(_project(fact, plain))
        if was is None or was == fact:
            return fact
        values = list(fact)
        for position, widen in widens.items():
            if was[position] != fact[position]:
                values[position] = widen(was[position], fact[position])
        return tuple(values)

    return {widened(fact) for fact in joined}


def narrow_lattices(
    old: Iterable[Fact], joined: Iterable[Fact], narrows: Mapping[int, Join], plain: Sequence[int]
) -> AbstractSet[Fact]:
    """Return the old facts with their values narrowed to what the rules make of them.

    `joined` are the facts that the rules derive from the old ones, joined; a column without a narrowing takes
    their value. A key that is not derived keeps its value.
    """
    after = {_project(fact, plain): fact for fact in joined}

    def narrowed(fact: Fact) -> Fact:
        now = after.get(_project(fact, plain))
        if now is None:
            return fact
        return tuple(
            narrows[position](fact[position], value) if position in narrows else value
            for position, value in enumerate(now)
        )

    return {narrowed(fact) for fact in old}


def close_equivalence(facts: Iterable[Fact]) -> AbstractSet[Fact]:
    """Return the smallest equivalence over the facts' own values that holds all of them."""
    classes: dict[Value, set[Value]] = {}
    for left, right in facts:
        united = classes.get(left, {left}) | classes.get(right, {right})
        for member in united:
            classes[member] = united
    return {(member, other) for member, united in classes.items() for other in united}


def dominated(facts: PythonFacts, subsumption: Subsumption, solver: Solver) -> AbstractSet[Fact]:
    """Return the facts for which another one is greater, judged by the present facts."""
    solver.terms.enter(subsumption.id)
    members = facts[subsumption.less.relation]
    return {
        fact
        for fact in members
        if any(_is_less(fact, other, subsumption, solver) for other in members if other != fact)
    }


def _is_less(fact: Fact, other: Fact, subsumption: Subsumption, solver: Solver) -> bool:
    first = solver.fit_fact(subsumption.less, fact, {})
    if first is None:
        return False
    second = solver.fit_fact(subsumption.greater, other, first[0])
    if second is None:
        return False
    body = subsumption.body + first[1] + second[1]
    return next(solver.bindings(body, second[0]), None) is not None


def _project(fact: Fact, positions: Iterable[int]) -> Fact:
    return tuple(fact[position] for position in positions)
