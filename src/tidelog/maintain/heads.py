"""The facts of a stratum as the sweeps see them: something to take from and to offer to."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.epoch_marks import EpochMarks, rows_by_level
from tidelog.maintain.judge import EpochJudge, Mask
from tidelog.maintain.prices import Budget, Stopwatch
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.work import level_work
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import TO_COUNT
from tidelog.storage.judge_row import AFFECTED, UNTOUCHED
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.values.distinct_codes import distinct_codes

Rows = Mapping[str, Int64s]


class OverBudget(Exception):  # noqa: N818 - a decision, not an error
    """The update did more work than it may; it is undone and the stratum recomputed."""


class Asking(NamedTuple):
    """Affected heads that look for derivations: their content, what each is known by, and a mask.

    The mask tells which of them were input facts in the old epoch.
    """

    rows: CodeArray
    tags: Int64s
    was_input: Mask


@dataclass
class WorkMeter:
    """Counts derivations, and the bindings that the engine went through to find them, and the time.

    `relations` are those of the stratum and those it reads: what an update may make indexes of.
    """

    derivations: LocalDerivations
    budget: Budget
    relations: Sequence[StoredRelation]
    seen: int = 0
    # What is expected after the first sweep, as a multiple of it, and what that one took.
    rest: float = 0.0
    first: int = 0

    def __post_init__(self) -> None:
        self._bindings_before = self.derivations.work
        self._built_before = self._building_seconds
        self._watch = Stopwatch()

    @property
    def work(self) -> int:
        """Return the work so far."""
        return self.seen + self.derivations.work - self._bindings_before

    @property
    def seconds(self) -> float:
        """Return the time worked since the update began, without what later updates will not do again."""
        return self._watch.seconds - (self._building_seconds - self._built_before)

    @property
    def _building_seconds(self) -> float:
        """Return what making indexes has taken so far."""
        return sum(relation.building_seconds for relation in self.relations)

    def spend(self, derivations: int) -> None:
        """Count derivations; raise `OverBudget` if they are too many."""
        self.seen += derivations
        self.check()

    def end_first_sweep(self) -> None:
        """Let the update finish if only what is expected is left: it is known now what is affected."""
        self.first = self.work
        if self.rest:
            self.budget = self.budget.extended(self.first, self.seconds, self.rest)

    def check(self) -> None:
        """Raise if the budget is spent, even where bindings lead to no derivation."""
        # Reading the clock can take longer than a small batch of derivations.
        seconds = self.seconds if self.budget.seconds else 0.0
        if self.budget.is_spent(self.work, seconds):
            raise OverBudget


class Buckets:
    """Rows that wait for the turn of their level."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, list[Int64s]]] = defaultdict(lambda: defaultdict(list))

    def put(self, name: str, numbers: Int64s, levels: Int32s, shift: int = 0) -> None:
        """Let each row wait at the level that `levels` has for it, less `shift`."""
        for level, rows in rows_by_level(levels, numbers):
            self._rows[level - shift][name].append(rows)

    def lowest(self) -> int | None:
        """Return the lowest level at which rows wait, or None if no row waits."""
        return min(self._rows, default=None)

    def take(self, level: int) -> dict[str, Int64s]:
        """Remove and return the rows that wait at a level, some perhaps twice."""
        return {name: np.concatenate(parts) for name, parts in self._rows.pop(level, {}).items()}


