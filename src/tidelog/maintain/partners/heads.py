"""The heads of a stratum that partners share: what concerns another partner's head is sent to it.

The dividing variable of its rule names the one partner that enumerates a derivation, and if its value is
frequent the row of the first atom does (see `spread_rules`); that partner has all rows it uses, with their
levels. What the derivation means for its head, a loss or an offered level, is sent
to the head's owner. Before the facts of a level are followed further, their owners notify the partners that
keep copies of them.

All partners go through the same levels and give up together: their work is added up at every level.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.spark.kernels import WHOLE_ROW
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.message import Rows as Table
from tidelog.engine.spark.ownership import copies_to_send, owned_rows, owner_of
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.maintain.heads import Asking, Heads, OverBudget, Rows, take_offered
from tidelog.maintain.judge import Mask
from tidelog.maintain.partners.parcels import LevelNote, Outbox, ParcelKind, notes_in
from tidelog.maintain.row_delta import RowDelta
from tidelog.maintain.work import level_work
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s

_NEVER = int(ABSENT)
_NEW_KINDS = {True: ParcelKind.POSSIBLE, False: ParcelKind.POSSIBLE_ONCE}


@dataclass
class PartnerHeads(Heads):
    """The heads that one partner owns, and a wire to the owners of the others.

    The meter counts the work of this partner; its budget is for the work of all.
    """

    are_judged_in_threads = False

    routes: Routes
    wire: Wire
    outbox: Outbox
    work: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asking: dict[str, CodeArray] = {}
        self._level_work = 0

    # --- who finds which derivation ---------------------------------------------------------------

    def claim(self, rule: FlatRule, batch: CodeArray, first: int) -> Mask:
        """Say which derivations are for this partner to find, and count them."""
        mine = are_mine(rule, batch, first, self.routes, self.judge.relations, self.wire)
        self.meter.seen += int(np.count_nonzero(mine))
        return mine

    def rows_to_follow(self, rule: FlatRule, place: int, numbers: Int64s) -> Int64s:
        """Return the rows at a literal whose derivations are for this partner to find."""
        column = self.routes.rules[rule.id].columns[place]
        if column == WHOLE_ROW or self.wire.partners == 1:
            return numbers
        content = self.judge.relations[rule.literals[place].relation].rows[numbers]
        heavy = self.routes.heavy
        is_mine = owner_of(content, column, self.wire.partners, heavy) == self.wire.me
        if heavy and place != min(self.routes.rules[rule.id].columns):
            # Rows with a frequent value are at every partner, and join rows of the first atom at each.
            is_mine |= np.isin(content[:, column], heavy)
        mine: Int64s = numbers[is_mine]
        return mine

    def own_inputs(self, name: str, change: RowDelta) -> RowDelta:
        """Return the changed input facts that this partner owns."""
        return RowDelta(self._owned(name, change.inserted), self._owned(name, change.deleted))

    def _owned(self, name: str, numbers: Int64s) -> Int64s:
        content = self.judge.relations[name].rows[numbers]
        return numbers[owned_rows(content, self.routes.relations[name], self.wire)]

    # --- what is lost -----------------------------------------------------------------------------

    def lose(self, name: str, rows: CodeArray, levels: Int32s) -> None:
        """Let the owners of heads take a derivation from them."""
        self.outbox.put(ParcelKind.LOST, name, rows, levels)

    def next_affected(self) -> Rows | None:
        """Return the rows kept here of the lowest level at which facts are affected, or None at the end."""
        for parcel in self.outbox.exchange():
            super().lose(parcel.relation, parcel.rows, parcel.levels)
        lowest = self.losing.lowest()
        own = self.losing.take(lowest) if lowest is not None else {}
        own = {name: self.untouched(name, numbers) for name, numbers in own.items()}
        messages = self._tell_copies(own, _NEVER if lowest is None else lowest)
        level = min(note.level for note in notes_in(messages))
        if level == _NEVER:
            self._check_work(messages)
            return None
        self._spend_level(messages, level)
        if lowest is not None and lowest != level:
            for name, numbers in own.items():
                self.losing.put(name, numbers, self.judge.relations[name].levels)
            own = {}
        current = {name: [numbers] for name, numbers in own.items() if numbers.size}
        for table in self._received(messages, level):
            current.setdefault(table.name, []).append(self.judge.relations[table.name].find(table.rows))
        affected = {name: np.concatenate(parts) for name, parts in current.items()}
        for name, numbers in affected.items():
            self.judge.marks[name].touch(numbers)
        return affected

    # --- what is offered --------------------------------------------------------------------------

    def ask(self, affected: Rows) -> Mapping[str, Asking]:
        """Return the affected rows of all partners."""
        tables = []
        for name, numbers in affected.items():
            relation, own = self.judge.relations[name], self._owned(name, numbers)
            tables.append(
                Table(name, relation.rows[own], (relation.levels_before(own) == 0).astype(np.int32))
            )
        parts: dict[str, list[Table]] = defaultdict(list)
        for message in self.wire.exchange([Message((), tuple(tables))] * self.wire.partners):
            for table in message.tables:
                parts[table.name].append(table)
        asking = {}
        for name, of_partners in parts.items():
            rows = self._asking[name] = np.concatenate([table.rows for table in of_partners])
            was_input = np.concatenate([table.weights for table in of_partners]) == 1
            asking[name] = Asking(rows, np.arange(rows.shape[0]), was_input)
        return asking

    def offer_again(self, name: str, tags: Int64s, levels: Int32s) -> None:
        """Offer levels of derivations that asking heads still have to their owners."""
        self.outbox.put(ParcelKind.FOUND_AGAIN, name, self._asking[name][tags], levels)

    def offer_new(self, name: str, rows: CodeArray, levels: Int32s, *, asked_by_all: bool) -> None:
        """Offer levels of newly possible derivations to the owners of their heads."""
        self.outbox.put(_NEW_KINDS[asked_by_all], name, rows, levels)

    def offer_better(self, name: str, rows: CodeArray, levels: Int32s, before: Int32s) -> None:  # noqa: ARG002
        """Offer levels of derivations that had higher ones before to the owners of their heads."""
        self.outbox.put(ParcelKind.BETTER, name, rows, levels)

    def next_settled(self) -> Rows | None:
        """Settle the lowest level that any partner has on offer; return the rows kept here that have it."""
        while True:
            self._take_offers()
            lowest = self.offered.lowest()
            note = LevelNote(_NEVER if lowest is None else lowest, self.meter.work)
            messages = self.wire.exchange([Message(note)] * self.wire.partners)
            level = min(each.level for each in notes_in(messages))
            self._check_work(messages)
            if level == _NEVER:
                return None
            settled, is_any = self._settle_level(level)
            if is_any:
                return settled

    def _take_offers(self) -> None:
        """Exchange offers and apply those for heads owned here."""
        for kind, name, rows, levels in self.outbox.exchange():
            if kind in {ParcelKind.POSSIBLE, ParcelKind.POSSIBLE_ONCE}:
                super().offer_new(name, rows, levels, asked_by_all=kind is ParcelKind.POSSIBLE)
            else:
                self.offer(name, self.locate(name, rows), levels)

    def _settle_level(self, level: int) -> tuple[Rows, bool]:
        """Settle the rows owned here that are offered this level, and the copies of what others settle.

        Also say whether any partner settled a row.
        """
        own = take_offered(self.judge.marks, self.offered, level)
        for name, numbers in own.items():
            self.judge.marks[name].settle(numbers)
        messages = self._tell_copies(own, level)
        if not any(note.facts for note in notes_in(messages)):
            return {}, False
        self.check_level(level)
        self._spend_level(messages, level)
        current = {name: [numbers] for name, numbers in own.items()}
        for table in self._received(messages, level):
            numbers = self.locate(table.name, table.rows)
            self.judge.marks[table.name].settle_copies(numbers, level)
            current.setdefault(table.name, []).append(numbers)
        return {name: np.concatenate(parts) for name, parts in current.items()}, True

    # --- between partners -------------------------------------------------------------------------

    def _tell_copies(self, rows: Rows, level: int) -> list[Message]:
        """Tell partners with copies of these rows, which are owned here, what is the lowest level."""
        tables: list[list[Table]] = [[] for _ in range(self.wire.partners)]
        for name, numbers in rows.items():
            content = self.judge.relations[name].rows[numbers]
            for partner, part in copies_to_send(content, self.routes.relations[name], self.wire):
                tables[partner].append(Table(name, part))
        note = LevelNote(level, self.meter.work, sum(numbers.size for numbers in rows.values()))
        return self.wire.exchange([Message(note, tuple(each)) for each in tables])

    def _received(self, messages: Sequence[Message], level: int) -> list[Table]:
        """Return the rows that other partners sent, if they are at this level."""
        others = (message for partner, message in enumerate(messages) if partner != self.wire.me)
        return [table for message in others if message.numbers[0] == level for table in message.tables]

    def _spend_level(self, messages: list[Message], level: int) -> None:
        """Add what a level costs, by the facts that their owners found at it."""
        self._level_work += level_work(sum(n.facts for n in notes_in(messages) if n.level == level))
        self._check_work(messages)

    def _check_work(self, messages: list[Message]) -> None:
        """Add up the work of all partners; they all give up here if it is too much."""
        self.work = sum(note.work for note in notes_in(messages)) + self._level_work
        if self.work > self.meter.budget.work:
            raise OverBudget


def are_mine(  # noqa: PLR0913, PLR0917 - derivations, and what says whose they are
    rule: FlatRule, batch: CodeArray, first: int, routes: Routes, relations: Mapping[str, StoredRelation],
    wire: Wire,
) -> Mask:  # fmt: skip
    """Say which derivations are for this partner to find; their rows are in the batch from a column on."""
    if wire.partners == 1:
        return np.ones(batch.shape[0], np.bool_)
    if all(literal.is_negated for literal in rule.literals):
        return np.full(batch.shape[0], wire.me == 0)
    columns = routes.rules[rule.id].columns
    place, column = min(columns.items()) if columns else (0, WHOLE_ROW)
    rows = relations[rule.literals[place].relation].rows[batch[:, first + place]]
    mine: Mask = owner_of(rows, column, wire.partners, routes.heavy) == wire.me
    return mine
