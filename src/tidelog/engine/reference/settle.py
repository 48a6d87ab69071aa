"""What a relation holds after an iteration: the laws that are not about single derivations."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
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