@dataclass
class Heads:
    """Heads that are rows here: counts, levels, and buckets of rows by level.

    Those of partners and of the strategies in `maintain.strategies` inherit from it. Rows are the contents
    of heads, numbers those of rows that are kept here. `check_level` raises when the levels grow too high.
    `rules` are those of both epochs: by them, facts that were not counted yet are counted when one of their
    derivations is lost.
    """

    judge: EpochJudge
    meter: WorkMeter
    check_level: Callable[[int], None]
    rules: Sequence[FlatRule]

    # Whether a derived fact that is affected may have derivations left by any rule.
    asks_every_rule = False
    # Whether derivations may be judged while heads take others: what they take changes no level and no mark.
    are_judged_in_threads = True

    def __post_init__(self) -> None:
        self.losing = Buckets()
        self.offered = Buckets()

    def claim(self, rule: FlatRule, batch: CodeArray, first: int) -> Mask:  # noqa: ARG002 - all are
        """Count derivations as work and say which of them are for this process to find: all."""
        self.meter.spend(batch.shape[0])
        return np.ones(batch.shape[0], np.bool_)

    def rows_to_follow(self, rule: FlatRule, place: int, numbers: Int64s) -> Int64s:  # noqa: ARG002
        """Return the rows at a literal whose derivations are for this process to find: all."""
        return numbers

    def own_inputs(self, name: str, change: RowDelta) -> RowDelta:  # noqa: ARG002 - of any relation
        """Return the changed input facts that this process answers for: all."""
        return change

    # --- what is lost -----------------------------------------------------------------------------

    def lose_inputs(self, name: str, numbers: Int64s) -> None:
        """Let rows no longer be input facts."""
        self._take_one(name, numbers)

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Take from each head a derivation of this level if it is tight."""
        self.lose_numbered(name, self.judge.relations[name].find(rows), levels)

    def lose_numbered(self, name: str, numbers: Int64s, levels: Int32s) -> None:
        """Take from each head, by its number, a derivation of this level."""
        self._take_one(name, numbers[self.judge.relations[name].levels[numbers] == levels])

    def _take_one(self, name: str, numbers: Int64s) -> None:
        """Take a tight derivation from each row; rows without any left, or not counted yet, have to wait."""
        if numbers.size:
            marks = self.judge.marks[name]
            self.losing.put(name, marks.lose(numbers), marks.relation.levels)

    def next_affected(self) -> Rows | None:
        """Return the affected facts of the lowest level that has any, or None at the end."""
        while (level := self.losing.lowest()) is not None:
            found = {}
            for name, numbers in self.losing.take(level).items():
                rows = self.without_proof(name, self.untouched(name, numbers))
                if rows.size:
                    found[name] = rows
            self.meter.spend(level_work(sum(rows.size for rows in found.values())))
            if found:
                return found
        return None

    def untouched(self, name: str, numbers: Int64s) -> Int64s:
        """Return those of the rows that are not affected yet, each once."""
        numbers = distinct_codes(numbers)
        rows: Int64s = numbers[self.judge.marks[name].status(numbers) == UNTOUCHED]
        return rows

    def without_proof(self, name: str, numbers: Int64s) -> Int64s:
        """Return the rows that are affected: all of them, unless they still have to be counted."""
        is_known = self.judge.relations[name].counts[numbers] != TO_COUNT
        if is_known.all():
            return numbers
        return np.concatenate([numbers[is_known], self.without_derivation(name, numbers[~is_known])])

    def without_derivation(self, name: str, numbers: Int64s) -> Int64s:
        """Count the tight derivations that derived rows still have; return the rows without any.

        All facts of lower levels that are affected must be known.
        """
        relation = self.judge.relations[name]
        relation.counts[numbers] = 0
        for rule in self.rules:
            if rule.relation == name and numbers.size:
                self.meter.derivations.backward(rule, numbers, self._counting(rule, relation))
        exhausted: Int64s = numbers[relation.counts[numbers] == 0]
        return exhausted

    def _counting(self, rule: FlatRule, head: StoredRelation) -> Sink:
        """Return the sink that counts the tight derivations that the epoch leaves standing."""

        def sink(batch: CodeArray) -> None:
            keep, levels = self.judge.standing(rule, batch, 1, self.claim(rule, batch, 1))
            numbers = batch[keep, 0].astype(np.int64)
            np.add.at(head.counts, numbers[head.levels[numbers] == levels], 1)

        return sink

    # --- what is offered --------------------------------------------------------------------------

    def offer_inputs(self, name: str, numbers: Int64s) -> None:
        """Offer rows level 0, that of input facts."""
        self.offer(name, numbers, np.zeros(numbers.size, np.int32))

    def ask(self, affected: Rows) -> Mapping[str, Asking]:
        """Return the affected heads that look for derivations here: all."""
        asking = {}
        for name, numbers in affected.items():
            relation = self.judge.relations[name]
            asking[name] = Asking(relation.rows[numbers], numbers, relation.levels_before(numbers) == 0)
        return asking

    def offer_again(self, name: str, tags: Int64s, levels: Int32s) -> None:
        """Offer levels of derivations that asking heads still have."""
        self.offer(name, tags, levels)

    def offer_new(self, name: str, rows: CodeArray, levels: Int32s, *, asked_by_all: bool) -> None:
        """Offer levels of newly possible derivations.

        Affected heads that asked for derivations of the rule have found them already: all of them, or
        those that were input facts.
        """
        numbers = self.locate(name, rows)
        is_open = self.judge.marks[name].status(numbers) != AFFECTED
        if not asked_by_all:
            is_open |= self.judge.relations[name].levels_before(numbers) != 0
        self.offer(name, numbers[is_open], levels[is_open])

    def offer_better(self, name: str, rows: CodeArray, levels: Int32s, before: Int32s) -> None:  # noqa: ARG002
        """Offer levels of derivations that had higher ones before, or `ABSENT`."""
        self.offer(name, self.locate(name, rows), levels)

    def offer(self, name: str, numbers: Int64s, levels: Int32s) -> None:
        """Offer levels to rows; a row waits at the lowest level it was offered so far."""
        if numbers.size:
            marks = self.judge.marks[name]
            self.offered.put(
                name, marks.offer(numbers, levels.astype(np.int32, copy=False)), marks.tentative, 1
            )

    def next_settled(self) -> Rows | None:
        """Give the lowest offered level to the facts that are offered it; return them, or None at the end."""
        while (level := self.offered.lowest()) is not None:
            settled = take_offered(self.judge.marks, self.offered, level)
            if settled:
                self.check_level(level)
                self.meter.spend(level_work(sum(rows.size for rows in settled.values())))
                for name, rows in settled.items():
                    self.judge.marks[name].settle(rows)
                return settled
        return None

    def locate(self, name: str, rows: CodeArray) -> Int64s:
        """Return the row numbers of heads; heads without a row get one."""
        numbers = self.judge.relations[name].locate(rows)
        self.judge.marks[name].ensure_room()
        return numbers


def take_offered(marks: Mapping[str, EpochMarks], offered: Buckets, level: int) -> dict[str, Int64s]:
    """Return the rows whose lowest offer is still this level."""
    taken = {name: marks[name].take(numbers, level) for name, numbers in offered.take(level).items()}
    return {name: rows for name, rows in taken.items() if rows.size}
