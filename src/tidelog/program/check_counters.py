"""`autoinc()` counts the derivations of rules that are applied once."""

from collections.abc import Iterable, Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import Node, children, relations_read, walk


def check_counters(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each `autoinc()` that has no derivation of a rule to count.

    A rule that reads its own stratum would find new facts for ever; what an aggregate goes through, and
    what decides which fact subsumes another, are not derivations of the rule.
    """
    for stratum in draft.strata:
        for node in walk(stratum.rules, into_aggregates=False):
            if isinstance(node, nodes.Aggregate):
                yield from (_misplaced("an aggregate", each) for each in _counters(children(node)))
        yield from (_misplaced("a subsumption", each) for each in _counters(stratum.subsumptions))
        for rule in stratum.rules:
            if not relations_read((*rule.head.terms, *rule.body)).isdisjoint(stratum.relations):
                yield from (_recursive(rule, each) for each in _counters((rule,)))


def _counters(roots: Iterable[Node]) -> Iterator[nodes.Counter]:
    return (node for node in walk(roots) if isinstance(node, nodes.Counter))


def _recursive(rule: nodes.Rule, counter: nodes.Counter) -> Diagnostic:
    return Diagnostic(
        code="recursive-autoinc",
        message=f"`autoinc()` in a rule by which `{rule.head.relation}` depends on itself",
        span=counter.span,
        hint="number the facts of another relation, in a rule that is not recursive",
    )


def _misplaced(where: str, counter: nodes.Counter) -> Diagnostic:
    return Diagnostic(
        code="misplaced-autoinc",
        message=f"`autoinc()` inside {where}: it counts derivations of a rule",
        span=counter.span,
        hint="number facts in a rule of their own, and read the relation that it derives",
    )
