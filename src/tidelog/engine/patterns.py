"""Constraints over values; a pattern from facts that `match` cannot use is noted once."""

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.errors import Diagnostic, Severity
from tidelog.program.nodes import Constraint
from tidelog.source import Span
from tidelog.values import BadPatternError, Codec, Value
from tidelog.values.functors import compare

# As many patterns are shown; the others are counted.
_SHOWN: Final = 20
_CODE: Final = "pattern-in-facts"


def holds(constraint: Constraint, values: Sequence[Value], codec: Codec) -> bool:
    """Say whether a constraint holds between two values, or raise `NoValueError`.

    A text that is not a pattern matches nothing, negated or not, and the codec notes it.
    """
    try:
        return compare(constraint.op, constraint.kind, *values)
    except BadPatternError as error:
        key = (_CODE, error.pattern)
        if key not in codec.warnings:
            codec.warnings[key] = _warning(error, constraint.left.span)
        raise


def run_warnings(warnings: Mapping[tuple[str, str], Diagnostic]) -> list[Diagnostic]:
    """Return the warnings of a codec in a fixed order; beyond twenty those about patterns are counted."""
    ordered = [warnings[key] for key in sorted(warnings)]
    found = [each for each in ordered if each.code == _CODE]
    others = [each for each in ordered if each.code != _CODE]
    if len(found) <= _SHOWN:
        return [*found, *others]
    message = f"{len(found) - _SHOWN:,} more patterns in facts cannot be used"
    rest = Diagnostic("pattern-in-facts", message, severity=Severity.WARNING)
    return [*found[:_SHOWN], rest, *others]


def _warning(error: BadPatternError, span: Span | None) -> Diagnostic:
    pattern = error.pattern if len(error.pattern) <= 60 else error.pattern[:57] + "..."
    return Diagnostic(
        code="pattern-in-facts",
        message=f"the facts have the pattern {pattern!r}, which matches nothing: {error.reason}",
        span=span,
        hint="correct the fact; patterns are regular expressions of ECMAScript",
        severity=Severity.WARNING,
    )
