"""Words of messages: what the user may have meant, and how many there are."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tidelog.errors import Diagnostic
from tidelog.errors.arguments import written
from tidelog.source import Span

if TYPE_CHECKING:
    from tidelog.program.nodes import Relation


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint that names the known name closest to `name`, or `otherwise` if none is close.

    did_you_mean("edgr", ["edge", "path"], "declare it")  # "did you mean `edge`?"
    """
    close = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else otherwise


def undeclared_relation(
    name: object, known: Iterable[str], span: Span | None = None, *, is_asked: bool = False
) -> Diagnostic:
    """Return the diagnostic for a relation that nobody declares.

    Whoever asks about one is told which there are; others can declare it.
    """
    text, names = written(name), list(known)
    listed = ", ".join(each for each in names if not each.startswith("_")) or "none"
    instance, dot, _ = text.rpartition(".")
    if is_asked:
        otherwise = f"there are {listed}"
    elif dot and not any(each.startswith(f"{instance}.") for each in names):
        otherwise = f"make an instance of the component that declares it: `.init {instance} = Component`"
    elif dot:
        otherwise = f"declare it in the component of `{instance}`"
    else:
        otherwise = f"declare it: `.decl {text}(...)`"
    return Diagnostic(
        code="undeclared-relation",
        message=f"there is no relation `{text}`",
        span=span,
        hint=did_you_mean(text, names, otherwise),
    )


def wrong_arity(relation: "Relation", found: int, span: Span | None = None) -> Diagnostic:
    """Return the diagnostic for an atom or a fact that has too many or too few terms."""
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    return Diagnostic(
        code="wrong-arity",
        message=f"`{relation.name}` has {counted(relation.arity, 'column')}, not {found}",
        span=span,
        hint=f"it is declared as `{relation.name}({columns})`",
        related=() if relation.span is None else (("declared here", relation.span),),
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `counted(1, "column")` is `1 column`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
