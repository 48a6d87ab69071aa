"""Runs small epochs of strata through the kernel, and says when one is not small."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tidelog.engine.local.state import NeedsWideCodes
from tidelog.maintain.derivations import Derivations
from tidelog.maintain.labels import RelationLabels, row_changes
from tidelog.maintain.row_change import RowChange
from tidelog.maintain.small import layout
from tidelog.maintain.small.kernel import update_small
from tidelog.maintain.small.stratum import SmallStratum, index_named, lay_out
from tidelog.plan.maintenance import MaintainedRule
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import Int64s

# Rows that one epoch may queue, touch or settle in a level; beyond, it is not small.
_QUEUE_ROWS = 1 << 16
_JOURNAL_ROWS = 1 << 17
# Work that is small however many levels it takes, and work that is small for one level: batches of
# more bindings than this are joined faster together than one by one.
_FREE_WORK = 60_000
_WORK_PER_LEVEL = 4_000
# So few changed rows are always tried here first.
_FEW_ROWS = 16
_ATTEMPTS = 4
_ROOM = 1024


@dataclass(frozen=True)
class SmallOutcome:
    """What a small epoch came to; without changes it was given up and undone."""

    status: int
    work: int
    changes: dict[str, RowChange] | None = None


@dataclass
class SmallEpochs:
    """The strata of a program as the kernel takes them, laid out when first needed."""

    relations: Callable[[], Mapping[str, StoredRelation]]
    derivations: Callable[[], Derivations]
    _strata: dict[int, SmallStratum | None] = field(default_factory=dict)
    _limits: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queue = np.empty(_QUEUE_ROWS, np.int64)
        self._affected = np.empty(_QUEUE_ROWS, np.int64)
        self._settled = np.empty(_QUEUE_ROWS, np.int64)
        self._journal = np.empty((_JOURNAL_ROWS, 3), np.int64)
        self._counters = np.zeros(layout.COUNTER_COUNT, np.int64)

    def is_worth_trying(self, number: int, rows: int) -> bool:
        """Say whether a change of this many rows may be small for a stratum."""
        limit = self._limits.get(number)
        if limit is None or rows <= max(limit, _FEW_ROWS):
            return rows <= _QUEUE_ROWS
        # What was too large once may be small the next time.
        self._limits[number] = limit + max(limit // 8, 1)
        return False

    def stratum(
        self, number: int, rules: Sequence[MaintainedRule], own: Sequence[str]
    ) -> SmallStratum | None:
        """Return the tables of a stratum, None if its rules are beyond kernels."""
        if number not in self._strata:
            self._strata[number] = lay_out(rules, own, self.relations(), self.derivations())
        return self._strata[number]

    def run(
        self, number: int, rules: Sequence[MaintainedRule], labels: Mapping[str, RelationLabels],
        inputs: Mapping[str, RowChange], lower: Mapping[str, RowChange], budget: float,
    ) -> SmallOutcome | None:  # fmt: skip
        """Bring a stratum to the new epoch; None if its rules are beyond the kernel.

        Unless the outcome is DONE the stratum is as it was.
        """
        relations = self.relations()
        stratum = self.stratum(number, rules, list(labels))
        if stratum is None:
            return None
        for _ in range(_ATTEMPTS):
            for label in labels.values():
                label.relation.track_deletions()
                label.ensure_room()
            stratum.refresh(relations, labels)
            status = self._sweep(stratum, rules, inputs, lower, budget)
            self._take_back(stratum, relations, labels)
            work = int(self._counters[layout.WORK])
            if status == layout.DONE:
                return SmallOutcome(status, work, row_changes(labels))
            for label in labels.values():
                label.undo()
            if status == layout.NEEDS_WIDE_CODES:
                raise NeedsWideCodes
            if status != layout.NEEDS_ROOM:
                break
            _make_room(stratum, relations)
        if status != layout.OVER_BUDGET:
            changed = chain(inputs.values(), lower.values())
            rows = sum(change.deleted.size + change.inserted.size for change in changed)
            self._limits[number] = rows // 2
        return SmallOutcome(status, work)

    def highest_level(self) -> int:
        """Return the highest level that the last run settled."""
        return int(self._counters[layout.HIGHEST])

    def _sweep(
        self, stratum: SmallStratum, rules: Sequence[MaintainedRule], inputs: Mapping[str, RowChange],
        lower: Mapping[str, RowChange], budget: float,
    ) -> int:  # fmt: skip
        stratum.check_lower(lower)
        starts, rows = _starts(stratum, rules, inputs, lower)
        counters = self._counters
        counters[:] = 0
        counters[layout.WORK_LIMIT] = int(min(budget, 2**62))
        counters[layout.FREE_WORK] = _FREE_WORK
        counters[layout.WORK_PER_LEVEL] = _WORK_PER_LEVEL
        status = update_small(
            stratum.relations, stratum.indexes, stratum.rules, stratum.literals, stratum.chains,
            stratum.variants, stratum.uses, stratum.backs, stratum.growing, stratum.code,
            stratum.constants, starts, rows, self._queue, self._journal, self._affected, self._settled,
            counters, stratum.like,
        )  # fmt: skip
        return int(status)

    def _take_back(
        self,
        stratum: SmallStratum,
        relations: Mapping[str, StoredRelation],
        labels: Mapping[str, RelationLabels],
    ) -> None:
        """Tell relations what was appended and labels what was touched."""
        stratum.take_back(relations)
        journal = self._journal[: self._counters[layout.JOURNAL]]
        for number, name in enumerate(stratum.names[: stratum.own_count]):
            mine = journal[journal[:, 0] == number]
            if mine.size:
                labels[name].remember(mine[:, 1].copy(), mine[:, 2].astype(np.int32))


def _starts(
    stratum: SmallStratum,
    rules: Sequence[MaintainedRule],
    inputs: Mapping[str, RowChange],
    lower: Mapping[str, RowChange],
) -> tuple[Int64s, Int64s]:
    """Return what an epoch begins with: (kind, relation or chain, first, last) over an array of rows."""
    starts: list[tuple[int, int, int, int]] = []
    rows: list[Int64s] = [np.empty(0, np.int64)]
    total = 0

    def add(kind: int, what: int, numbers: Int64s) -> None:
        nonlocal total
        if numbers.size:
            starts.append((kind, what, total, total + numbers.size))
            rows.append(numbers)
            total += numbers.size

    for name, change in inputs.items():
        number = stratum.names.index(name)
        add(layout.DELETE_INPUT, number, change.deleted)
        add(layout.INSERT_INPUT, number, change.inserted)
    for (rule, place), number in stratum.forward.items():
        literal = rules[rule].literals[place]
        found = lower.get(literal.relation)
        if found is not None:
            gone, come = found.deleted, found.inserted
            add(layout.LOSE_START, number, come if literal.is_negated else gone)
            add(layout.OFFER_START, number, gone if literal.is_negated else come)
    return np.array(starts, np.int64).reshape(-1, 4), np.concatenate(rows)


def _make_room(stratum: SmallStratum, relations: Mapping[str, StoredRelation]) -> None:
    """Let the kernel append more rows than last time."""
    own = set(stratum.names[: stratum.own_count])
    for name in own:
        relations[name].reserve(max(_ROOM, relations[name].count // 16))
    for name, key in stratum.keys:
        if name in own:
            index_named(relations[name], key).reserve(max(_ROOM, relations[name].count // 16))
