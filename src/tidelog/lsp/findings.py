"""Findings as the protocol's diagnostics, at their places in the texts that the client has."""

from collections.abc import Iterator
from typing import Final

from lsprotocol import types

from tidelog.analysis.fixes import Fix, find_fixes
from tidelog.analysis.follow import Finding
from tidelog.analysis.follow_why import WhyStep, why_steps, written_steps
from tidelog.errors import Diagnostic
from tidelog.lsp.diagnostics import SOURCE, span_range
from tidelog.lsp.documentation import comment_above
from tidelog.lsp.live import LiveAnalysis
from tidelog.lsp.positions import Positions
from tidelog.lsp.texts import Texts
from tidelog.source import Span

_SEVERITIES: Final = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}


class Findings:
    """What an analysis finds, as the client shows it."""

    def __init__(self, analysis: LiveAnalysis, texts: Texts) -> None:
        self.analysis = analysis
        self._texts = texts
        self._positions: dict[str, Positions] = {}
        self._shown = _Shown()
        self._docs: dict[str, str] = {}
        # Findings whose proof was asked for, with the lines of it.
        self._explained: dict[tuple[str, object], tuple[WhyStep, ...]] = {}

    def diagnostics(self, name: str) -> list[types.Diagnostic]:
        """Return the findings in a file, and what is wrong with its text."""
        self._shown = _Shown()
        found = [self._diagnostic(each, name) for each in self.analysis.findings(name)]
        positions = self._positions_of(name)
        return [*(_mistake(each, positions) for each in self.analysis.broken.get(name, ())), *found]

    def at(self, name: str, place: types.Range) -> list[tuple[Finding, types.Diagnostic]]:
        """Return the findings that touch a range of a file."""
        self._shown = _Shown()
        found = ((each, self._diagnostic(each, name)) for each in self.analysis.findings(name))
        return [(each, shown) for each, shown in found if _do_touch(shown.range, place)]

    def fixes(self, finding: Finding) -> list[tuple[Fix, types.WorkspaceEdit]]:
        """Return the fixes of a finding; none where a text has changed since it was read as a tree."""
        self._shown = _Shown()
        made = []
        for fix in find_fixes(self.analysis.follow, finding):
            names = {edit.span.source.name for edit in fix.edits}
            if names.isdisjoint(self.analysis.broken):
                changes: dict[str, list[types.TextEdit]] = {}
                for edit in fix.edits:
                    location = self._location(edit.span)
                    changes.setdefault(location.uri, []).append(types.TextEdit(location.range, edit.text))
                made.append((fix, types.WorkspaceEdit(changes=changes)))
        return made

    def explain(self, finding: Finding) -> str:
        """Return why something is found, as Markdown; its diagnostic has the lines from now on."""
        steps = tuple(why_steps(self.analysis.follow, finding, self.analysis.settings.why_depth))
        self._explained = {(finding.relation, finding.fact): steps}
        proof = "\n".join(written_steps(steps))
        place = "" if finding.span is None else f"`{finding.span}`"
        parts = (f"# {finding.relation}", place, self._doc(finding.relation), f"```text\n{proof}\n```\n")
        return "\n\n".join(part for part in parts if part)

    # --- one finding ---

    def _diagnostic(self, finding: Finding, name: str) -> types.Diagnostic:
        doc = self._doc(finding.relation)
        return types.Diagnostic(
            range=self._range(finding.span, name),
            message=f"{finding.text}\n{doc}" if doc else finding.text,
            severity=_SEVERITIES[self.analysis.settings.severity_of(finding.relation)],
            code=finding.relation,
            source=SOURCE,
            related_information=list(self._related(finding, name)),
        )

    def _related(self, finding: Finding, name: str) -> Iterator[types.DiagnosticRelatedInformation]:
        """Yield the other nodes of a finding, and the lines of its proof once that was asked for."""
        seen: set[tuple[str, int]] = set()
        for column, span in self.analysis.follow.places(finding, name)[1:]:
            seen.add((span.source.name, span.line))
            yield types.DiagnosticRelatedInformation(self._location(span), column)
        for step in self._explained.get((finding.relation, finding.fact), ()):
            line = step.span
            if line is not None and (line.source.name, line.line) not in seen:
                seen.add((line.source.name, line.line))
                yield types.DiagnosticRelatedInformation(self._location(line), step.text)

    def _doc(self, relation: str) -> str:
        """Return the comment above the declaration of a relation."""
        found = self._docs.get(relation)
        if found is None:
            span = self.analysis.follow.db.program.relations[relation].span
            found = "" if span is None else comment_above(span.source.text, span.start)
            self._docs[relation] = found
        return found

    # --- places ---

    def _range(self, span: Span | None, name: str) -> types.Range:
        key = (name, -1, -1) if span is None else (name, span.start, span.end)
        known = self._shown.ranges.get(key)
        if known is None:
            positions = self._positions_of(name)
            known = span_range(positions, None if span is None else _moved(span, positions.text))
            self._shown.ranges[key] = known
        return known

    def _location(self, span: Span) -> types.Location:
        name = span.source.name
        uri = self._shown.uris.get(name)
        if uri is None:
            uri = self._shown.uris[name] = self._texts.uri(self.analysis.path_of(name))
        return types.Location(uri, self._range(span, name))

    def _positions_of(self, name: str) -> Positions:
        text = self.analysis.texts.get(name, "")
        known = self._positions.get(name)
        if known is None or known.text is not text:
            known = self._positions[name] = Positions(text, self._texts.encoding)
        return known


class _Shown:
    """Ranges and addresses that are already written for the client: many findings share their nodes."""

    def __init__(self) -> None:
        self.ranges: dict[tuple[str, int, int], types.Range] = {}
        self.uris: dict[str, str] = {}


def _mistake(mistake: Diagnostic, positions: Positions) -> types.Diagnostic:
    return types.Diagnostic(
        range=span_range(positions, mistake.span),
        message=mistake.message,
        severity=types.DiagnosticSeverity.Error,
        code=mistake.code,
        source=SOURCE,
    )


def _moved(span: Span, text: str) -> Span | None:
    """Return where a piece of an older text is now; None if it was edited itself."""
    old = span.source.text
    if old == text:
        return span
    front = _common(old, text)
    back = _common(old[front:][::-1], text[front:][::-1])
    if span.end <= front:
        return span
    shift = len(text) - len(old)
    if span.start >= len(old) - back:
        return Span(span.source, span.start + shift, span.end + shift)
    return Span(span.source, min(span.start, front), max(min(span.end + shift, len(text)), front))


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the front."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _do_touch(one: types.Range, other: types.Range) -> bool:
    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
