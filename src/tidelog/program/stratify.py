"""Strata: which relations are evaluated together, and in which order."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.strongly_connected import strongly_connected
from tidelog.program.walk_nodes import deep_atoms
from tidelog.source import Span

_ONE_WAY: Final = (
    "an aggregate over its own stratum must go one way: count, max, min, or sum of values that a constraint "
    "keeps from being negative; otherwise aggregate only relations that are complete before"
)


@dataclass(frozen=True, slots=True)
class Dependency:
    """A rule for `head` reads `read`; not positive if it is negated or inside an aggregate.

    It counts as negated directly in a negated conjunction as well.
    """

    head: str
    read: nodes.Atom
    is_positive: bool
    is_negated: bool


def dependencies(rules: Sequence[TypedRule]) -> Iterator[Dependency]:
    """Yield what every rule reads."""
    for rule in rules:
        heads = (rule.head,) if rule.greater is None else (rule.head, rule.greater)
        for literal in (*(term for head in heads for term in head.terms), *rule.body):
            negated = _negated_atoms(literal)
            for atom, is_positive in deep_atoms((literal,)):
                is_negated = any(atom is each for each in negated)
                yield Dependency(rule.head.relation, atom, is_positive, is_negated)


def _negated_atoms(literal: nodes.Literal | nodes.Term) -> tuple[nodes.Atom, ...]:
    match literal:
        case nodes.NegatedAtom():
            return (literal.atom,)
        case nodes.Constraint(right=nodes.Aggregate(negates=True, body=body)):
            return tuple(each for each in body if isinstance(each, nodes.Atom))
        case _:
            return ()


def dependency_graph(
    relations: Mapping[str, nodes.Relation], rules: Sequence[TypedRule]
) -> dict[str, list[str]]:
    """Return for each relation the relations its rules read, in a fixed order."""
    graph: dict[str, dict[str, None]] = {name: {} for name in relations}
    for dependency in dependencies(rules):
        if dependency.head in graph and dependency.read.relation in graph:
            graph[dependency.head][dependency.read.relation] = None
    return {name: list(read) for name, read in graph.items()}


def stratify(
    relations: Mapping[str, nodes.Relation], rules: Sequence[TypedRule]
) -> tuple[nodes.Stratum, ...]:
    """Return the strata in an order in which each needs only those before it.

    Every relation is in one stratum; a relation without rules is a stratum of its own.
    """
    graph = dependency_graph(relations, rules)
    position = {name: place for place, name in enumerate(relations)}
    parts = [sorted(part, key=position.__getitem__) for part in strongly_connected(graph)]
    stratum_of = {name: number for number, part in enumerate(parts) for name in part}
    kept: list[list[nodes.Rule]] = [[] for _ in parts]
    subsumptions: list[list[nodes.Subsumption]] = [[] for _ in parts]
    for number, rule in enumerate(rules):
        if rule.head.relation not in stratum_of:
            continue
        place = stratum_of[rule.head.relation]
        rule_id = nodes.RuleId(number)
        if rule.greater is not None:
            subsumptions[place].append(
                nodes.Subsumption(rule_id, rule.head, rule.greater, rule.body, span=rule.span)
            )
        else:
            plan = () if rule.plan is None else rule.plan.orders
            leaps = rule.plan is not None and rule.plan.is_leapfrog
            kept[place].append(nodes.Rule(rule_id, rule.head, rule.body, plan, leaps, span=rule.span))
    return tuple(
        nodes.Stratum(
            tuple(part),
            tuple(kept[number]),
            tuple(subsumptions[number]),
            is_recursive=len(part) > 1 or part[0] in graph[part[0]],
        )
        for number, part in enumerate(parts)
    )


def unstratifiable(
    relations: Mapping[str, nodes.Relation], rules: Sequence[TypedRule], allowed: frozenset[int] = frozenset()
) -> Iterator[Diagnostic]:
    """Yield a diagnostic, with the cycle, for each negated or aggregated atom in its head's stratum.

    Atoms whose `id` is in `allowed` stand in aggregates that may read their own stratum.

    win(x) :- move(x, y), !win(y).     // win -> !win
    """
    graph = dependency_graph(relations, rules)
    parts = strongly_connected(graph)
    stratum_of = {name: number for number, part in enumerate(parts) for name in part}
    reported: set[tuple[int, int, str]] = set()
    for dependency in dependencies(rules):
        head, read = dependency.head, dependency.read.relation
        if (
            dependency.is_positive
            or id(dependency.read) in allowed
            or head not in stratum_of
            or stratum_of[head] != stratum_of.get(read)
        ):
            continue
        span = dependency.read.span
        key = (span.start, span.end, head)
        if key in reported:
            continue
        reported.add(key)
        cycle = _path(graph, read, head)
        how, step = ("negation", f"!{read}") if dependency.is_negated else ("aggregate", f"{{{read}}}")
        steps = " -> ".join([head, step, *cycle[1:]])
        yield Diagnostic(
            code="unstratifiable",
            message=f"`{head}` depends on its own {how}: {steps}",
            span=span,
            hint=f"negate only relations that do not depend on `{head}`"
            if dependency.is_negated
            else _ONE_WAY,
            related=tuple(_rules_along(cycle, rules)),
        )


def _path(graph: Mapping[str, list[str]], start: str, goal: str) -> list[str]:
    """Return a shortest path of relations from `start` to `goal`, both included."""
    came_from: dict[str, str] = {start: start}
    waiting = [start]
    for name in waiting:
        if name == goal:
            break
        for successor in graph[name]:
            if successor not in came_from:
                came_from[successor] = name
                waiting.append(successor)
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]


def _rules_along(cycle: list[str], rules: Sequence[TypedRule]) -> Iterator[tuple[str, Span]]:
    for head, read in pairwise(cycle):
        for dependency in dependencies(rules):
            if dependency.head == head and dependency.read.relation == read:
                yield f"`{head}` depends on `{read}` here", dependency.read.span
                break
