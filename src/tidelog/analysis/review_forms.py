"""Reviews as text, as JSON, and as Markdown for a comment."""

import textwrap
from collections.abc import Iterator

from tidelog.analysis.review import Review, ReviewedFinding
from tidelog.errors.plain import plain_diagnostics
from tidelog.program.suggest import counted
from tidelog.trees.hunks import Hunk
from tidelog.views.fact_json import fact_json


def review_text(review: Review) -> str:
    """Return a review for a terminal."""
    return "\n".join(_text_lines(review)) + "\n"


def _text_lines(review: Review) -> Iterator[str]:
    new, fixed = len(review.new), len(review.fixed)
    yield f"# {review.base[:10]}..{review.head[:10]} {review.subject}: {new:,} new, {fixed:,} fixed"
    for sign, findings in (("+", review.new), ("-", review.fixed)):
        for each in findings:
            yield f"{sign} {each.finding}"
            if each.hunks:
                yield f"    changed in {', '.join(map(str, each.hunks))}"
            if each.why:
                yield textwrap.indent(each.why, "    ")


def review_markdown(review: Review) -> str:
    """Return a review as a comment for a pull request."""
    return "\n".join(_markdown_lines(review)) + "\n"


def _markdown_lines(review: Review) -> Iterator[str]:
    title = f"{counted(len(review.new), 'new finding')}, {len(review.fixed):,} fixed"
    yield f"### Tidelog: {title}"
    yield ""
    yield f"`{review.base[:10]}` → `{review.head[:10]}`"
    for heading, findings in (("New", review.new), ("Fixed", review.fixed)):
        if findings:
            yield from ("", f"#### {heading}", "")
        for each in findings:
            yield from _markdown_of(each)
    if review.mistakes:
        yield from ("", "#### Not read", "")
        for mistake in review.mistakes:
            yield f"* `{mistake.span}`: {mistake.message}"


def _markdown_of(each: ReviewedFinding) -> Iterator[str]:
    place = "" if each.finding.span is None else f"`{each.finding.span}`: "
    yield f"* {place}{_code(each.finding.text)}"
    if each.hunks:
        yield f"  <br>changed in {', '.join(f'`{hunk}`' for hunk in each.hunks)}"
    details = [hunk.text for hunk in each.hunks if hunk.text]
    if not details and not each.why:
        return
    yield from ("", "  <details><summary>why</summary>", "")
    if details:
        yield from _fenced("diff", "\n".join(details))
    if each.why:
        yield from _fenced("text", each.why)
    yield from ("  </details>", "")


def _fenced(language: str, text: str) -> Iterator[str]:
    """Yield a block; its fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"  {fence}{language}"
    yield textwrap.indent(text, "  ", lambda _: True)
    yield f"  {fence}"
    yield ""


def _code(text: str) -> str:
    """Return text as code, in more backquotes than are in it."""
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def review_json(review: Review) -> dict[str, object]:
    """Return a review as a JSON object."""
    return {
        "base": review.base,
        "head": review.head,
        "subject": review.subject,
        "new": [_json_of(each) for each in review.new],
        "fixed": [_json_of(each) for each in review.fixed],
        "mistakes": plain_diagnostics(review.mistakes),
    }


def _json_of(each: ReviewedFinding) -> dict[str, object]:
    finding, span = each.finding, each.finding.span
    place = {} if span is None else {"file": span.source.name, "line": span.line, "column": span.column}
    return {
        "relation": finding.relation,
        "fact": fact_json(finding.fact),
        "text": finding.text,
        **place,
        "hunks": [_hunk_json(hunk) for hunk in each.hunks],
        "why": each.why,
    }


def _hunk_json(hunk: Hunk) -> dict[str, object]:
    return {
        "file": hunk.path,
        "old": [hunk.old.start, len(hunk.old)],
        "new": [hunk.new.start, len(hunk.new)],
        "text": hunk.text,
    }
