"""The strategies `elastic-lazy` and `elastic-eager`: one iteration after the other, as evaluation runs them.

`update` sweeps through the facts that are affected. These strategies keep the same state, levels and counts,
but go through all iterations again and correct each. With `I` and `N` the facts that hold up to an iteration
and the facts that first hold in it, with `old` for the epoch before, iteration `k` does this:

    deletion       takes derivations over old I[k-1] with a fact of old N[k-1] and one that is deleted
    insertion      adds derivations over I[k-1] with a fact of N[k-1] and one that is inserted
    re-discovery   adds derivations over both I[k-1] with a fact of N[k-1], for heads that were deleted
    sparsifying    leaves out heads that the new epoch has in an earlier iteration already

Up to iteration `k - 1` a fact is deleted if it was in old I[k-1] and is not in I[k-1], and inserted in the
opposite case; both may change again in iteration `k`. So re-discovery looks at all deleted facts in every
iteration, which is what `update` avoids: there an affected fact looks for derivations once.

The two strategies differ in when they check whether a fact is really deleted or inserted. `elastic-eager`
checks every fact that lost or gained a derivation once, at the end of each iteration, and keeps those that
are. `elastic-lazy` keeps all of them and checks each derivation that it finds through one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.steps import Sink
from tidelog.maintain.epoch_marks import row_deltas
from tidelog.maintain.heads import WorkMeter
from tidelog.maintain.judge import EpochJudge, Mask
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.strategies.elastic_rows import ElasticRows
from tidelog.maintain.work import level_work
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

# The literals at which derivations start, and the rows there.
_Starts = Sequence[tuple[int, Int64s]]
_Heads = dict[str, list[Int64s]]


class _Levels(NamedTuple):
    """The levels that the facts of derivations had and have; a row per literal, `ABSENT` where none holds."""

    was: Int32s
    now: Int32s

    def are_deleted(self, last: int) -> Mask:
        """Say which facts were there up to an iteration and no longer are."""
        return (self.was <= last) & (self.now > last)

    def are_inserted(self, last: int) -> Mask:
        """Say which facts are there up to an iteration and were not."""
        return (self.now <= last) & (self.was > last)


@dataclass
class ElasticUpdate:
    """One epoch of one stratum; see above."""

    rules: Sequence[FlatRule]
    judge: EpochJudge
    derivations: LocalDerivations
    meter: WorkMeter
    check_level: Callable[[int], None]
    is_eager: bool

    def run(self, inputs: Mapping[str, RowDelta]) -> dict[str, RowDelta]:
        """Advance the stratum to the new epoch and return what changed.

        `inputs` are rows that stop or start being input facts. On `OverBudget` the caller undoes the epoch.
        """
        marks = self.judge.marks
        for each in marks.values():
            each.ensure_room()
        self._rows = {
            name: ElasticRows(self.judge.relations[name], marks[name], is_eager=self.is_eager)
            for name in marks
        }
        for name, change in inputs.items():
            self._rows[name].change_inputs(change)
        last = max((rows.last_level for rows in self._rows.values()), default=0)
        iteration = 1
        # The iteration after the last of the old epoch too: facts that stay there may derive new ones.
        while iteration <= last + 1 or any(rows.is_entered(iteration - 1) for rows in self._rows.values()):
            self._correct(iteration)
            if any(rows.is_entered(iteration) for rows in self._rows.values()):
                self.check_level(iteration)
            iteration += 1
        return row_deltas(marks)

    def _correct(self, iteration: int) -> None:
        """Give the facts of one iteration their new counts; find those that enter and leave it."""
        lost: _Heads = defaultdict(list)
        gained: _Heads = defaultdict(list)
        for rule in self.rules:
            self._delete(rule, iteration - 1, lost)
            self._insert(rule, iteration - 1, gained)
            self._rediscover(rule, iteration - 1, gained)
        for name, rows in self._rows.items():
            if name in lost or name in gained:
                uncounted = rows.take(iteration, _joined(lost[name]), _joined(gained[name]))
                if uncounted.size:
                    self._count(name, iteration - 1, uncounted)
                rows.end(iteration)
                self.meter.spend(level_work(rows.changed))
            else:
                rows.end(iteration)

    # --- the three terms ------------------------------------------------------------------------

    def _delete(self, rule: FlatRule, last: int, lost: _Heads) -> None:
        """Find the derivations of old level `last + 1` that lost a fact."""
        head = self.judge.relations[rule.relation]

        def take(batch: CodeArray, levels: _Levels, begin: Mask, arity: int) -> None:
            keep = begin & (levels.was.max(axis=0) == last) & (levels.now.max(axis=0) > last)
            if keep.any():
                numbers = head.find(np.ascontiguousarray(batch[keep, :arity]))
                is_tight = (head.levels_before(numbers) == last + 1) & (head.levels[numbers] == last + 1)
                lost[rule.relation].append(numbers[is_tight])

        self._push(rule, last, take, lost=True)

    def _insert(self, rule: FlatRule, last: int, gained: _Heads) -> None:
        """Find the derivations of level `last + 1` that gained a fact."""
        head = self.judge.relations[rule.relation]

        def take(batch: CodeArray, levels: _Levels, begin: Mask, arity: int) -> None:
            keep = begin & (levels.now.max(axis=0) == last) & (levels.was.max(axis=0) > last)
            if keep.any():
                numbers = head.locate(np.ascontiguousarray(batch[keep, :arity]))
                self.judge.marks[rule.relation].ensure_room()
                gained[rule.relation].append(numbers[head.levels[numbers] > last])

        self._push(rule, last, take, lost=False)

    def _rediscover(self, rule: FlatRule, last: int, gained: _Heads) -> None:
        """Find the derivations of level `last + 1` over unchanged facts that deleted heads still have."""
        heads = self._rows[rule.relation].deleted
        if not heads.size:
            return
        starts = self._at_level(rule, last, was=False) if last else ()
        if last and _size(starts) < heads.size:
            self._rediscover_forward(rule, last, gained, starts)
            return

        def sink(batch: CodeArray) -> None:
            self.meter.spend(batch.shape[0])
            levels = self._levels(rule, batch, 1)
            self._keep_deleted(rule, batch[:, 0].astype(np.int64), levels, last, gained)

        self.derivations.backward(rule, heads, sink)

    def _rediscover_forward(self, rule: FlatRule, last: int, gained: _Heads, starts: _Starts) -> None:
        """Do the same from the facts of the iteration before, where those are fewer than the heads."""
        head = self.judge.relations[rule.relation]

        def take(batch: CodeArray, levels: _Levels, begin: Mask, arity: int) -> None:
            if begin.any():
                numbers = head.find(np.ascontiguousarray(batch[begin, :arity]))
                begun = _Levels(levels.was[:, begin], levels.now[:, begin])
                is_known = numbers >= 0
                known = _Levels(begun.was[:, is_known], begun.now[:, is_known])
                self._keep_deleted(rule, numbers[is_known], known, last, gained)

        self._run(rule, starts, take, lambda levels: levels.now == last)

    def _keep_deleted(
        self, rule: FlatRule, numbers: Int64s, levels: _Levels, last: int, gained: _Heads
    ) -> None:
        head = self.judge.relations[rule.relation]
        is_deleted = (head.levels_before(numbers) <= last) & (head.levels[numbers] > last)
        keep = is_deleted & (levels.now.max(axis=0) == last) & (levels.was.max(axis=0) <= last)
        if keep.any():
            gained[rule.relation].append(numbers[keep])

    def _count(self, name: str, last: int, numbers: Int64s) -> None:
        """Count all derivations of level `last + 1` that facts have now."""
        head = self.judge.relations[name]
        for rule in self.rules:
            if rule.relation == name:
                self.derivations.backward(rule, numbers, self._counting(rule, head, last))

    def _counting(self, rule: FlatRule, head: StoredRelation, last: int) -> Sink:
        def sink(batch: CodeArray) -> None:
            self.meter.spend(batch.shape[0])
            keep = self._levels(rule, batch, 1).now.max(axis=0) == last
            np.add.at(head.counts, batch[keep, 0].astype(np.int64), 1)

        return sink

    # --- finding derivations ----------------------------------------------------------------------

    def _push(self, rule: FlatRule, last: int, take: "_Take", *, lost: bool) -> None:
        """Push derivations with a changed fact and one of the iteration before, from the fewer of both."""
        starts = list(self._changed(rule, lost=lost))
        if not starts:
            return
        if last:
            at_level = self._at_level(rule, last, was=lost)
            if _size(at_level) < _size(starts):
                self._run(rule, at_level, take, lambda levels: (levels.was if lost else levels.now) == last)
                return
        changed = _Levels.are_deleted if lost else _Levels.are_inserted
        self._run(rule, starts, take, lambda levels: changed(levels, last))

    def _changed(self, rule: FlatRule, *, lost: bool) -> Iterator[tuple[int, Int64s]]:
        """Yield the literals of a rule where facts are deleted, or inserted, with the rows."""
        for place, literal in enumerate(rule.literals):
            if literal.relation in self._rows:
                own = self._rows[literal.relation]
                rows = own.deleted if lost else own.inserted
            else:
                change = self.judge.earlier.get(literal.relation)
                if change is None:
                    continue
                rows = change.deleted if lost != literal.is_negated else change.inserted
            if rows.size:
                yield place, rows

    def _at_level(self, rule: FlatRule, level: int, *, was: bool) -> _Starts:
        """Return the literals of the rule's own stratum with the facts of one iteration there."""
        return [
            (place, self._rows[literal.relation].at(level, was=was))
            for place, literal in enumerate(rule.literals)
            if literal.relation in self._rows
        ]

    def _run(self, rule: FlatRule, starts: _Starts, take: "_Take", begins: Callable[[_Levels], Mask]) -> None:
        """Push the derivations from rows at literals; each begins at the first literal with such a row."""
        arity = len(rule.head.terms)
        for place, rows in starts:

            def sink(batch: CodeArray, place: int = place) -> None:
                self.meter.spend(batch.shape[0])
                levels = self._levels(rule, batch, arity)
                begun = begins(levels)
                take(batch, levels, begun[place] & ~begun[:place].any(axis=0), arity)

            if rows.size:
                self.derivations.forward(rule, rule.literals[place], rows, sink)

    def _levels(self, rule: FlatRule, batch: CodeArray, first: int) -> _Levels:
        """Return the levels of the facts of each derivation in both epochs; of other strata they are 0."""
        # One more row than literals, so that a rule without any has a level too.
        shape = len(rule.literals) + 1, batch.shape[0]
        levels = _Levels(np.zeros(shape, np.int32), np.zeros(shape, np.int32))
        for place, literal in enumerate(rule.literals):
            relation = self.judge.relations[literal.relation]
            numbers = batch[:, first + place]
            if literal.relation in self._rows:
                levels.was[place] = relation.levels_before(numbers)
                levels.now[place] = relation.levels[numbers]
            elif literal.is_negated or literal.relation in self.judge.earlier:
                of_rows = relation.levels_before(numbers), relation.levels[numbers]
                for found, of_epoch in zip(levels, of_rows, strict=True):
                    is_fact = (numbers >= 0) & (of_epoch != ABSENT)
                    found[place] = np.where(is_fact != literal.is_negated, 0, ABSENT)
        return levels


_Take = Callable[[CodeArray, _Levels, Mask, int], None]


def _joined(parts: Sequence[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _size(starts: _Starts) -> int:
    return sum(rows.size for _, rows in starts)
