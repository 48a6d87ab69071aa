"""What `tidelog watch` prints: findings as lines of text, or one JSON object to a line."""

import json
import sys
import textwrap
from collections.abc import Sequence

from tidelog.analysis.follow import Finding, Follow, FollowStep
from tidelog.cli.guard import show
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.suggest import counted
from tidelog.views.fact_json import fact_json


@dataclass(frozen=True)
class WatchReport:
    """Prints what an analysis finds, and with a depth above 0 why."""

    follow: Follow
    why_depth: int
    is_json: bool
    is_quiet: bool

    def start(self, mistakes: tuple[Diagnostic, ...], title: str) -> list[Finding]:
        """Print and return all that is found."""
        show(self.follow.db.warnings)
        show(mistakes)
        findings = self.follow.findings()
        if self.is_json:
            self._object(title, () if self.is_quiet else findings, ())
            return findings
        _line(f"# {title}, {len(findings):,} found")
        if not self.is_quiet:
            self._lines("  ", findings)
        return findings

    def step(self, step: FollowStep, title: str) -> None:
        """Print what files changed."""
        show(step.mistakes)
        if self.is_json:
            self._object(title, step.inserted, step.deleted)
            return
        edits = counted(len(step.script), "edit")
        _line(f"# {title}, {edits}, {len(step.inserted):,} new, {len(step.deleted):,} gone")
        for finding in step.deleted:
            _line(f"- {finding}")
        self._lines("+ ", step.inserted)

    def _lines(self, sign: str, findings: Sequence[Finding]) -> None:
        for finding in findings:
            _line(f"{sign}{finding}")
            if self.why_depth:
                _line(textwrap.indent(self.follow.why(finding, self.why_depth), "    "))

    def _object(self, title: str, inserted: Sequence[Finding], deleted: Sequence[Finding]) -> None:
        why = self.why_depth
        new = [_as_dict(each) | ({"why": self.follow.why(each, why)} if why else {}) for each in inserted]
        found = {"title": title, "inserted": new, "deleted": [_as_dict(each) for each in deleted]}
        _line(json.dumps(found, ensure_ascii=False))


def _as_dict(finding: Finding) -> dict[str, object]:
    span = finding.span
    place = {} if span is None else {"file": span.source.name, "line": span.line, "column": span.column}
    return {"relation": finding.relation, "fact": fact_json(finding.fact), "text": finding.text, **place}


def _line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
