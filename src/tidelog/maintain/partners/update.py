"""One epoch of one stratum, maintained by equal partners.

The sweeps are those of `maintain.update`. A derivation is enumerated by the one partner that its rule's
dividing variable names, where all rows it uses are at hand with their levels. What it means for its
head, a lost derivation or an offered level, is sent to the head's owner. Before a level's facts are
followed further, their owners tell the partners that keep copies of them.

All partners go through the same levels, and give up together: the work of all is added up at every level.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.derive import LocalDerivations, Sink, SinkStep
from tidelog.engine.local.steps import BUFFER_ROWS
from tidelog.engine.spark.kernels import WHOLE_ROW, sort_by_owner
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.partner import copies_to_send, owned_rows, owner_of
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.maintain.judge import EpochJudge, Mask
from tidelog.maintain.labels import AFFECTED, CURRENT, UNTOUCHED, RelationLabels, rows_by_level
from tidelog.maintain.row_change import RowChange
from tidelog.maintain.update import OverBudget
from tidelog.maintain.work import level_work
from tidelog.plan.maintenance import MaintainedRule, backward_chain
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

_NEVER = int(ABSENT)
# What is sent to the owner of a head, told apart by the first letter of the table's name.
_LOST = "l"
_FOUND_BACKWARD = "b"
_POSSIBLE = "n"
_POSSIBLE_ONCE = "m"
_RELAXED = "o"


class PartnerDerivations(LocalDerivations):
    """Chains from rows to derivations, also from head rows that another partner holds."""

    def backward_rows(self, rule: MaintainedRule, heads: CodeArray, sink: Sink) -> None:
        """Push the derivations of heads given by their content: the head's position, then literals."""
        key = (rule.rule.id, -1)
        known = self._chains.get(key)
        if known is None:
            end = SinkStep()
            operators = backward_chain(rule, self._state.program, self._statistics)
            known = (make_chain(operators, self._state, self._expressions, end), end)
            self._chains[key] = known
        chain, end = known
        end.sink = sink
        self._refresh()
        for first in range(0, heads.shape[0], BUFFER_ROWS):
            piece = heads[first : first + BUFFER_ROWS]
            batch = np.empty((piece.shape[0], piece.shape[1] + 1), self._state.dtype)
            batch[:, :-1] = piece
            batch[:, -1] = np.arange(first, first + piece.shape[0])
            chain.first.run(batch)


