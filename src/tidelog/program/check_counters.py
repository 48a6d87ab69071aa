"""`autoinc()` stands only in rules that are applied once."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import relations_read, walk


def check_counters(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each `autoinc()` in a rule that reads its own stratum.

    Such a rule would find new facts for ever.
    """
    for stratum in draft.strata:
        if not stratum.is_recursive:
            continue
        for rule in stratum.rules:
            if not relations_read((*rule.head.terms, *rule.body)).isdisjoint(stratum.relations):
                for counter in _counters(rule):
                    yield Diagnostic(
                        code="recursive-autoinc",
                        message=f"`autoinc()` in a rule by which `{rule.head.relation}` depends on itself",
                        span=counter.span,
                        hint="number the facts of another relation, in a rule that is not recursive",
                    )


def _counters(rule: nodes.Rule) -> Iterator[nodes.Counter]:
    for node in walk((rule,)):
        if isinstance(node, nodes.Counter):
            yield node
