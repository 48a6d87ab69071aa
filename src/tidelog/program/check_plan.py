"""Orders of `.plan` name the atoms of their rule."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic, Severity
from tidelog.program.draft import Draft
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.suggest import counted
from tidelog.source import Span
from tidelog.syntax import tree


def check_plan(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each order that is not a permutation of the rule's positive atoms.

    An order for a delta rule that the rule does not have is a warning: Soufflé ignores it.
    """
    for rule in draft.flat:
        if rule.plan is None:
            continue
        counts, span = _atom_counts(rule), rule.plan.span
        atoms = counted(counts[-1], "atom")
        seen: set[int] = set()
        for number, order in rule.plan.orders:
            if len(order) not in counts or sorted(order) != list(range(1, len(order) + 1)):
                listed = ", ".join(map(str, order))
                message = f"the order ({listed}) does not name each of the {atoms} once"
                hint = "atoms are numbered from 1; negated atoms and constraints do not count"
                yield Diagnostic("bad-plan", message, span, hint)
            elif number in seen:
                yield Diagnostic("bad-plan", f"delta rule {number} has two orders", span, "delete one")
            elif number >= max(counts[-1], 1):
                yield _without_effect(f"there is no delta rule {number}: the rule has {atoms}", span)
            seen.add(number)


def _atom_counts(rule: ConjunctiveRule) -> tuple[int, ...]:
    """Return how many atoms an order may name: Soufflé counts the heads of a subsumption, then its body."""
    atoms = sum(isinstance(literal, tree.Atom) for literal in rule.body)
    return (atoms,) if rule.greater is None else (atoms, atoms + 2)


def _without_effect(message: str, span: Span) -> Diagnostic:
    return Diagnostic(
        code="plan-without-effect",
        message=message,
        span=span,
        hint="delta rules are numbered from 0",
        severity=Severity.WARNING,
    )
