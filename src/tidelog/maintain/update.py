"""Maintain first iterations and derivation counts as shortest paths are.

The level of a fact is the length of its shortest derivation, its count the number of derivations
that attain it; those are the tight ones. An epoch goes through a stratum in three sweeps:

1. Lost derivations earlier the counts of their heads if they were tight. A fact whose count reaches
   zero is affected, and the tight derivations that use it are lost in turn. Tight derivations
   strictly raise the level, so going up the levels finds exactly the facts whose level grows or
   that vanish.
2. Affected facts look for derivations from facts that are not affected, and newly possible
   derivations offer levels to their heads.
3. Offers are settled in increasing order; a settled fact makes offers to the heads it helps derive.

An affected fact that is never settled is deleted. The state is then exactly what evaluation from
nothing gives, level by level and count by count.

That is the strategy `update`. Its relatives differ in one sweep each. In the first, `dred` needs no
counts and takes every fact with any lost derivation for affected; `backward-forward` looks for the
derivations a fact has left before it takes it for affected. In the second, `counting` reads the next
level of an affected fact from the dense state instead of looking for derivations. With `trace`, lost and
gained derivations of rules over earlier strata come from the traces of their joins; see `maintain.trace`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tidelog.engine.epoch import Strategy
from tidelog.maintain.dense import IterationCounts
from tidelog.maintain.derivations import Derivations, Sink, Traces
from tidelog.maintain.judge import EpochJudge, Mask
from tidelog.maintain.labels import (
    AFFECTED,
    CURRENT,
    UNTOUCHED,
    RelationLabels,
    row_changes,
    rows_by_level,
)
from tidelog.maintain.row_change import RowChange
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.maintain.work import level_work
from tidelog.plan.maintenance import MaintainedRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s


class OverBudget(Exception):  # noqa: N818 - a decision, no error
    """The update did more work than it may; it is undone and the stratum recomputed."""


def _any_level(_level: int) -> None:
    """Allow every level."""


@dataclass
class StratumUpdate(EpochJudge):
    """One epoch of one stratum.

    `labels` are those of the stratum's relations, `earlier` what changed in earlier strata. The budget
    counts derivations and the bindings that the engine went through to find them. `check_level` may
    raise when the levels grow too high. `rules` are those of the new epoch; all derivations by rules that
    `rule_change` deletes are lost, and all by rules that it inserts are newly possible.
    """

    rules: Sequence[MaintainedRule]
    relations: Mapping[str, StoredRelation]
    labels: Mapping[str, RelationLabels]
    earlier: Mapping[str, RowChange]
    derivations: Derivations
    budget: float
    strategy: Strategy = Strategy.UPDATE
    dense: Mapping[str, IterationCounts] | None = None
    check_level: Callable[[int], None] = _any_level
    traces: Traces | None = None
    work: int = 0
    rule_change: RuleChange = NO_RULE_CHANGE

    def __post_init__(self) -> None:
        inserted = {rule.rule.id for rule in self.rule_change.inserted}
        self._kept = [rule for rule in self.rules if rule.rule.id not in inserted]
        # Who prepared the update may have worked already.
        self._derivations_seen = self.work
        self._work_before = self.derivations.work

    def run(self, inputs: Mapping[str, RowChange]) -> dict[str, RowChange]:
        """Bring the stratum to the new epoch and return what changed.

        `inputs` are rows that stop or start being input facts. On `OverBudget` the caller undoes.
        """
        with self.derivations.watched(self._check_work):
            return self._run(inputs)

    def _run(self, inputs: Mapping[str, RowChange]) -> dict[str, RowChange]:
        for labels in self.labels.values():
            labels.ensure_room()
        affected = self._find_affected(inputs)
        for name, rows in affected.items():
            self.labels[name].drop(rows)
        offers = _Offers(self.labels)
        for name, change in inputs.items():
            offers.make(name, change.inserted, np.zeros(change.inserted.size, np.int32))
        self._offer_backward(affected, offers)
        self._offer_new(offers)
        self._settle(offers)
        return row_changes(self.labels)

    # --- sweep 1 ------------------------------------------------------------------------------

    def _find_affected(self, inputs: Mapping[str, RowChange]) -> dict[str, Int64s]:
        """Mark and return the facts whose level grows or that vanish."""
        buckets: dict[int, dict[str, list[Int64s]]] = defaultdict(lambda: defaultdict(list))

        def lose(name: str, numbers: Int64s) -> None:
            exhausted = self._exhausted(name, numbers)
            for level, rows in rows_by_level(self.relations[name].levels, exhausted):
                buckets[level][name].append(rows)

        for name, change in inputs.items():
            if change.deleted.size:
                lose(name, change.deleted)
        self._lose_by_earlier(lose)
        for rule in self.rule_change.deleted:
            relation = self.relations[rule.literals[0].relation]
            rows = np.flatnonzero(relation.previous[: relation.count] != ABSENT)
            self.derivations.forward(
                rule, rule.literals[0], rows, self._losing(rule, -1, lose, by_earlier=True)
            )
        found: dict[str, list[Int64s]] = defaultdict(list)
        while buckets:
            current = self._without_proof(buckets.pop(min(buckets)))
            self._spend(level_work(sum(rows.size for rows in current.values())))
            for name, rows in current.items():
                self.labels[name].marks[rows] = CURRENT
                found[name].append(rows)
            for rule, place, rows in self._stratum_literals(self._kept, current):
                self.derivations.forward(
                    rule, rule.literals[place], rows, self._losing(rule, place, lose, by_earlier=False)
                )
            for name, rows in current.items():
                self.labels[name].marks[rows] = AFFECTED
        return {name: np.concatenate(rows) for name, rows in found.items()}

    def _lose_by_earlier(self, lose: "_Lose") -> None:
        """Lose the derivations that changes of earlier strata take away."""
        for rule, place, rows in self.changed_literals(self._kept, lost=True):
            self.derivations.forward(
                rule, rule.literals[place], rows, self._losing(rule, place, lose, by_earlier=True)
            )
        for rule, traces in self._traced_rules():
            traces.push_lost(rule, self._losing(rule, 0, lose, by_earlier=True))

    def _exhausted(self, name: str, numbers: Int64s) -> Int64s:
        """Take a derivation from each row; return those that may have lost their level by it."""
        labels = self.labels[name]
        match self.strategy:
            case Strategy.DRED | Strategy.BACKWARD_FORWARD:
                labels.touch(numbers)
                numbers = np.unique(numbers)
                unmarked: Int64s = numbers[labels.marks[numbers] == UNTOUCHED]
                return unmarked
            case _:
                return labels.lose(numbers)

    def _without_proof(self, bucket: Mapping[str, list[Int64s]]) -> dict[str, Int64s]:
        """Return the rows of a bucket that are affected.

        Backward/forward looks for the derivations each row has left; the others know already.
        """
        rows = {name: np.unique(np.concatenate(parts)) for name, parts in bucket.items()}
        rows = {name: part[self.labels[name].marks[part] == UNTOUCHED] for name, part in rows.items()}
        if self.strategy is Strategy.BACKWARD_FORWARD:
            rows = {name: self._recounted(name, part) for name, part in rows.items()}
        return {name: part for name, part in rows.items() if part.size}

    def _recounted(self, name: str, numbers: Int64s) -> Int64s:
        """Count the tight derivations that rows still have; return the rows without any."""
        relation = self.relations[name]
        derived = numbers[relation.levels[numbers] > 0]
        self.labels[name].touch(numbers)
        relation.counts[numbers] = 0
        for rule in self.rules:
            if rule.relation == name and derived.size:
                self.derivations.backward(rule, derived, self._counting(rule, relation))
        exhausted: Int64s = numbers[relation.counts[numbers] == 0]
        return exhausted

    def _counting(self, rule: MaintainedRule, head: StoredRelation) -> Sink:
        """Return the sink that counts tight derivations which the epoch leaves standing."""

        def sink(batch: CodeArray) -> None:
            keep, levels = self.standing(rule, batch, 1, self._count(batch))
            numbers = batch[keep, 0].astype(np.int64)
            np.add.at(head.counts, numbers[head.levels[numbers] == levels], 1)

        return sink

    def _losing(self, rule: MaintainedRule, place: int, lose: "_Lose", *, by_earlier: bool) -> Sink:
        """Return the sink that takes lost tight derivations from their heads."""
        arity = len(rule.rule.head.terms)
        head = self.relations[rule.relation]

        def sink(batch: CodeArray) -> None:
            keep, levels = self.lost(rule, batch, place, self._count(batch), by_earlier=by_earlier)
            numbers = head.find(np.ascontiguousarray(batch[keep, :arity]))
            if self.dense is not None:
                self.dense[rule.relation].add(numbers, levels, -1)
            if self.strategy is Strategy.DRED:
                # Over-deletion: a fact is doomed by any derivation it loses, unless it is given.
                lose(rule.relation, numbers[head.levels[numbers] > 0])
                return
            lose(rule.relation, numbers[head.levels[numbers] == levels])

        return sink

    # --- sweep 2 ------------------------------------------------------------------------------

    def _offer_backward(self, affected: Mapping[str, Int64s], offers: "_Offers") -> None:
        """Let affected facts be derived by what is not affected."""
        if self.dense is not None:
            for name, rows in affected.items():
                levels, counts = self.dense[name].lowest(rows)
                has_any = levels != ABSENT
                offers.make(name, rows[has_any], levels[has_any], counts[has_any])
            return
        for rule in self.rules:
            if rule.relation not in affected:
                continue
            asking = affected[rule.relation]
            if not self._asks_backward_of_all(rule):
                # Its derivations all have level 1: a derived fact that is affected has lost them, and
                # the new ones come from what changed. Only a fact that was given may have kept some.
                asking = asking[self.relations[rule.relation].previous[asking] == 0]
            if asking.size:
                self.derivations.backward(rule, asking, self._offering(rule, offers, columns=1))

    def _asks_backward_of_all(self, rule: MaintainedRule) -> bool:
        """Say whether an affected fact may have derivations left by this rule."""
        return self.is_recursive(rule) or self.strategy not in {Strategy.UPDATE, Strategy.TRACE}

    def _offer_new(self, offers: "_Offers") -> None:
        """Let derivations that changes of earlier strata made possible offer levels to their heads."""
        for rule, place, rows in self.changed_literals(self._kept, lost=False):
            arity = len(rule.rule.head.terms)
            self.derivations.forward(
                rule, rule.literals[place], rows, self._offering(rule, offers, columns=arity, place=place)
            )
        for rule in self.rule_change.inserted:
            relation = self.relations[rule.literals[0].relation]
            rows = np.flatnonzero(relation.levels[: relation.count] != ABSENT)
            arity = len(rule.rule.head.terms)
            self.derivations.forward(
                rule, rule.literals[0], rows, self._offering(rule, offers, columns=arity, place=-1)
            )
        for rule, traces in self._traced_rules():
            arity = len(rule.rule.head.terms)
            traces.push_gained(rule, self._offering(rule, offers, columns=arity, place=0))

    def _offering(
        self, rule: MaintainedRule, offers: "_Offers", *, columns: int, place: int | None = None
    ) -> Sink:
        """Return the sink that offers the level of each possible derivation to its head.

        With `place`, affected heads are left out: they found the derivation going backward, unless they
        went by the dense state.
        """

        def sink(batch: CodeArray) -> None:
            keep, levels = self.possible(rule, batch, columns, place, self._count(batch))
            if place is None:
                offers.make(rule.relation, batch[keep, 0].astype(np.int64), levels)
                return
            numbers = self._heads(rule.relation, batch[keep, :columns])
            if self.dense is not None:
                self.dense[rule.relation].add(numbers, levels, 1)
                offers.make(rule.relation, numbers, levels)
                return
            is_open = self.labels[rule.relation].marks[numbers] != AFFECTED
            if not self._asks_backward_of_all(rule):
                is_open |= self.relations[rule.relation].previous[numbers] != 0
            offers.make(rule.relation, numbers[is_open], levels[is_open])

        return sink

    def _heads(self, relation: str, rows: CodeArray) -> Int64s:
        numbers = self.relations[relation].locate(np.ascontiguousarray(rows))
        self.labels[relation].ensure_room()
        return numbers

    # --- sweep 3 ------------------------------------------------------------------------------

    def _settle(self, offers: "_Offers") -> None:
        """Settle offers in increasing order."""
        while (taken := offers.take_lowest()) is not None:
            label, batch = taken
            self.check_level(label)
            self._spend(level_work(sum(rows.size for rows in batch.values())))
            for name, rows in batch.items():
                self.labels[name].settle(rows)
            for rule, place, rows in self._stratum_literals(self.rules, batch):
                self.derivations.forward(
                    rule, rule.literals[place], rows, self._relaxing(rule, place, offers)
                )
            for name, rows in batch.items():
                self.labels[name].marks[rows] = UNTOUCHED

    def _relaxing(self, rule: MaintainedRule, place: int, offers: "_Offers") -> Sink:
        """Return the sink that offers heads the levels that settled facts made smaller."""
        arity = len(rule.rule.head.terms)

        def sink(batch: CodeArray) -> None:
            keep, levels, before = self.improved(rule, batch, place, self._count(batch))
            numbers = self._heads(rule.relation, batch[keep, :arity])
            if self.dense is not None:
                counts, had_level = self.dense[rule.relation], before != ABSENT
                counts.add(numbers[had_level], before[had_level], -1)
                counts.add(numbers, levels, 1)
            offers.make(rule.relation, numbers, levels)

        return sink

    # --- shared -------------------------------------------------------------------------------

    def _count(self, batch: CodeArray) -> Mask:
        """Count the derivations of a batch as work; all of them are to be judged."""
        self._spend(batch.shape[0])
        return np.ones(batch.shape[0], np.bool_)

    def _spend(self, derivations: int) -> None:
        """Count derivations, and the bindings that the engine went through to find them."""
        self._derivations_seen += derivations
        self._check_work()

    def _check_work(self) -> None:
        """Give up when the work is over the budget, also where bindings become no derivations."""
        self.work = self._derivations_seen + self.derivations.work - self._work_before
        if self.work > self.budget:
            raise OverBudget

    def _is_traced(self, rule: MaintainedRule) -> bool:
        """Say whether a rule is followed by the trace of its join."""
        return self.traces is not None and rule.rule.id in self.traces.rules

    def _traced_rules(self) -> Iterable[tuple[MaintainedRule, Traces]]:
        """Yield the rules that are followed by their trace, with the traces."""
        if self.traces is not None:
            yield from ((rule, self.traces) for rule in self.rules if self._is_traced(rule))

    def _stratum_literals(
        self, rules: Sequence[MaintainedRule], rows: Mapping[str, Int64s]
    ) -> Iterable[tuple[MaintainedRule, int, Int64s]]:
        """Yield the literals of this stratum that the rows can stand for."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                if literal.relation in rows and literal.relation in self.labels:
                    yield rule, place, rows[literal.relation]


