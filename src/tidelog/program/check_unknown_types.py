"""Every term has a type."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.type_environment import UNKNOWN
from tidelog.program.walk_nodes import deep_literals, subterms, terms_of
from tidelog.program.written_names import written_name


def check_unknown_types(rule: TypedRule) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each variable of which nothing says the type.

    Only for a rule in which nothing else is wrong: other mistakes leave types unknown too.

        p(1) :- x = y, y = x.
    """
    greater = () if rule.greater is None else (rule.greater,)
    told: set[str] = set()
    for literal in deep_literals((rule.head, *greater, *rule.body)):
        for term in terms_of(literal):
            for part in subterms(term):
                if part.type != UNKNOWN or isinstance(part, nodes.Aggregate):
                    continue
                name = written_name(part.name) if isinstance(part, nodes.Variable) else "this term"
                if name not in told:
                    told.add(name)
                    yield Diagnostic(
                        code="unknown-type",
                        message=f"nothing says of which type `{name}` is",
                        span=part.span,
                        hint="name its type with `as(..., type)`",
                    )
