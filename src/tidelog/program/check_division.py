"""No constant divides by zero."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import walk
from tidelog.values import Kind


def check_division(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each `x / 0` and `x % 0` of integers: such a term never has a value."""
    for rule in draft.typed:
        greater = () if rule.greater is None else (rule.greater,)
        for node in walk((rule.head, *greater, *rule.body)):
            if not isinstance(node, nodes.Application) or node.functor not in ("/", "%"):
                continue
            divisor = node.terms[-1]
            if node.kind is not Kind.FLOAT and isinstance(divisor, nodes.Constant) and divisor.value == 0:
                yield Diagnostic(
                    code="division-by-zero",
                    message="this divides by zero, so it never has a value",
                    span=node.span,
                    hint="divide by another number; of a variable divisor that is 0, nothing is derived",
                )
