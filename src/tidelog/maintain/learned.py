"""What advancing a stratum has cost so far, and what the next change is expected to cost."""

from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.maintain.prices import FREE_WORK, UNKNOWN, Budget, Price, price_ratio, update_budget

# The part of a recompute that a change is expected to cost as long as no update was measured: that of
# the rows it changes, times this in a recursive stratum, which derives more from them.
_RECURSIVE_FACTOR = 3.0
# Evaluations that take less than this finish before it matters which indexes there are.
_WORK_WORTH_INDEXES = 200_000
# Without indexes an update must be expected to take no more than this part of what it may take: if it is
# given up, the indexes were made in vain.
_PART_WITHOUT_INDEXES = 0.25
# What was given up would have taken at least this many times the work that was done.
_LEFT_UNDONE = 2.0
# Recomputes in place of an update that is expected to cost too much, before one is tried all the same:
# the data may have changed. Each failure makes them more. Changes of few rows differ most in what they
# cost, so that for them one failure says little about the next; nor does it for changes of a size that was
# followed before.
_PATIENCE = 16
_MORE_PATIENCE = 4
_FEW_ROWS = 32
_POINTS = 16
# An update is not let go on in the hope that its first sweep was the smaller part.
_MOST_REST = 1.0


@dataclass
class Learned:
    """What past evaluations and epochs cost a stratum."""

    recompute_work: int = 0
    # Whether it has the indexes that following a change needs; a recompute starts without them.
    is_indexed: bool = False
    # How long the last evaluation or recompute took; 0 if none was measured.
    recompute_seconds: float = 0.0
    recompute_price: Price = UNKNOWN
    update_price: Price = UNKNOWN
    # What the last updates cost per changed row, whatever their size.
    work_per_row: float = 0.0
    # What followed the first sweep of updates, as a multiple of it; 0 if none was measured.
    rest: float = 0.0
    # How often in a row an update was expected to cost too much, and how often that is believed.
    refusals: int = 0
    patience: int = _PATIENCE
    # The same by size: whether the change could only add facts, and the binary digits of its rows.
    _rates: dict[tuple[bool, int], float] = field(default_factory=dict)
    # Sizes of which an update has succeeded.
    _succeeded: set[tuple[bool, int]] = field(default_factory=set)
    # After a net deletion of so many rows, a recompute took this share of the one before it: the more
    # rows, the smaller the share.
    _shrunk: list[tuple[int, float]] = field(default_factory=list)
    # The work of an update that costs as much as the last recompute: every epoch asks for it.
    unit: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self._set_unit()

    @classmethod
    def from_evaluation(cls, work: int, seconds: float) -> "Learned":
        """Return what is known of a stratum that was evaluated."""
        return cls(work, recompute_seconds=seconds, recompute_price=Price().after(work, seconds))

    def for_rules(self, *, is_same: bool) -> "Learned":
        """Return what is known of the stratum in another program, with the same rules or others."""
        return self.without_indexes() if is_same else Learned(self.recompute_work)

    def without_indexes(self) -> "Learned":
        """Return what is known of the stratum where it has no indexes yet."""
        return replace(self, is_indexed=False)

    def _set_unit(self) -> None:
        self.unit = self.recompute_work / price_ratio(self.recompute_price, self.update_price)

    def budget(self, switch: float, expected: float) -> Budget:
        """Return what an update may take where a recompute is expected to take so much work."""
        return update_budget(switch, expected, self.recompute_price, self.update_price)

    # --- updates ----------------------------------------------------------------------------------

    def predict(self, rows: int, share: float, *, is_growing: bool, is_recursive: bool) -> float:
        """Return the work that following a change of so many rows is expected to take.

        It goes by updates of about the same size: few facts seldom hit those that much depends on, so
        that small changes say little about large ones. `share` is the changed part of what the stratum
        reads; it counts as long as no such update was measured.
        """
        sizes = [size for kind, size in self._rates if kind == is_growing]
        if sizes:
            nearest = min(sizes, key=lambda size: abs(size - rows.bit_length()))
            return max(rows * self._rates[is_growing, nearest], rows)
        factor = _RECURSIVE_FACTOR if is_recursive else 1.0
        return max(factor * share * self.recompute_work, rows)

    def acceptable(self, budget: Budget, expected: float) -> float:
        """Return the most work that an update may be expected to take for it to be tried."""
        is_ready = self.is_indexed or expected < _WORK_WORTH_INDEXES
        # It goes on beyond its budget if only the rest is left.
        return (1.0 + self.rest) * budget.work if is_ready else _PART_WITHOUT_INDEXES * budget.work

    def has_waited(self, rows: int, *, is_growing: bool) -> bool:
        """Say whether updates were refused so often that one of so many rows is tried all the same."""
        if rows > _FEW_ROWS and (is_growing, rows.bit_length()) not in self._succeeded:
            return self.refusals >= self.patience
        # One as long as no update failed; none after the first failure, three after two, fifteen after three.
        has_failed = self.patience > _PATIENCE
        return self.refusals >= (self.patience // (_PATIENCE * _MORE_PATIENCE) - 1 if has_failed else 1)

    def learn(self, rows: int, work: int, seconds: float = 0.0, *, is_growing: bool = False) -> None:
        """Remember what an update cost, with a bias toward the cheaper ones.

        Epochs of one size differ widely in cost. An update that is given up wastes at most the allowed
        share of a recompute, a needless recompute wastes all of it; so the prediction is a low one.
        """
        rate = work / max(rows, 1)
        size = is_growing, rows.bit_length()
        self.work_per_row = _lowered(self.work_per_row or rate, rate)
        self._rates[size] = _lowered(self._rates.get(size, rate), rate)
        self._succeeded.add(size)
        self._learn_price(work, seconds)
        self.refusals, self.patience = 0, _PATIENCE
        self.is_indexed = True

    def learn_rest(self, first: int, work: int) -> None:
        """Remember how much of an update came after its first sweep; more at once, less bit by bit."""
        if first >= FREE_WORK:
            rest = min(work / first - 1.0, _MOST_REST)
            self.rest = max(rest, 0.8 * self.rest + 0.2 * rest)

    def learn_failure(self, rows: int, work: int, seconds: float = 0.0, *, is_growing: bool = False) -> None:
        """Remember that an update would have cost more than this."""
        size = is_growing, rows.bit_length()
        self._rates[size] = max(_LEFT_UNDONE * work / max(rows, 1), self._rates.get(size, 0.0))
        self._learn_price(work, seconds)
        self.refusals, self.patience = 0, _MORE_PATIENCE * self.patience

    def _learn_price(self, work: int, seconds: float) -> None:
        # The first update makes the indexes, which is not work that later ones do.
        if self.is_indexed:
            price = self.update_price.after(work, seconds)
            if price is not self.update_price:
                self.update_price = price
                self._set_unit()

    # --- recomputes -------------------------------------------------------------------------------

    def expected_recompute(self, deleted: int) -> float:
        """Return what a recompute is expected to take after a net deletion of so many rows."""
        shares = [share for rows, share in self._shrunk if rows <= deleted]
        return self.recompute_work * min(shares, default=1.0)

    def learn_recompute(self, deleted: int, work: int, seconds: float = 0.0) -> None:
        """Remember what a recompute took after a net deletion of so many rows."""
        if deleted > 0 and self.recompute_work:
            share = min(work / self.recompute_work, 1.0)
            kept = [(rows, was) for rows, was in self._shrunk if (rows > deleted) == (was < share)]
            self._shrunk = sorted([*kept, (deleted, share)])[-_POINTS:]
        self.recompute_work = work
        self.recompute_seconds = seconds
        self.recompute_price = self.recompute_price.after(work, seconds)
        self._set_unit()
        self.is_indexed = False


def _lowered(rate: float, measured: float) -> float:
    """Return a rate after another measurement: it falls at once and rises slowly."""
    return measured if measured < rate else 0.8 * rate + 0.2 * measured
