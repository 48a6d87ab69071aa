"""`autoinc()` stands only in rules that are applied once."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import deep_atoms, deep_literals, subterms, terms_of


def check_counters(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each `autoinc()` in a rule that reads its own stratum.

    Such a rule would find new facts for ever.
    """
    for stratum in draft.strata:
        if not stratum.is_recursive:
            continue
        for rule in stratum.rules:
            if any(atom.relation in stratum.relations for atom, _ in deep_atoms(rule.body)):
                for counter in _counters(rule):
                    yield Diagnostic(
                        code="recursive-autoinc",
                        message=f"`autoinc()` in a rule by which `{rule.head.relation}` depends on itself",
                        span=counter.span,
                        hint="number the facts of another relation, in a rule that is not recursive",
                    )


def _counters(rule: nodes.Rule) -> Iterator[nodes.Counter]:
    for literal in deep_literals((rule.head, *rule.body)):
        for term in terms_of(literal):
            for part in subterms(term):
                if isinstance(part, nodes.Counter):
                    yield part
