"""Relations that are read have facts from somewhere."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic, Severity
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.walk_nodes import relations_read
from tidelog.syntax import tree


def check_sources(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a warning for each relation that is read although no rule, fact or input fills it."""
    derived = {head.relation for item in draft.items if isinstance(item, tree.Rule) for head in item.heads}
    derived.update(rule.head.relation for rule in draft.typed)
    read = {
        name
        for rule in draft.typed
        for name in relations_read((*rule.head.terms, *rule.body, *_greater(rule)))
    }
    filled = {directive.relation for directive in draft.declarations.directives if directive.kind == "input"}
    shown = {directive.relation for directive in draft.declarations.directives} - filled
    for relation in draft.declarations.relations.values():
        if relation.name in derived or relation.name in filled:
            continue
        if relation.name in read or relation.name in shown:
            yield Diagnostic(
                code="no-source",
                message=f"`{relation.name}` has no rule, no fact and no input, so it is empty",
                span=relation.span,
                hint=f"add `.input {relation.name}`, a fact or a rule, or pass its facts from Python",
                severity=Severity.WARNING,
            )


def _greater(rule: TypedRule) -> tuple[nodes.Atom, ...]:
    return () if rule.greater is None else (rule.greater,)
