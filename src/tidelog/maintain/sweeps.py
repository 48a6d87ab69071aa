"""Maintain first iterations and derivation counts as shortest paths are.

The level of a fact is the length of its shortest derivation, its count the number of derivations
that attain it; those are the tight ones. An epoch goes through a stratum in three sweeps:

1. Lost derivations lower the counts of their heads if they were tight. A fact whose count reaches
   zero is affected, and the tight derivations that use it are lost in turn. Tight derivations
   strictly raise the level, so going up the levels finds exactly the facts whose level grows or
   that vanish.
2. Affected facts look for derivations from facts that are not affected, and newly possible
   derivations offer levels to their heads.
3. Offers are settled in increasing order; a settled fact makes offers to the heads it helps derive.

An affected fact that is never settled is deleted. The state is then exactly what evaluation from
nothing gives, level by level and count by count.

The sweeps find derivations and ask the judge about them. What a derivation does to its head is up to
`maintain.heads`: the heads are rows here, or rows that partners own (`maintain.partners.heads`).
That is the strategy `update`; its relatives in `maintain.strategies` keep other heads.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from threading import Lock

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.epoch_marks import row_deltas
from tidelog.maintain.heads import Heads, Rows
from tidelog.maintain.judge import NOWHERE, ChangedLiteral, EpochJudge, Judged
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.storage.annotations import ABSENT
from tidelog.storage.judge_row import AFFECTED, CURRENT, UNTOUCHED
from tidelog.storage.kernel import CodeArray, Int64s


@dataclass
class Sweeps:
    """One epoch of one stratum.

    `rules` are those of the new epoch; all derivations by rules that `rule_change` deletes are lost, and
    all by rules that it inserts are newly possible.
    """

    rules: Sequence[FlatRule]
    judge: EpochJudge
    derivations: LocalDerivations
    heads: Heads
    rule_change: RuleChange = NO_RULE_CHANGE

    def __post_init__(self) -> None:
        # Held by whoever lets heads take derivations, or counts them.
        self._taking = Lock()
        self.kept = self.rule_change.kept(self.rules)

    def run(self, inputs: Mapping[str, RowDelta]) -> dict[str, RowDelta]:
        """Advance the stratum to the new epoch and return what changed.

        `inputs` are rows that stop or start being input facts. On `OverBudget` the caller undoes the epoch.
        """
        marks = self.judge.marks
        for each in marks.values():
            each.ensure_room()
        own = {name: self.heads.own_inputs(name, change) for name, change in inputs.items()}
        affected = self._lose(own)
        self.heads.meter.end_first_sweep()
        for name, rows in affected.items():
            marks[name].drop(rows)
        for name, change in own.items():
            self.heads.offer_inputs(name, change.inserted)
        self._offer_again(affected)
        self.push_changed(lost=False)
        self._settle()
        return row_deltas(marks)

    # --- sweep 1 ------------------------------------------------------------------------------

    def _lose(self, inputs: Mapping[str, RowDelta]) -> dict[str, Int64s]:
        """Mark and return the facts whose level grows or that vanish."""
        for name, change in inputs.items():
            self.heads.lose_inputs(name, change.deleted)
        self.push_changed(lost=True)
        found: dict[str, list[Int64s]] = defaultdict(list)
        while (current := self.heads.next_affected()) is not None:
            for name, rows in current.items():
                found[name].append(rows)
            self._mark(current, CURRENT)
            self._push_own(self.kept, current, self._losing)
            self._mark(current, AFFECTED)
        return {name: np.concatenate(rows) for name, rows in found.items()}

    # --- sweep 2 ------------------------------------------------------------------------------

    def _offer_again(self, affected: Rows) -> None:
        """Offer affected facts the derivations they have from facts that are not affected."""
        asking = self.heads.ask(affected)
        for rule in self.rules:
            if rule.relation not in asking:
                continue
            rows, tags, was_input = asking[rule.relation]
            if not self._is_asked_by_all(rule):
                # Its derivations all have level 1: an affected derived fact has lost them all, and new
                # ones come from what changed. Only a former input fact may have some left.
                rows, tags = rows[was_input], tags[was_input]
            if tags.size:
                sink = self._offering_again(rule)
                self.derivations.backward_from(rule, rows, tags, sink, in_threads=self._in_threads)

    def _offering_again(self, rule: FlatRule) -> Sink:
        def sink(batch: CodeArray) -> None:
            with self._taking:
                among = self.heads.claim(rule, batch, 1)
            keep, levels = self.judge.holding(rule, batch, 1, among)
            with self._taking:
                self.heads.offer_again(rule.relation, batch[keep, 0].astype(np.int64), levels)

        return sink

    def _is_asked_by_all(self, rule: FlatRule) -> bool:
        """Say whether all affected heads of a rule look for its derivations, not only input facts."""
        return self.heads.asks_every_rule or self.judge.is_recursive(rule)

    # --- sweep 3 ------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Settle offers in increasing order."""
        while (current := self.heads.next_settled()) is not None:
            self._push_own(self.rules, current, self._offering_better)
            self._mark(current, UNTOUCHED)

    # --- what derivations do to their heads ---------------------------------------------------

    def changing(self, rule: FlatRule, place: int, *, lost: bool) -> Sink:
        """Return the sink of derivations that were lost at a literal, or became possible there."""
        return self._losing(rule, place) if lost else self._offering_new(rule, place)

    def _losing(self, rule: FlatRule, place: int) -> Sink:
        return self._sink(rule, partial(self.judge.lost, place=place), self.heads.lose)

    def _offering_new(self, rule: FlatRule, place: int) -> Sink:
        offer = partial(self.heads.offer_new, asked_by_all=self._is_asked_by_all(rule))
        return self._sink(rule, partial(self.judge.gained, place=place), offer)

    def _offering_better(self, rule: FlatRule, place: int) -> Sink:
        return self._sink(rule, partial(self.judge.improved, place=place), self.heads.offer_better)

    def _sink(self, rule: FlatRule, judge: Callable[..., Judged], take: Callable[..., None]) -> Sink:
        """Return the sink that lets heads take the derivations that count, with their levels."""
        arity = len(rule.head.terms)

        def sink(batch: CodeArray) -> None:
            with self._taking:
                among = self.heads.claim(rule, batch, arity)
            keep, *levels = judge(rule, batch, among=among)
            rows = np.ascontiguousarray(batch[keep, :arity])
            with self._taking:
                take(rule.relation, rows, *levels)

        return sink

    # --- finding derivations ------------------------------------------------------------------

    def push_changed(self, *, lost: bool) -> None:
        """Push the derivations that changes of earlier strata and of rules take away, or make possible."""
        for rule, place, rows in self.changed_literals(lost=lost):
            sink = self.changing(rule, place, lost=lost)
            self._push(rule, rule.literals[place], rows, sink)
        for rule in self.rule_change.deleted if lost else self.rule_change.inserted:
            relation = self.judge.relations[rule.literals[0].relation]
            levels = relation.levels_before() if lost else relation.levels[: relation.count]
            rows = np.flatnonzero(levels != ABSENT)
            sink = self.changing(rule, NOWHERE, lost=lost)
            self._push(rule, rule.literals[0], rows, sink)

    def changed_literals(self, *, lost: bool) -> Iterable[ChangedLiteral]:
        """Yield the literals of earlier strata that became false (or true), of rules that stay."""
        return self.judge.changed_literals(self.kept, lost=lost)

    def _push_own(
        self, rules: Iterable[FlatRule], current: Rows, sink_at: Callable[[FlatRule, int], Sink]
    ) -> None:
        """Push the derivations that use current facts of this stratum and are to be found here."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                if literal.relation in current:
                    rows = self.heads.rows_to_follow(rule, place, current[literal.relation])
                    if rows.size:
                        self._push(rule, literal, rows, sink_at(rule, place))

    def _push(self, rule: FlatRule, literal: RuleLiteral, rows: Int64s, sink: Sink) -> None:
        """Push the derivations from rows at a literal, in threads if there are many rows."""
        self.derivations.forward(rule, literal, rows, sink, in_threads=self._in_threads)

    @property
    def _in_threads(self) -> bool:
        return self.heads.are_judged_in_threads

    def _mark(self, rows: Rows, mark: int) -> None:
        for name, numbers in rows.items():
            self.judge.marks[name].set_status(numbers, mark)
