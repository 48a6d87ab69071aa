"""Blame and repair for a session: which changes between two epochs broke it, and which to take back."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described, to_float, written
from tidelog.explain.blame.answers import AskedFaults, Blame, InputChange, Repair
from tidelog.explain.blame.case import Case, Faults
from tidelog.explain.blame.faults import FaultFinder
from tidelog.explain.blame.ground import Ground, by_relation, merged
from tidelog.explain.blame.incremental import ProofBuilder
from tidelog.explain.blame.localize import BlameSearch
from tidelog.explain.blame.repair import Found, RepairSearch, SearchLimits
from tidelog.explain.blame.steps import StoryStep
from tidelog.explain.blame.suspects import Suspect
from tidelog.explain.blame.trial_engine import TrialEngine, trial_engine_at
from tidelog.explain.blame.wishes import FaultQuestion, Method, SomeEpochs, Wishes
from tidelog.explain.port import Explained
from tidelog.program.suggest import undeclared_relation
from tidelog.progress import activity
from tidelog.storage.kernel import Int64s
from tidelog.views.epoch_diff import EpochDiff, find_epoch_diff

# More faults than these have no proofs of their own.
_MOST_PROOFS: Final = 20


@dataclass(frozen=True)
class Inquiry:
    """A case with what it takes to name its changes to the user."""

    case: Case
    diff: EpochDiff
    trial: TrialEngine
    finder: FaultFinder

    def change(self, number: int) -> InputChange:
        """Return a suspect as the user knows it."""
        suspect = self.case.suspects[number]
        name, codes = suspect.key
        if name == self.trial.guard and self.trial.rules:
            _, text = self.trial.rules[codes[0]]
            return InputChange("", (), suspect.is_insert, text, text, suspect.cost)
        columns = self.case.engine.program.relations[name].columns
        pairs = zip(codes, columns, strict=True)
        fact = tuple(self.case.codec.decode(code, column.type) for code, column in pairs)
        return InputChange(
            name, fact, suspect.is_insert, self.case.fact_text(suspect.key), None, suspect.cost
        )

    def changes(self, numbers: Iterable[int]) -> tuple[InputChange, ...]:
        """Return suspects in the order in which they were found."""
        return tuple(self.change(number) for number in sorted(numbers))

    def faults(self) -> AskedFaults:
        """Return the faults as texts."""
        asked = self.case.faults
        return AskedFaults(
            tuple(sorted(map(self.case.fact_text, asked.unwanted))),
            tuple(sorted(map(self.case.fact_text, asked.missing))),
            (self.diff.before, self.diff.after),
        )

    def named(self, name: "str | InputChange", found: list[Diagnostic]) -> frozenset[int]:
        """Return the suspects that a name means; mistakes are added to `found`.

        A change is named by itself or, as a repair has it, by what takes it back.
        """
        text = str(name).strip()
        sign = text[:1] if text[:1] in {"+", "-"} else ""
        text = text[len(sign) :]
        numbers = {number for number in self.case.everything if _has_sign(self.case.suspects[number], sign)}
        is_one = text != "rules" and text not in self.finder.program.relations
        if sign and is_one and not self._matching(text, numbers, []):
            numbers = set(self.case.everything)
        return self._matching(text, numbers, found)

    def _matching(self, text: str, numbers: set[int], found: list[Diagnostic]) -> frozenset[int]:
        """Return those of the suspects that a text without a sign means."""
        rules = {number for number in numbers if self._is_rule(number, text)}
        if rules:
            return frozenset(rules)
        if text == "rules" and text not in self.finder.program.relations:
            return frozenset()
        if text in self.finder.program.relations:
            return frozenset(n for n in numbers if self.case.suspects[n].key[0] == text)
        if text.isidentifier():
            found.append(undeclared_relation(text, self.finder.program.relations, is_asked=True))
            return frozenset()
        before = len(found)
        pattern = self.finder.pattern(text, found)
        if pattern is None:
            return frozenset()
        matching = frozenset(
            number
            for number in numbers
            if (key := self.case.suspects[number].key)[0] == pattern.relation
            and any(pattern.matching(_row(key[1])))
        )
        if not matching and len(found) == before:
            found.append(_no_change(text, self.diff))
        return matching

    def _is_rule(self, number: int, text: str) -> bool:
        name, codes = self.case.suspects[number].key
        if name != self.trial.guard or not self.trial.rules:
            return False
        return text == "rules" or "".join(text.split()) == "".join(self.trial.rules[codes[0]][1].split())


@activity("searching for what is to blame")
def blame(epochs: Explained, question: FaultQuestion) -> Blame:
    """Return a minimal set of changes that causes all the faults; see `Session.blame`."""
    _check_method(question.method)
    with _inquiry(epochs, question) as inquiry:
        return blame_in(inquiry, question.method, proofs=question.proofs)


def blame_in(inquiry: Inquiry, method: Method = "reasons", *, proofs: bool = True) -> Blame:
    """Return the blame of an inquiry."""
    begun = time.perf_counter()
    case = inquiry.case
    search = BlameSearch(case)
    blamed = search.by_reasons() if method == "reasons" else search.by_ddmin()
    notes = list(inquiry.trial.notes)
    story = _proofs(case, blamed, notes) if proofs else ()
    return Blame(
        inquiry.faults(), inquiry.changes(blamed), story, method, case.trials,
        time.perf_counter() - begun, tuple(notes),
    )  # fmt: skip


def _proofs(case: Case, blamed: frozenset[int], notes: list[str]) -> tuple[StoryStep, ...]:
    """Return how the blamed changes alone cause the faults."""
    taken = case.everything - blamed
    steps: list[StoryStep] = []
    possible = case.prepare()
    faults = [(True, key) for key in case.faults.unwanted] + [(False, key) for key in case.faults.missing]
    difference = case.difference()
    old = merged(possible.rows, difference.deleted)
    with case.world(taken), case.ground.showing(old):
        for are_there, fault in faults[:_MOST_PROOFS]:
            explanation = case.explain(taken, [fault], are_there=are_there)
            steps.append(ProofBuilder(case, explanation, difference, taken).tell(fault))
    if len(faults) > _MOST_PROOFS:
        notes.append(f"proofs are shown for the first {_MOST_PROOFS} of {len(faults)} faults")
    return tuple(steps)


@activity("searching for a repair")
def repair(epochs: Explained, question: FaultQuestion, wishes: Wishes) -> Repair:
    """Return the cheapest changes to take back; see `Session.repair`."""
    _check_method(question.method)
    with _inquiry(epochs, question) as inquiry:
        return repair_in(inquiry, wishes, question.method)


def repair_in(inquiry: Inquiry, wishes: Wishes, method: Method = "reasons") -> Repair:
    """Return the repair of an inquiry."""
    begun = time.perf_counter()
    case = inquiry.case
    search = RepairSearch(case, _take_wishes(inquiry, wishes))
    found = search.by_reasons() if method == "reasons" else search.by_ddmin()
    notes = (*inquiry.trial.notes, *search.notes)

    def answer(each: Found, *, is_found: bool = True) -> Repair:
        changes = tuple(change.inverse for change in inquiry.changes(each.taken))
        return Repair(
            inquiry.faults(), changes, each.cost, each.bound, is_found, method,
            case.trials, time.perf_counter() - begun,
        )  # fmt: skip

    if not found:
        return replace(answer(Found(frozenset(), 0.0, 0.0), is_found=False), notes=notes)
    return replace(answer(found[0]), notes=notes, alternatives=tuple(map(answer, found[1:])))


def _take_wishes(inquiry: Inquiry, wishes: Wishes) -> SearchLimits:
    """Give costs to the suspects and return what else is asked; all mistakes are raised together."""
    found: list[Diagnostic] = []
    costs: dict[int, float] = {}
    # A relation's cost first: that of a fact is more to the point.
    for name, cost in sorted((wishes.costs or {}).items(), key=lambda pair: "(" in pair[0]):
        worth = to_float(cost)
        if worth is None or not 0 < worth < float("inf"):
            found.append(_bad_cost(name, cost))
            worth = 1.0
        costs.update(dict.fromkeys(inquiry.named(name, found), worth))
    fixed: set[int] = set()
    for change in wishes.all_untouchable:
        fixed |= inquiry.named(change, found)
    excluded: list[frozenset[int]] = []
    by_change = {str(inquiry.change(number)): number for number in inquiry.case.everything}
    for each in wishes.all_rejected:
        if isinstance(each, Repair):
            excluded += [
                frozenset(by_change[str(change)] for change in one.taken_back if str(change) in by_change)
                for one in (each, *each.alternatives)
            ]
        else:
            fixed |= inquiry.named(each, found)
    if wishes.alternatives < 1:
        found.append(
            Diagnostic(code="bad-wish", message=f"{wishes.alternatives} is not a valid number of repairs")
        )
    if found:
        raise TidelogError(found)
    inquiry.case.suspects = tuple(
        replace(suspect, cost=costs.get(number, 1.0), is_untouchable=number in fixed)
        for number, suspect in enumerate(inquiry.case.suspects)
    )
    return SearchLimits(wishes.alternatives, to_float(wishes.seconds) or 0.0, tuple(excluded))


@contextmanager
def _inquiry(epochs: Explained, question: FaultQuestion) -> Iterator[Inquiry]:
    """Give the case of a question, with the engine in the newer epoch while the block lasts."""
    before, after = _epochs(question.epoch, epochs.epoch)
    diff = find_epoch_diff(epochs.history, before, after, epochs.epoch)
    with trial_engine_at(epochs, diff) as trial:
        yield inquire(epochs, diff, trial, question)


def inquire(epochs: Explained, diff: EpochDiff, trial: TrialEngine, question: FaultQuestion) -> Inquiry:
    """Return the case of a question; the trial engine is in the newer epoch."""
    finder = FaultFinder(trial.engine.program, trial.codec or epochs.handle.codec)
    history = epochs.history.deltas
    faults = finder.faults(question.unwanted, question.missing, diff, Ground(trial.engine), history)
    return Inquiry(_make_case(epochs, diff, trial, faults), diff, trial, finder)


def _make_case(epochs: Explained, diff: EpochDiff, trial: TrialEngine, faults: Faults) -> Case:
    """Return the case of these faults."""
    suspects = [
        Suspect((name, tuple(row)), is_insert)
        for is_insert, sides in ((True, diff.inputs_inserted), (False, diff.inputs_deleted))
        for name, rows in sides.items()
        if name in trial.engine.program.relations
        for row in rows.tolist()
    ]
    rules = [Suspect((trial.guard, (number,)), is_added) for number, (is_added, _) in trial.rules.items()]
    added, removed = (
        by_relation(each.key for each in rules if each.is_insert == is_added) for is_added in (True, False)
    )
    known = trial.engine.program.relations
    return Case(
        trial.engine, trial.codec or epochs.handle.codec, (*suspects, *rules), faults,
        {**{name: rows for name, rows in diff.inserted.items() if name in known}, **added},
        {**{name: rows for name, rows in diff.deleted.items() if name in known}, **removed},
        {(trial.guard, (number,)): f"rule {text}" for number, (_, text) in trial.rules.items()},
    )  # fmt: skip


def _epochs(asked: SomeEpochs | None, now: int) -> tuple[int, int]:
    match asked:
        case None:
            return now - 1, now
        case int():
            return asked - 1, asked
        case (int() as before, int() as after):
            return before, after
    raise TidelogError(
        [
            Diagnostic(
                code="epoch-not-kept",
                message=f"{written(asked)} does not name epochs",
                hint="give epoch=N for the changes of epoch N, or epoch=(before, after)",
            )
        ]
    )


def _row(codes: tuple[int, ...]) -> Int64s:

    return np.array([codes], np.int64).reshape(1, len(codes))


def _has_sign(suspect: Suspect, sign: str) -> bool:
    return not sign or suspect.is_insert == (sign == "+")


def _check_method(method: object) -> None:
    if method not in ("reasons", "ddmin"):
        found = f"`{method}`" if isinstance(method, str) else described(method)
        hint = "choose reasons, or ddmin for delta debugging"
        raise TidelogError([Diagnostic(code="bad-wish", message=f"there is no method {found}", hint=hint)])


def _bad_cost(name: str, cost: float) -> Diagnostic:
    return Diagnostic(
        code="bad-wish",
        message=f"the cost of `{name}` is {described(cost)}",
        hint="costs are finite and above zero",
    )


def _no_change(text: str, diff: EpochDiff) -> Diagnostic:
    return Diagnostic(
        code="no-such-change",
        message=f"no change between epochs {diff.before} and {diff.after} matches `{text}`",
        hint="name a changed fact, a pattern, an input relation, or the text of a rule",
    )
