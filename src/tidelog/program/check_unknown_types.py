"""Every term has a type."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.type_environment import UNKNOWN
from tidelog.program.walk_nodes import walk
from tidelog.program.written_names import written_name


def check_unknown_types(rule: TypedRule) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each variable of which nothing says the type.

    Only for a rule in which nothing else is wrong: other mistakes leave types unknown too.

        p(1) :- x = y, y = x.
    """
    greater = () if rule.greater is None else (rule.greater,)
    reported: set[str] = set()
    for node in walk((rule.head, *greater, *rule.body)):
        if not isinstance(node, nodes.Term) or isinstance(node, nodes.Aggregate) or node.type != UNKNOWN:
            continue
        name = written_name(node.name) if isinstance(node, nodes.Variable) else "this term"
        if name not in reported:
            reported.add(name)
            yield Diagnostic(
                code="unknown-type",
                message=f"the type of `{name}` is not known",
                span=node.span,
                hint="name its type with `as(..., type)`",
            )