@dataclass
class PartnerUpdate(EpochJudge):
    """One partner's part in one epoch of one stratum; see `maintain.update.StratumUpdate`."""

    rules: Sequence[MaintainedRule]
    routes: Routes
    relations: Mapping[str, StoredRelation]
    labels: Mapping[str, RelationLabels]
    earlier: Mapping[str, RowChange]
    derivations: PartnerDerivations
    wire: Wire
    budget: float
    check_level: Callable[[int], None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        self._derivations_seen = 0
        self._work_before = self.derivations.work
        self._level_work = 0
        self._outbox: dict[str, list[tuple[CodeArray, Int32s]]] = defaultdict(list)
        self._buckets: dict[int, dict[str, list[Int64s]]] = defaultdict(lambda: defaultdict(list))
        self.work = 0

    def run(self, inputs: Mapping[str, RowChange]) -> dict[str, RowChange]:
        """Bring the stratum to the new epoch; return the rows kept here that were or became facts.

        `inputs` are all rows kept here that stop or start being input facts.
        """
        for labels in self.labels.values():
            labels.ensure_room()
        own = {name: self._owned(name, change) for name, change in inputs.items()}
        affected = self._find_affected(own)
        for name, rows in affected.items():
            self.labels[name].drop(rows)
        for name, change in own.items():
            self._offer(name, change.inserted, np.zeros(change.inserted.size, np.int32))
        self._offer_backward(affected)
        self._offer_new()
        self._settle()
        return self._changes()

    def _owned(self, name: str, change: RowChange) -> RowChange:
        rows = self.relations[name].rows
        route = self.routes.relations[name]
        parts = (
            numbers[owned_rows(rows[numbers], route, self.wire)]
            for numbers in (change.deleted, change.inserted)
        )
        return RowChange(*parts)

    # --- sweep 1 ------------------------------------------------------------------------------

    def _find_affected(self, inputs: Mapping[str, RowChange]) -> dict[str, Int64s]:
        """Mark and return the rows kept here whose level grows or that vanish."""
        for name, change in inputs.items():
            self._lose(name, change.deleted)
        for rule, place, rows in self.changed_literals(self.rules, lost=True):
            sink = self._losing(rule, place, by_earlier=True)
            self.derivations.forward(rule, rule.literals[place], rows, sink)
        found: dict[str, list[Int64s]] = defaultdict(list)
        while True:
            for _, name, rows, levels in self._deliver():
                numbers = self.relations[name].find(rows)
                self._lose(name, numbers[self.relations[name].levels[numbers] == levels])
            current = self._next_affected()
            if current is None:
                return {name: np.concatenate(parts) for name, parts in found.items()}
            for name, numbers in current.items():
                self.labels[name].touch(numbers)
                self.labels[name].marks[numbers] = CURRENT
                found[name].append(numbers)
            for rule, place, rows in self._stratum_literals(current):
                sink = self._losing(rule, place, by_earlier=False)
                self.derivations.forward(rule, rule.literals[place], rows, sink)
            for name, numbers in current.items():
                self.labels[name].marks[numbers] = AFFECTED

    def _lose(self, name: str, numbers: Int64s) -> None:
        """Take a derivation from each row owned here; remember the rows that have none left."""
        if numbers.size:
            exhausted = self.labels[name].lose(numbers)
            for level, rows in rows_by_level(self.relations[name].levels, exhausted):
                self._buckets[level][name].append(rows)

    def _next_affected(self) -> dict[str, Int64s] | None:
        """Return the rows kept here of the lowest level at which facts are affected, None at the end."""
        lowest = min(self._buckets, default=_NEVER)
        rows = {}
        for name, parts in self._buckets.get(lowest, {}).items():
            numbers = np.unique(np.concatenate(parts))
            rows[name] = numbers[self.labels[name].marks[numbers] == UNTOUCHED]
        messages = self._tell_copies(rows, lowest)
        level = min(message.numbers[0] for message in messages)
        if level == _NEVER:
            self._check_work(messages)
            return None
        self._spend_level(messages, level)
        if lowest == level:
            del self._buckets[lowest]
        else:
            rows = {}
        current = {name: [numbers] for name, numbers in rows.items() if numbers.size}
        for partner, message in enumerate(messages):
            if partner != self.wire.me and message.numbers[0] == level:
                for table in message.tables:
                    numbers = self.relations[table.name].find(table.rows)
                    current.setdefault(table.name, []).append(numbers)
        return {name: np.concatenate(parts) for name, parts in current.items()}

    def _losing(self, rule: MaintainedRule, place: int, *, by_earlier: bool) -> Sink:
        """Return the sink that takes lost derivations from their heads."""
        arity = len(rule.rule.head.terms)

        def sink(batch: CodeArray) -> None:
            mine = self._belongs(rule, batch, arity)
            keep, levels = self.lost(rule, batch, place, mine, by_earlier=by_earlier)
            self._send(_LOST, rule.relation, batch[keep, :arity], levels)

        return sink

    # --- sweep 2 ------------------------------------------------------------------------------

    def _offer_backward(self, affected: Mapping[str, Int64s]) -> None:
        """Let affected facts be derived by what is not affected, at whichever partner that is."""
        asking: dict[str, list[tuple[CodeArray, Int32s]]] = defaultdict(list)
        for message in self._tell_all(affected):
            for table in message.tables:
                asking[table.name].append((table.rows, table.weights))
        for rule in self.rules:
            if rule.relation not in asking:
                continue
            heads = np.concatenate([rows for rows, _ in asking[rule.relation]])
            if not self.is_recursive(rule):
                # Its derivations all have level 1: only a fact that was given may have kept some.
                was_given = np.concatenate([given for _, given in asking[rule.relation]])
                heads = heads[was_given == 1]
            if heads.shape[0]:
                self.derivations.backward_rows(rule, heads, self._offering(rule, heads))
        self._take_offers()

    def _tell_all(self, affected: Mapping[str, Int64s]) -> list[Message]:
        """Tell all partners the affected rows that this one owns, and which of them were given."""
        tables = []
        for name, numbers in affected.items():
            relation, route = self.relations[name], self.routes.relations[name]
            own = numbers[owned_rows(relation.rows[numbers], route, self.wire)]
            was_given = (relation.previous[own] == 0).astype(np.int32)
            tables.append(Rows(name, relation.rows[own], was_given))
        return self.wire.exchange([Message((), tuple(tables))] * self.wire.partners)

    def _offer_new(self) -> None:
        """Let derivations that changes of earlier strata made possible offer levels to their heads."""
        for rule, place, rows in self.changed_literals(self.rules, lost=False):
            sink = self._offering(rule, None, place)
            self.derivations.forward(rule, rule.literals[place], rows, sink)
        self._take_offers()

    def _offering(self, rule: MaintainedRule, heads: CodeArray | None, place: int | None = None) -> Sink:
        """Return the sink that offers levels to heads, by their positions in `heads` if those are given."""
        columns = 1 if heads is not None else len(rule.rule.head.terms)

        def sink(batch: CodeArray) -> None:
            mine = self._belongs(rule, batch, columns)
            keep, levels = self.possible(rule, batch, columns, place, mine)
            if heads is not None:
                self._send(_FOUND_BACKWARD, rule.relation, heads[batch[keep, 0]], levels)
                return
            kind = _POSSIBLE if self.is_recursive(rule) else _POSSIBLE_ONCE
            self._send(kind, rule.relation, batch[keep, :columns], levels)

        return sink

    def _take_offers(self) -> None:
        """Exchange offers and make those that came for heads owned here."""
        for kind, name, rows, levels in self._deliver():
            numbers = self._locate(name, rows)
            is_open = np.ones(numbers.size, np.bool_)
            if kind in (_POSSIBLE, _POSSIBLE_ONCE):
                # An affected head found it going backward, unless its rule was not asked.
                is_open = self.labels[name].marks[numbers] != AFFECTED
                if kind == _POSSIBLE_ONCE:
                    is_open |= self.relations[name].previous[numbers] != 0
            self._offer(name, numbers[is_open], levels[is_open])

    def _offer(self, name: str, numbers: Int64s, levels: Int32s) -> None:
        if numbers.size:
            labels = self.labels[name]
            improved = labels.offer(numbers, np.ascontiguousarray(levels, np.int32))
            for label, rows in rows_by_level(labels.tentative, improved):
                self._buckets[label - 1][name].append(rows)

    # --- sweep 3 ------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Settle offers in increasing order, all partners at the same level."""
        while True:
            lowest = min(self._buckets, default=_NEVER)
            here = Message((lowest, self._own_work()))
            messages = self.wire.exchange([here] * self.wire.partners)
            level = min(message.numbers[0] for message in messages)
            self._check_work(messages)
            if level == _NEVER:
                return
            current = self._settle_level(level)
            for rule, place, rows in self._stratum_literals(current):
                self.derivations.forward(rule, rule.literals[place], rows, self._relaxing(rule, place))
            for name, numbers in current.items():
                self.labels[name].marks[numbers] = UNTOUCHED
            self._take_offers()

    def _settle_level(self, level: int) -> dict[str, Int64s]:
        """Settle the rows owned here that are offered this level, and the copies of what others settle."""
        own = {}
        for name, parts in self._buckets.pop(level, {}).items():
            numbers = self.labels[name].take(np.concatenate(parts), level)
            if numbers.size:
                own[name] = numbers
                self.labels[name].settle(numbers)
        current = {name: [numbers] for name, numbers in own.items()}
        messages = self._tell_copies(own, level)
        if any(message.numbers[2] for message in messages):
            self.check_level(level)
            self._spend_level(messages, level)
        for partner, message in enumerate(messages):
            if partner == self.wire.me:
                continue
            for table in message.tables:
                numbers = self._locate(table.name, table.rows)
                labels = self.labels[table.name]
                labels.touch(numbers)
                # As if taken from an offer: a copy has the level its owner settled.
                labels.tentative[numbers] = -(level + 1)
                labels.tentative_counts[numbers] = 1
                labels.settle(numbers)
                current.setdefault(table.name, []).append(numbers)
        return {name: np.concatenate(parts) for name, parts in current.items()}

    def _relaxing(self, rule: MaintainedRule, place: int) -> Sink:
        """Return the sink that offers heads the levels that settled facts made smaller."""
        arity = len(rule.rule.head.terms)

        def sink(batch: CodeArray) -> None:
            mine = self._belongs(rule, batch, arity)
            keep, levels, _ = self.improved(rule, batch, place, mine)
            self._send(_RELAXED, rule.relation, batch[keep, :arity], levels)

        return sink

    def _changes(self) -> dict[str, RowChange]:
        """Return the rows kept here that were or became facts."""
        changes = {}
        for name, labels in self.labels.items():
            rows = labels.touched()
            was = labels.relation.previous[rows] != ABSENT
            now = labels.relation.levels[rows] != ABSENT
            changes[name] = RowChange(rows[was & ~now], rows[now & ~was])
        return changes

    # --- between partners -------------------------------------------------------------------------

    def _send(self, kind: str, relation: str, rows: CodeArray, levels: Int32s) -> None:
        if rows.shape[0]:
            self._outbox[kind + relation].append((np.ascontiguousarray(rows), levels))

    def _deliver(self) -> Iterable[tuple[str, str, CodeArray, Int32s]]:
        """Send what is meant for heads to their owners, and return what came for heads owned here."""
        parcels: list[list[Rows]] = [[] for _ in range(self.wire.partners)]
        for name, parts in self._outbox.items():
            rows = np.concatenate([part for part, _ in parts])
            levels = np.concatenate([part for _, part in parts])
            order = np.empty(rows.shape[0], np.int64)
            ends = np.empty(self.wire.partners, np.int64)
            sort_by_owner(rows, self.routes.relations[name[1:]].owner, self.wire.partners, order, ends)
            for partner, (first, last) in enumerate(zip((0, *ends[:-1]), ends, strict=True)):
                part = order[first:last]
                if part.size:
                    parcels[partner].append(Rows(name, rows[part], levels[part]))
        self._outbox.clear()
        for message in self.wire.exchange([Message((), tuple(parcel)) for parcel in parcels]):
            for table in message.tables:
                yield table.name[0], table.name[1:], table.rows, table.weights

    def _tell_copies(self, rows: Mapping[str, Int64s], level: int) -> list[Message]:
        """Tell partners with copies of these rows, which are owned here, what is the lowest level."""
        parcels: list[list[Rows]] = [[] for _ in range(self.wire.partners)]
        for name, numbers in rows.items():
            content = self.relations[name].rows[numbers]
            for partner, part in copies_to_send(content, self.routes.relations[name], self.wire):
                parcels[partner].append(Rows(name, part))
        numbers_told = (level, self._own_work(), sum(numbers.size for numbers in rows.values()))
        return self.wire.exchange([Message(numbers_told, tuple(parcel)) for parcel in parcels])

    def _own_work(self) -> int:
        """Return the derivations found here so far, and the bindings gone through to find them."""
        return self._derivations_seen + self.derivations.work - self._work_before

    def _spend_level(self, messages: Sequence[Message], level: int) -> None:
        """Add what a level costs with the facts that their owners found there."""
        self._level_work += level_work(sum(m.numbers[2] for m in messages if m.numbers[0] == level))
        self._check_work(messages)

    def _check_work(self, messages: Sequence[Message]) -> None:
        """Add up the work of all partners; all give up here if it is too much."""
        self.work = sum(message.numbers[1] for message in messages) + self._level_work
        if self.work > self.budget:
            raise OverBudget

    def _locate(self, name: str, rows: CodeArray) -> Int64s:
        numbers = self.relations[name].locate(np.ascontiguousarray(rows))
        self.labels[name].ensure_room()
        return numbers

    def _belongs(self, rule: MaintainedRule, batch: CodeArray, first_row: int) -> Mask:
        """Say which derivations are for this partner to find, and count them."""
        mine = self._are_mine(rule, batch, first_row)
        self._derivations_seen += int(np.count_nonzero(mine))
        return mine

    def _are_mine(self, rule: MaintainedRule, batch: CodeArray, first_row: int) -> Mask:
        if self.wire.partners == 1:
            return np.ones(batch.shape[0], np.bool_)
        columns = self.routes.rules[rule.rule.id].columns
        positive = [place for place, literal in enumerate(rule.literals) if not literal.is_negated]
        if not positive:
            return np.full(batch.shape[0], self.wire.me == 0)
        place, column = min(columns.items()) if columns else (0, WHOLE_ROW)
        rows = self.relations[rule.literals[place].relation].rows[batch[:, first_row + place]]
        mine: Mask = owner_of(rows, column, self.wire.partners) == self.wire.me
        return mine

    # --- shared -------------------------------------------------------------------------------

    def _stratum_literals(self, rows: Mapping[str, Int64s]) -> Iterable[tuple[MaintainedRule, int, Int64s]]:
        """Yield the literals of this stratum with the rows that stand for derivations found here."""
        for rule in self.rules:
            columns = self.routes.rules[rule.rule.id].columns
            for place, literal in enumerate(rule.literals):
                if literal.relation not in rows or literal.relation not in self.labels:
                    continue
                numbers, column = rows[literal.relation], columns[place]
                if column != WHOLE_ROW and self.wire.partners > 1:
                    content = self.relations[literal.relation].rows[numbers]
                    numbers = numbers[owner_of(content, column, self.wire.partners) == self.wire.me]
                if numbers.size:
                    yield rule, place, numbers
