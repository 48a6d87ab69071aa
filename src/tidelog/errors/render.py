"""A diagnostic as the text people read."""

from tidelog.errors.diagnostic import Diagnostic
from tidelog.source import Span


def render(diagnostic: Diagnostic) -> str:
    """Return the diagnostic with its source line, underlined, and its hint:

    path.dl:2:9: error[unbound-variable]: `z` is in the head but no positive atom binds it
      2 | path(x, z) :- edge(x, y), !edge(y, z).
        |         ^
      hint: add a positive atom over `z` to the body
    """
    title = f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"
    lines: list[str] = []
    if diagnostic.span is None:
        lines.append(title)
    else:
        span = diagnostic.span
        line = span.line + diagnostic.line_offset
        lines.append(f"{span.source.name}:{line}:{span.column}: {title}")
        lines.extend(_underlined(span, line))
    for words, span in diagnostic.related:
        lines.append(f"  {span}: {words}")
        lines.extend(_underlined(span, span.line))
    if diagnostic.hint is not None:
        lines.append(f"  hint: {diagnostic.hint}")
    return "\n".join(lines)


def _underlined(span: Span, line: int) -> list[str]:
    text = span.source.line_text(span.line)
    before = text[: span.column - 1]
    # Tabs stay tabs, so that the carets stand under the text whatever the tab width is.
    indent = "".join("\t" if char == "\t" else " " for char in before)
    length = max(1, min(span.end - span.start, len(text) - len(before)))
    gutter = str(line)
    return [f"  {gutter} | {text}", f"  {' ' * len(gutter)} | {indent}{'^' * length}"]
