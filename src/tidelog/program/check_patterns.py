"""Constant patterns of `match` can be read."""

import re
import warnings
from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.walk_nodes import deep_literals


def check_patterns(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each constant that `match` cannot use as a regular expression."""
    for rule in draft.typed:
        for literal in deep_literals((rule.head, *rule.body)):
            if not isinstance(literal, nodes.Constraint) or literal.op not in ("match", "!match"):
                continue
            pattern = literal.left
            if not isinstance(pattern, nodes.Constant) or not isinstance(pattern.value, str):
                continue
            reason = _fault(pattern.value)
            if reason is not None:
                yield Diagnostic(
                    code="bad-pattern",
                    message=f"the pattern is no regular expression: {reason}",
                    span=pattern.span,
                    hint="`match` takes the pattern first and then the text",
                )


def _fault(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings():
            # Python warns of sets it may read differently one day; they are no mistake today.
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return None
