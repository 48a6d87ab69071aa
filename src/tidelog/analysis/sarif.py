"""Findings as SARIF 2.1.0, the form in which editors and continuous integration take them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tidelog.analysis.follow import Finding
from tidelog.errors import Diagnostic
from tidelog.io.staging import Staging, unwritable
from tidelog.source import Span
from tidelog.version import own_version

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[Finding], mistakes: Iterable[Diagnostic] = ()) -> dict[str, object]:
    """Return a SARIF log with a result for each finding; the relations are its rules.

    Mistakes in files are notifications of the run.
    """
    found = list(findings)
    rules = sorted({finding.relation for finding in found})
    results = [
        {
            "ruleId": finding.relation,
            "ruleIndex": rules.index(finding.relation),
            "level": "warning",
            "message": {"text": finding.text},
            "locations": [] if finding.span is None else [{"physicalLocation": _location(finding.span)}],
        }
        for finding in found
    ]
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
