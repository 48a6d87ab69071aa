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
`Heads`: rows that are here (`maintain.heads`) or rows that partners own (`maintain.partners.heads`).
That is the strategy `update`; its relatives in `maintain.strategies` keep other heads.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.epoch_marks import row_deltas
from tidelog.maintain.judge import NOWHERE, EpochJudge, Mask
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.rule_change import NO_RULE_CHANGE, RuleChange
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.judge_row import AFFECTED, CURRENT, UNTOUCHED
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

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


class Heads(Protocol):
    """The facts of a stratum as the sweeps see them: something to take from and to offer to.

    Rows are the contents of heads, numbers those of rows that are kept here.
    """

    @property
    def asks_every_rule(self) -> bool:
        """Say whether a derived fact that is affected may have derivations left by any rule."""

    def claim(self, rule: FlatRule, batch: CodeArray, first: int) -> Mask:
        """Count derivations as work and say which of them are for this process to find."""

    def rows_to_follow(self, rule: FlatRule, place: int, numbers: Int64s) -> Int64s:
        """Return the rows at a literal whose derivations are for this process to find."""

    def own_inputs(self, name: str, change: RowDelta) -> RowDelta:
        """Return the changed input facts that this process answers for."""

    def lose_inputs(self, name: str, numbers: Int64s) -> None:
        """Take from rows that they are input facts."""

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Take from each head a derivation of this level."""

    def next_affected(self) -> Rows | None:
        """Return the affected facts of the lowest level that has any, None at the end."""

    def offer_inputs(self, name: str, numbers: Int64s) -> None:
        """Offer rows to be input facts."""

    def ask(self, affected: Rows) -> Mapping[str, Asking]:
        """Return the affected heads that look for derivations here."""

    def offer_again(self, name: str, tags: Int64s, levels: Int32s) -> None:
        """Offer levels of derivations that asking heads still have."""

    def offer_new(self, name: str, rows: CodeArray, levels: Int32s, *, asked_by_all: bool) -> None:
        """Offer levels of newly possible derivations.

        Affected heads that asked for derivations of the rule have found them already: all of them, or
        those that were input facts.
        """

    def offer_better(self, name: str, rows: CodeArray, levels: Int32s, before: Int32s) -> None:
        """Offer levels of derivations that had higher ones before, or `ABSENT`."""

    def next_settled(self) -> Rows | None:
        """Give the lowest level on offer to the facts that are offered it; return them, None at the end."""


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
        inserted = {rule.id for rule in self.rule_change.inserted}
        self.kept = [rule for rule in self.rules if rule.id not in inserted]

    def run(self, inputs: Mapping[str, RowDelta]) -> dict[str, RowDelta]:
        """Bring the stratum to the new epoch and return what changed.

        `inputs` are rows that stop or start being input facts. On `OverBudget` the caller undoes.
        """
        marks = self.judge.marks
        for each in marks.values():
            each.ensure_room()
        own = {name: self.heads.own_inputs(name, change) for name, change in inputs.items()}
        affected = self._lose(own)
        for name, rows in affected.items():
            marks[name].drop(rows)
        for name, change in own.items():
            self.heads.offer_inputs(name, change.inserted)
        self._offer_again(affected)
        self.push_gained()
        self._settle()
        return row_deltas(marks)

    # --- sweep 1 ------------------------------------------------------------------------------

    def _lose(self, inputs: Mapping[str, RowDelta]) -> dict[str, Int64s]:
        """Mark and return the facts whose level grows or that vanish."""
        for name, change in inputs.items():
            self.heads.lose_inputs(name, change.deleted)
        self.push_lost()
        found: dict[str, list[Int64s]] = defaultdict(list)
        while (current := self.heads.next_affected()) is not None:
            for name, rows in current.items():
                found[name].append(rows)
            self._mark(current, CURRENT)
            for rule, place, rows in self._own_literals(self.kept, current):
                sink = self.losing(rule, place)
                self.derivations.forward(rule, rule.literals[place], rows, sink)
            self._mark(current, AFFECTED)
        return {name: np.concatenate(rows) for name, rows in found.items()}

    def push_lost(self) -> None:
        """Push the derivations that changes of earlier strata and of rules take away."""
        for rule, place, rows in self.changed_literals(self.kept, lost=True):
            sink = self.losing(rule, place)
            self.derivations.forward(rule, rule.literals[place], rows, sink)
        for rule in self.rule_change.deleted:
            relation = self._first_relation(rule)
            rows = np.flatnonzero(relation.previous[: relation.count] != ABSENT)
            self.derivations.forward(rule, rule.literals[0], rows, self.losing(rule, NOWHERE))

    def losing(self, rule: FlatRule, place: int) -> Sink:
        """Return the sink that takes lost derivations from their heads."""
        arity = len(rule.head.terms)

        def sink(batch: CodeArray) -> None:
            mine = self.heads.claim(rule, batch, arity)
            keep, levels = self.judge.lost(rule, batch, place, mine)
            self.heads.lose(rule.relation, np.ascontiguousarray(batch[keep, :arity]), levels)

        return sink

    # --- sweep 2 ------------------------------------------------------------------------------

    def _offer_again(self, affected: Rows) -> None:
        """Let affected facts be derived by what is not affected."""
        asking = self.heads.ask(affected)
        for rule in self.rules:
            if rule.relation not in asking:
                continue
            rows, tags, was_input = asking[rule.relation]
            if not self._is_asked_by_all(rule):
                # Its derivations all have level 1: a derived fact that is affected has lost them, and
                # the new ones come from what changed. Only what was an input fact may have kept some.
                rows, tags = rows[was_input], tags[was_input]
            if tags.size:
                self.derivations.backward_from(rule, rows, tags, self._offering_again(rule))

    def _offering_again(self, rule: FlatRule) -> Sink:
        def sink(batch: CodeArray) -> None:
            keep, levels = self.judge.holding(rule, batch, 1, self.heads.claim(rule, batch, 1))
            self.heads.offer_again(rule.relation, batch[keep, 0].astype(np.int64), levels)

        return sink

    def push_gained(self) -> None:
        """Push the derivations that changes of earlier strata and of rules make possible."""
        for rule, place, rows in self.changed_literals(self.kept, lost=False):
            self.derivations.forward(rule, rule.literals[place], rows, self.offering_new(rule, place))
        for rule in self.rule_change.inserted:
            relation = self._first_relation(rule)
            rows = np.flatnonzero(relation.levels[: relation.count] != ABSENT)
            self.derivations.forward(rule, rule.literals[0], rows, self.offering_new(rule, NOWHERE))

    def offering_new(self, rule: FlatRule, place: int) -> Sink:
        """Return the sink that offers the level of each newly possible derivation to its head."""
        arity = len(rule.head.terms)
        asked_by_all = self._is_asked_by_all(rule)

        def sink(batch: CodeArray) -> None:
            mine = self.heads.claim(rule, batch, arity)
            keep, levels = self.judge.gained(rule, batch, place, mine)
            heads = np.ascontiguousarray(batch[keep, :arity])
            self.heads.offer_new(rule.relation, heads, levels, asked_by_all=asked_by_all)

        return sink

    def _is_asked_by_all(self, rule: FlatRule) -> bool:
        """Say whether all affected heads of a rule look for its derivations, not only input facts."""
        return self.heads.asks_every_rule or self.judge.is_recursive(rule)

    # --- sweep 3 ------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Settle offers in increasing order."""
        while (current := self.heads.next_settled()) is not None:
            for rule, place, rows in self._own_literals(self.rules, current):
                sink = self._offering_better(rule, place)
                self.derivations.forward(rule, rule.literals[place], rows, sink)
            self._mark(current, UNTOUCHED)

    def _offering_better(self, rule: FlatRule, place: int) -> Sink:
        """Return the sink that offers heads the levels that settled facts made smaller."""
        arity = len(rule.head.terms)

        def sink(batch: CodeArray) -> None:
            mine = self.heads.claim(rule, batch, arity)
            keep, levels, before = self.judge.improved(rule, batch, place, mine)
            heads = np.ascontiguousarray(batch[keep, :arity])
            self.heads.offer_better(rule.relation, heads, levels, before)

        return sink

    # --- shared -------------------------------------------------------------------------------

    def changed_literals(
        self, rules: Iterable[FlatRule], *, lost: bool
    ) -> Iterable[tuple[FlatRule, int, Int64s]]:
        """Yield the literals of earlier strata that became false (or true) with the rows that did it."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                change = self.judge.earlier.get(literal.relation)
                if change is None or literal.relation in self.judge.marks:
                    continue
                rows = change.deleted if lost != literal.is_negated else change.inserted
                if rows.size:
                    yield rule, place, rows

    def _own_literals(
        self, rules: Iterable[FlatRule], current: Rows
    ) -> Iterable[tuple[FlatRule, int, Int64s]]:
        """Yield the literals of this stratum with the rows that stand for derivations found here."""
        for rule in rules:
            for place, literal in enumerate(rule.literals):
                if literal.relation in current:
                    rows = self.heads.rows_to_follow(rule, place, current[literal.relation])
                    if rows.size:
                        yield rule, place, rows

    def _mark(self, rows: Rows, mark: int) -> None:
        for name, numbers in rows.items():
            self.judge.marks[name].status[numbers] = mark

    def _first_relation(self, rule: FlatRule) -> StoredRelation:
        return self.judge.relations[rule.literals[0].relation]
