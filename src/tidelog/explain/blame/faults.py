"""Faults and changes as users name them, looked up among the facts that differ between two epochs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.explain.blame.case import Faults, Pattern
from tidelog.explain.blame.ground import Ground
from tidelog.explain.blame.suspects import Key
from tidelog.explain.blame.wishes import SomeFaults
from tidelog.program.nodes import Program
from tidelog.program.written_facts import read_pattern
from tidelog.syntax import tree
from tidelog.values import Codec
from tidelog.views.delta import Delta, fact_count
from tidelog.views.epoch_diff import EpochDiff, Rows
from tidelog.views.fact_text import write_fact


@dataclass(frozen=True)
class FaultFinder:
    """Reads what users write about the facts of one program."""

    program: Program
    codec: Codec

    def pattern(self, text: str, found: list[Diagnostic], what: str = "fault") -> Pattern | None:
        """Return an atom with constants and variables as a pattern; mistakes are added to `found`.

        Messages about mistakes in the text say `what` it is.
        """
        try:
            written = read_pattern(text, what, self.program, self.codec)
        except TidelogError as error:
            found += error.diagnostics
            return None
        return Pattern(written.relation.name, written.codes, _equal_places(written.atom))

    def faults(
        self,
        unwanted: SomeFaults | None,
        missing: SomeFaults | None,
        diff: EpochDiff,
        ground: Ground,
        history: Sequence[Delta] = (),
    ) -> Faults:
        """Return the facts that are meant; all mistakes are raised together.

        Who asks about the wrong epochs is told in which of the history a fact changed.
        """
        found: list[Diagnostic] = []
        patterns: list[Pattern] = []
        keys: dict[bool, dict[Key, None]] = {True: {}, False: {}}
        for is_unwanted, asked in ((True, unwanted), (False, missing)):
            for text in fault_texts(asked, found):
                pattern = self.pattern(text, found)
                if pattern is None:
                    continue
                rows = diff.inserted if is_unwanted else diff.deleted
                matching = list(_matching(pattern, rows))
                keys[is_unwanted].update(dict.fromkeys(matching))
                if is_unwanted and None in pattern.codes:
                    patterns.append(pattern)
                if not matching:
                    mistake = _no_fault(text, pattern, diff, ground, is_unwanted=is_unwanted)
                    found.append(replace(mistake, hint=_when(pattern, history, is_unwanted=is_unwanted)))
        if not found and not keys[True] and not keys[False]:
            found.append(_nothing_asked())
        if found:
            raise TidelogError(found)
        return Faults(tuple(keys[True]), tuple(keys[False]), tuple(patterns))


def fault_texts(asked: SomeFaults | None, found: list[Diagnostic]) -> Iterator[str]:
    """Yield faults as texts; mistakes are added to `found`."""
    if asked is None:
        return
    if isinstance(asked, str):
        yield asked
    elif isinstance(asked, Mapping):
        for name, facts in asked.items():
            yield from _fact_texts(name, facts, found)
    elif not isinstance(asked, Iterable):
        found.append(_no_text(asked))
    else:
        for each in asked:
            if isinstance(each, str):
                yield each
            else:
                found.append(_no_text(each))


def _fact_texts(name: object, facts: object, found: list[Diagnostic]) -> Iterator[str]:
    """Yield the facts of one relation as texts."""
    if not isinstance(name, str) or not isinstance(facts, Iterable) or isinstance(facts, str | bytes):
        found.append(_no_text(facts))
        return
    for fact in facts:
        if isinstance(fact, tuple | list):
            yield write_fact(name, tuple(fact))
        else:
            found.append(_no_text(fact))


def _matching(pattern: Pattern, rows: Rows) -> Iterator[Key]:
    if pattern.relation in rows:
        yield from pattern.matching(np.asarray(rows[pattern.relation]))


def _equal_places(atom: tree.Atom) -> tuple[tuple[int, ...], ...]:
    places: dict[str, list[int]] = {}
    for place, term in enumerate(atom.terms):
        if isinstance(term, tree.Variable):
            places.setdefault(term.name, []).append(place)
    return tuple(tuple(group) for group in places.values() if len(group) > 1)


def _no_fault(
    text: str, pattern: Pattern, diff: EpochDiff, ground: Ground, *, is_unwanted: bool
) -> Diagnostic:
    """Say why no fact that differs between the epochs is meant."""
    if any(code is None for code in pattern.codes):
        what = "appeared" if is_unwanted else "vanished"
        message = f"no fact that matches `{text}` {what} between epochs {diff.before} and {diff.after}"
    else:
        codes = tuple(code for code in pattern.codes if code is not None)
        holds = ground.holds([(pattern.relation, codes)])[0]
        verb = "holds" if holds else "does not hold"
        message = f"`{text}` {verb} in epoch {diff.after}"
        if holds == is_unwanted:
            message += (
                f", as it did in epoch {diff.before}" if holds else f", and did not in epoch {diff.before}"
            )
    return Diagnostic(code="no-fault", message=message)


def _when(pattern: Pattern, history: Sequence[Delta], *, is_unwanted: bool) -> str:
    """Return a hint that names the last epoch in which a fact appeared or vanished."""
    for delta in reversed(history):
        inserted, deleted = delta.sides(pattern.relation)
        columns = inserted if is_unwanted else deleted
        if not fact_count(columns):
            continue
        rows = np.stack(columns, axis=1)[:, : len(pattern.codes)]
        if next(pattern.matching(rows), None) is not None:
            what, at = "appeared" if is_unwanted else "vanished", delta.epoch
            return f"it {what} in epoch {at}: ask with epoch={at}, --epoch {at} or, in the shell, `at {at}`"
    return "name an unwanted fact that appeared or a missing one that vanished, or other epochs"


def _no_text(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-fault",
        message=f"faults are texts such as \"alias(x, 'sec')\", not {type(found).__name__}",
        hint="give tuples in a mapping: unwanted={'alias': [('u', 'sec')]}",
    )


def _nothing_asked() -> Diagnostic:
    return Diagnostic(
        code="bad-fault",
        message="neither an unwanted nor a missing fact was named",
        hint="unwanted=\"alias('u', 'sec')\" in Python, --unwanted \"alias('u', 'sec')\" in a shell",
    )
