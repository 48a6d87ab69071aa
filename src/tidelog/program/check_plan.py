"""Orders of `.plan` name the atoms of their rule."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.syntax import tree


def check_plan(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each order that is not a permutation of the rule's positive atoms."""
    for rule in draft.flat:
        if rule.plan is None:
            continue
        atoms = sum(isinstance(literal, tree.Atom) for literal in rule.body)
        seen: set[int] = set()
        for number, order in rule.plan.orders:
            if sorted(order) != list(range(1, atoms + 1)):
                message = (
                    f"the order ({', '.join(map(str, order))}) does not name each of the {atoms} atoms once"
                )
                hint = "atoms are numbered from 1; negated atoms and constraints do not count"
            elif number in seen:
                message = f"delta rule {number} has two orders"
                hint = "delete one of them"
            elif number >= max(atoms, 1):
                message = f"there is no delta rule {number}: the rule has {atoms} atoms"
                hint = "delta rules are numbered from 0"
            else:
                seen.add(number)
                continue
            yield Diagnostic(code="bad-plan", message=message, span=rule.plan.span, hint=hint)
