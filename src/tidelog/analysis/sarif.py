"""Findings as SARIF 2.1.0, the form in which editors and continuous integration take them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from tidelog.analysis.follow import Finding
from tidelog.errors import Diagnostic
from tidelog.io.staging import Staging, unwritable
from tidelog.source import Span
from tidelog.version import own_version

if TYPE_CHECKING:
    from tidelog.analysis.review import Review, ReviewedFinding
    from tidelog.trees.hunks import Hunk

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[Finding], mistakes: Iterable[Diagnostic] = ()) -> dict[str, object]:
    """Return a SARIF log with a result for each finding; the relations are its rules.

    Mistakes in files are notifications of the run.
    """
    found = list(findings)
    rules = sorted({finding.relation for finding in found})
    return _log(rules, [_result(finding, rules) for finding in found], mistakes)


def review_sarif(review: "Review") -> dict[str, object]:
    """Return a SARIF log of a review: results are `new` or `absent`, with the hunks as related locations."""
    found = (*review.new, *review.fixed)
    rules = sorted({each.finding.relation for each in found})
    results = [
        _result(each.finding, rules)
        | {
            "baselineState": "new" if each.is_new else "absent",
            "message": _message(each),
            "relatedLocations": [
                {
                    "id": number,
                    "message": {"text": "changed here"},
                    "physicalLocation": _hunk(hunk, each.is_new),
                }
                for number, hunk in enumerate(each.hunks)
            ],
        }
        for each in found
    ]
    return _log(rules, results, review.mistakes)


def _message(each: "ReviewedFinding") -> dict[str, object]:
    return {"text": f"{each.finding.text}\n{each.why}" if each.why else each.finding.text}


def _hunk(hunk: "Hunk", is_new: bool) -> dict[str, object]:  # noqa: FBT001 - which of the two texts
    lines = hunk.new if is_new else hunk.old
    start = max(lines.start, 1)
    return {
        "artifactLocation": {"uri": quote(hunk.path, errors="surrogateescape")},
        "region": {"startLine": start, "endLine": max(start, lines.stop - 1)},
    }


def _result(finding: Finding, rules: list[str]) -> dict[str, object]:
    return {
        "ruleId": finding.relation,
        "ruleIndex": rules.index(finding.relation),
        "level": "warning",
        "message": {"text": finding.text},
        "locations": [] if finding.span is None else [{"physicalLocation": _location(finding.span)}],
    }


def _log(
    rules: list[str], results: list[dict[str, object]], mistakes: Iterable[Diagnostic]
) -> dict[str, object]:
    notes = [
        {
            "level": "error",
            "message": {"text": mistake.message},
            "locations": [] if mistake.span is None else [{"physicalLocation": _location(mistake.span)}],
        }
        for mistake in mistakes
    ]
    driver = {
        "name": "Tidelog",
        "version": own_version(),
        "rules": [{"id": rule, "shortDescription": {"text": rule}} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def write_sarif(path: Path, findings: Iterable[Finding], mistakes: Iterable[Diagnostic] = ()) -> None:
    """Replace the file by a SARIF log atomically, so that readers see either the old or the new one."""
    text = json.dumps(sarif(findings, mistakes), indent=1, ensure_ascii=False)
    with Staging() as staging:
        staged = staging.path_for(path)
        try:
            staged.write_bytes(text.encode("utf-8", errors="replace"))
        except OSError as cause:
            raise unwritable(path, cause) from cause


def _location(span: Span) -> dict[str, object]:
    source = span.source
    end_line = source.line_of(span.end)
    return {
        "artifactLocation": {"uri": quote(source.name, errors="surrogateescape")},
        "region": {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": end_line,
            "endColumn": span.end - source.line_starts[end_line - 1] + 1,
        },
    }