class _Lose(Protocol):
    def __call__(self, name: str, numbers: Int64s) -> None: ...


class _Offers:
    """Tentative labels in buckets of equal label."""

    def __init__(self, labels: Mapping[str, RelationLabels]) -> None:
        self._labels = labels
        self._buckets: dict[int, dict[str, list[Int64s]]] = defaultdict(lambda: defaultdict(list))

    def make(self, relation: str, numbers: Int64s, levels: Int32s, counts: Int32s | None = None) -> None:
        """Offer levels to rows; with `counts`, each offer stands for that many derivations.

        Rows offered with counts are distinct and have no level.
        """
        if not numbers.size:
            return
        labels = self._labels[relation]
        improved = labels.offer(numbers, levels.astype(np.int32, copy=False))
        if counts is not None:
            # A row that also became an input fact keeps that better offer.
            taken = labels.tentative[numbers] == levels + 1
            labels.tentative_counts[numbers[taken]] = counts[taken]
        for label, rows in rows_by_level(labels.tentative, improved):
            self._buckets[label - 1][relation].append(rows)

    def take_lowest(self) -> tuple[int, dict[str, Int64s]] | None:
        """Return the lowest label and the rows still offered it, None at the end."""
        while self._buckets:
            label = min(self._buckets)
            batch = {}
            for name, rows in self._buckets.pop(label).items():
                numbers = self._labels[name].take(np.concatenate(rows), label)
                if numbers.size:
                    batch[name] = numbers
            if batch:
                return label, batch
        return None
