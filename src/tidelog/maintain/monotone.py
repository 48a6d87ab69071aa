"""Changes of strata with aggregates over themselves: delete whatever may be affected, derive it again.

More facts never let such aggregates derive less, so a stratum is the least set of facts closed under its
rules. First every fact is deleted that has a derivation through something lost, whether as a premise or as
a member of a group, and so on from these. What is left still has its derivations. Then the deleted facts
look for derivations from what is left, inserted facts start new ones, and both continue until nothing more
is found.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import Sink
from tidelog.maintain.epoch_marks import EpochMarks, row_deltas
from tidelog.maintain.judge import EpochJudge, Mask, levels_now
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.plan.own_rules import OwnForm
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s

Rows = dict[str, Int64s]


@dataclass
class MonotoneUpdate:
    """One epoch of one stratum; `earlier` is what changed in earlier strata."""

    forms: Sequence[OwnForm]
    state: LocalState
    marks: Mapping[str, EpochMarks]
    earlier: Mapping[str, RowDelta]
    derivations: LocalDerivations
    check_level: Callable[[int], None]

    def run(self, inputs: Mapping[str, RowDelta]) -> dict[str, RowDelta]:
        """Advance the stratum to the new epoch and return what changed."""
        for marks in self.marks.values():
            marks.ensure_room()
        deleted = self._delete(inputs)
        hidden = {name: change.deleted for name, change in self.earlier.items() if change.deleted.size}
        for name, rows in (*hidden.items(), *deleted.items()):
            self.state.relations[name].delete_rows(rows)
        try:
            self._derive(inputs, deleted)
        finally:
            for name, rows in (*hidden.items(), *deleted.items()):
                # Until the epoch ends, deleted facts stay visible to later strata.
                self.state.relations[name].show_rows(rows)
            self.state.changes += 1
        for marks in self.marks.values():
            rows = marks.touched()
            marks.relation.counts[rows[marks.relation.levels[rows] == ABSENT]] = 0
        return row_deltas(self.marks)

    # --- what may be concerned -------------------------------------------------------------------

    def _delete(self, inputs: Mapping[str, RowDelta]) -> Rows:
        """Remove the level of every fact that may have lost a derivation; return these facts."""
        found: dict[str, list[Int64s]] = defaultdict(list)
        current: Rows = {}

        def lose(name: str, numbers: Int64s) -> None:
            relation, marks = self.state.relations[name], self.marks[name]
            numbers = np.unique(numbers)
            numbers = numbers[(relation.levels[numbers] != ABSENT) & (relation.levels[numbers] != 0)]
            marks.touch(numbers)
            relation.levels[numbers] = ABSENT
            found[name].append(numbers)
            current[name] = np.concatenate([current[name], numbers]) if name in current else numbers

        for name, change in inputs.items():
            relation = self.state.relations[name]
            self.marks[name].ensure_room()
            self.marks[name].touch(change.deleted)
            # No longer an input fact: it is deleted like a fact that lost a derivation.
            relation.levels[change.deleted] = 1
            lose(name, change.deleted)
        for form in self.forms:
            for literal, rows in self._changed(form.loose, form.first_loose, lost=True):
                self.derivations.forward(form.loose, literal, rows, self._heads(form.loose, lose))
        while any(rows.size for rows in current.values()):
            going, current = current, {}
            for form, literal in self._literals(going, exact=False):
                self.derivations.forward(
                    form.loose, literal, going[literal.relation], self._heads(form.loose, lose)
                )
        return {name: np.concatenate(parts) for name, parts in found.items() if parts}

    def _heads(self, rule: FlatRule, take: Callable[[str, Int64s], None]) -> Sink:
        """Return the sink that takes those heads that are rows of their relation."""
        arity = len(rule.head.terms)
        relation = self.state.relations[rule.relation]

        def sink(batch: CodeArray) -> None:
            numbers = relation.find(np.ascontiguousarray(batch[:, :arity]))
            take(rule.relation, numbers[numbers >= 0])

        return sink

    # --- what is derived again, or newly -----------------------------------------------------------

    def _derive(self, inputs: Mapping[str, RowDelta], deleted: Rows) -> None:
        """Derive deleted facts again and new ones, iteration by iteration."""
        new: dict[str, list[Int64s]] = defaultdict(list)

        def offer(name: str, numbers: Int64s) -> None:
            relation, marks = self.state.relations[name], self.marks[name]
            marks.ensure_room()
            numbers = np.unique(numbers)
            numbers = numbers[relation.levels[numbers] == ABSENT]
            if numbers.size:
                marks.touch(numbers)
                relation.levels[numbers] = 1
                relation.counts[numbers] = 1
                new[name].append(numbers)

        for name, change in inputs.items():
            self.marks[name].ensure_room()
            self.marks[name].touch(change.inserted)
            offer(name, change.inserted)
            self.state.relations[name].levels[change.inserted] = 0
        for form in self.forms:
            if not form.first_exact and form.exact.relation in deleted:
                rows = deleted[form.exact.relation]
                self.derivations.backward(form.exact, rows, self._backward(form.exact, offer))
            for literal, rows in self._changed(form.exact, form.first_exact, lost=False):
                self.derivations.forward(form.exact, literal, rows, self._forward(form.exact, offer))
        iteration = 0
        while new:
            iteration += 1
            # Input facts, which have level 0, are the first to be followed.
            self.check_level(iteration - 1)
            coming = {name: np.concatenate(parts) for name, parts in new.items()}
            new.clear()
            for name, rows in coming.items():
                self.state.relations[name].show_rows(rows)
            self.state.changes += 1
            for form, literal in self._literals(coming, exact=True):
                self.derivations.forward(
                    form.exact, literal, coming[literal.relation], self._forward(form.exact, offer)
                )

    def _forward(self, rule: FlatRule, offer: Callable[[str, Int64s], None]) -> Sink:
        """Return the sink that offers the heads of derivations that hold."""
        arity = len(rule.head.terms)
        relation = self.state.relations[rule.relation]

        def sink(batch: CodeArray) -> None:
            heads = batch[self._hold(rule, batch, arity), :arity]
            offer(rule.relation, relation.locate(np.ascontiguousarray(heads)))

        return sink

    def _backward(self, rule: FlatRule, offer: Callable[[str, Int64s], None]) -> Sink:
        def sink(batch: CodeArray) -> None:
            offer(rule.relation, batch[self._hold(rule, batch, 1), 0].astype(np.int64))

        return sink

    def _hold(self, rule: FlatRule, batch: CodeArray, first: int) -> Mask:
        """Say which derivations use only facts that hold now."""
        holds: Mask = levels_now(self.state.relations, (), rule, batch, first) != ABSENT
        return holds

    # --- shared ------------------------------------------------------------------------------------

    def _changed(self, rule: FlatRule, first: int, *, lost: bool) -> Iterator[tuple[RuleLiteral, Int64s]]:
        """Yield the literals of earlier strata that became false (or true) with the rows that did it."""
        judge = EpochJudge(self.state.relations, self.marks, self.earlier)
        for _, place, rows in judge.changed_literals([rule], lost=lost):
            if rule.literals[place].place >= first:
                yield rule.literals[place], rows

    def _literals(self, rows: Rows, *, exact: bool) -> Iterator[tuple[OwnForm, RuleLiteral]]:
        """Yield the literals that rows of this stratum can match."""
        for form in self.forms:
            rule, first = (form.exact, form.first_exact) if exact else (form.loose, form.first_loose)
            for literal in rule.literals:
                if literal.relation in rows and literal.place >= first and rows[literal.relation].size:
                    yield form, literal
