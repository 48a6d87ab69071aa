"""Constant patterns of `match` can be read."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import walk
from tidelog.values.patterns import PatternError, compile_pattern


def check_patterns(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each constant that `match` cannot use as a regular expression."""
    for rule in draft.typed:
        greater = () if rule.greater is None else (rule.greater,)
        for node in walk((rule.head, *greater, *rule.body)):
            if not isinstance(node, nodes.Constraint) or node.op not in ("match", "!match"):
                continue
            pattern = node.left
            if not isinstance(pattern, nodes.Constant) or not isinstance(pattern.value, str):
                continue
            try:
                compile_pattern(pattern.value)
            except PatternError as error:
                yield Diagnostic(
                    code="bad-pattern",
                    message=f"the pattern is not a regular expression of ECMAScript: {error}",
                    span=pattern.span,
                    hint="`match` takes the pattern first and then the text",
                )
