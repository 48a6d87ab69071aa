"""Parameters of directives are known, and have an effect."""

from collections.abc import Iterator
from typing import Final

from tidelog.errors import Diagnostic, Severity
from tidelog.program.draft import Draft
from tidelog.program.nodes import Directive
from tidelog.program.suggest import did_you_mean

_EITHER: Final = frozenset(
    {"IO", "filename", "name", "delimiter", "headers", "rfc4180", "compress", "format", "dbname"}
)
_KNOWN: Final = {
    "input": _EITHER | {"fact-dir", "columns"},
    "output": _EITHER | {"output-dir", "floats"},
    "printsize": frozenset({"IO"}),
}
_STANDARD_STREAMS: Final = frozenset({"stdin", "stdout", "json"})


def check_directives(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a warning for each parameter that is unknown, or that the kind of IO does not use.

    Soufflé accepts any parameter, so a misspelt `delimeter=","` shows only in the facts.
    """
    for directive in draft.declarations.directives:
        known = _KNOWN[directive.kind]
        for name in directive.parameters:
            if name not in known:
                names = ", ".join(sorted(known))
                yield _without_effect(directive, name, did_you_mean(name, known, f"use one of {names}"))
        word = directive.parameters.get("IO", "file")
        if word in _STANDARD_STREAMS and "filename" in directive.parameters:
            kind = "jsonfile" if word == "json" else "file"
            yield _without_effect(directive, "filename", f"`IO={word}` has no file; use `IO={kind}`")
    yield from _second_reader(draft)


def _second_reader(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a warning for each directive but the first that reads standard input."""
    readers = [
        each
        for each in draft.declarations.directives
        if each.kind == "input" and each.parameters.get("IO") in _STANDARD_STREAMS
    ]
    for directive in readers[1:]:
        first, second = readers[0].relation, directive.relation
        yield Diagnostic(
            code="standard-input-twice",
            message=f"`{first}` reads standard input to its end, so that nothing is left for `{second}`",
            span=directive.span,
            hint="read one of them from a file",
            severity=Severity.WARNING,
        )


def _without_effect(directive: Directive, name: str, hint: str) -> Diagnostic:
    return Diagnostic(
        code="parameter-without-effect",
        message=f"`{name}` has no effect on this .{directive.kind}",
        span=directive.span,
        hint=hint,
        severity=Severity.WARNING,
    )
