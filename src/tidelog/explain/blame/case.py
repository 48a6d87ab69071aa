"""What is asked: an engine in the newer of two epochs, the changes between them, and the faults."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import field

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import matching
from tidelog.engine.epoch import EpochResult, MaintenanceSettings, RelationChange, reverse
from tidelog.engine.protocol import SilentObserver
from tidelog.errors import TidelogError
from tidelog.explain.blame.cone import Cones
from tidelog.explain.blame.explanation import Explanation
from tidelog.explain.blame.ground import Ground
from tidelog.explain.blame.marks import Marks
from tidelog.explain.blame.possible import Possible, find_possible
from tidelog.explain.blame.reasons import Explainer
from tidelog.explain.blame.suspects import Key, Reason, Rows, Suspect, applied, taken_back
from tidelog.maintain import LocalMaintainedEngine
from tidelog.storage.annotations import ABSENT
from tidelog.values import Codec
from tidelog.views.fact_text import write_value

_NOTHING = EpochResult({}, {}, ())


@dataclass(frozen=True)
class Pattern:
    """Unwanted facts of a relation: None agrees with any code, columns in one group must be equal."""

    relation: str
    codes: tuple[int | None, ...]
    equal: tuple[tuple[int, ...], ...] = ()

    def matching(self, rows: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Iterator[Key]:
        """Yield the facts among rows that agree with the pattern."""
        found = matching(rows, self.codes)
        for first, *others in self.equal:
            for other in others:
                found = found[found[:, first] == found[:, other]]
        for row in found.tolist():
            yield self.relation, tuple(row)


@dataclass(frozen=True)
class Faults:
    """Facts that are there and should not be, and facts that are not and should.

    `patterns` forbid more than the facts that match now: a repair must not cause others.
    """

    unwanted: tuple[Key, ...] = ()
    missing: tuple[Key, ...] = ()
    patterns: tuple[Pattern, ...] = ()


@dataclass(frozen=True)
class Difference:
    """What holds only in the newer and only in the older epoch, relations that maintenance made too."""

    inserted: Rows
    deleted: Rows


class RefusedWorldError(Exception):
    """A world that cannot be: two facts for a key, a function that raises, a fixpoint that does not end.

    `codes` are those of the diagnostics that say so.
    """

    def __init__(self, codes: set[str]) -> None:
        super().__init__(", ".join(sorted(codes)))
        self.codes = codes


@dataclass
class Case:
    """Two epochs and the faults in the newer one, in which the engine stands.

    `inserted` and `deleted` are what holds only in the newer and only in the older epoch. Worlds lie
    between the epochs: the newer one with some suspects taken back.
    """

    engine: LocalMaintainedEngine
    codec: Codec
    suspects: Sequence[Suspect]
    faults: Faults
    inserted: Rows
    deleted: Rows
    # How facts that stand for something else are called.
    names: Mapping[Key, str] = field(default_factory=dict)
    settings: MaintenanceSettings = field(default_factory=MaintenanceSettings)
    trials: int = 0
    # When explanations are given up, on the clock of time.monotonic.
    end: float = math.inf

    def __post_init__(self) -> None:
        # An engine that never saw the older epoch may have no room for its codes.
        older = taken_back(self.suspects, self.everything)
        self.engine.make_room([column for change in older.values() for column in change.inserted])
        self.engine.make_room([rows.ravel() for rows in self.deleted.values()])
        self._look_around()

    def _look_around(self) -> None:
        """Begin to learn about the epochs; row numbers that were known are not good any more."""
        self.ground = Ground(self.engine)
        self.cones = Cones(self.ground, self.codec, self.suspects)
        self.numbers = {suspect.key: number for number, suspect in enumerate(self.suspects)}
        affected = self.ground.above({suspect.key[0] for suspect in self.suspects})
        self.marks = Marks(self.ground, self.numbers, self.inserted, affected)
        self._result = _NOTHING
        self._possible: Possible | None = None
        self._old: dict[str, set[tuple[int, ...]]] = {}

    @property
    def everything(self) -> frozenset[int]:
        """Return all suspects."""
        return frozenset(range(len(self.suspects)))

    def prepare(self) -> Possible:
        """Return the facts that worlds may have; the engine must stand in the newer epoch."""
        if self._possible is None:
            unwanted, missing = (
                frozenset(name for name, _ in keys) for keys in (self.faults.unwanted, self.faults.missing)
            )
            # What is left of the time is for the search itself.
            end = (time.monotonic() + self.end) / 2
            self._possible = find_possible(
                self.ground, self.suspects, self.inserted, self.deleted, unwanted, missing, end
            )
            if not self._possible.is_complete:
                # Nobody can tell what else might hold: only cones explain what does not.
                self.ground.unsure.update(self.engine.program.relations)
        return self._possible

    @contextmanager
    def world(self, taken: frozenset[int]) -> Iterator[EpochResult]:
        """Take the engine to the world in which these suspects are taken back, and back again.

        Raises `RefusedWorldError` if the program has no such world; the engine stays where it is.
        """
        if not taken:
            with nullcontext(_NOTHING) as nothing:
                yield nothing
            return
        self.trials += 1
        self.ground.tables.forget()
        try:
            with self._trial(taken_back(self.suspects, taken)) as result:
                self._result = result
                yield result
        finally:
            self._result = _NOTHING
            self.marks.end_trial()
            self.ground.tables.forget()

    def difference(self) -> Difference:
        """Return how the epochs differ in what proofs of the faults lead to.

        The engine must stand in the newer epoch. Users do not know of relations that are made for
        aggregates and negated atoms: where a proof leads to some, they are looked at in the older epoch.
        """
        met = self.ground.below({name for name, _ in (*self.faults.unwanted, *self.faults.missing)})
        inserted, deleted = (
            {name: rows for name, rows in side.items() if name in met}
            for side in (self.inserted, self.deleted)
        )
        made = [name for name in met if "/" in name]
        if not made:
            return Difference(inserted, deleted)
        with self.world(self.everything):
            for name in made:
                stored = self.ground.relation(name)
                is_old, is_new = (
                    levels != ABSENT for levels in (stored.levels[: stored.count], stored.levels_before())
                )
                for side, differs in ((inserted, is_new & ~is_old), (deleted, is_old & ~is_new)):
                    if differs.any():
                        side[name] = stored.rows[: stored.count][differs].astype(np.int64)
        return Difference(inserted, deleted)

    @contextmanager
    def older_epoch(self) -> Iterator[None]:
        """Take the engine to the older epoch, where few changes are quickly tried, and back again."""
        back = taken_back(self.suspects, self.everything)
        self.engine.apply(back, self.settings, SilentObserver())
        try:
            yield
        finally:
            try:
                self.engine.apply(reverse(back), self.settings, SilentObserver())
            except BaseException:
                # Interrupted: the engine must not be left in another epoch than its session.
                self.engine.apply(reverse(back), self.settings, SilentObserver())
                raise
            finally:
                self._look_around()

    @contextmanager
    def with_only(self, chosen: frozenset[int]) -> Iterator[EpochResult]:
        """Take the engine from the older epoch to the world that has only these changes, and back."""
        self.trials += 1
        self.ground.tables.forget()
        with self._trial(applied(self.suspects, chosen)) as result:
            yield result

    @contextmanager
    def _trial(self, changes: Mapping[str, RelationChange]) -> Iterator[EpochResult]:
        with ExitStack() as stack:
            try:
                result = stack.enter_context(self.engine.trial(changes, self.settings))
            except TidelogError as cause:
                codes = {each.code for each in cause.diagnostics}
                if "memory-limit" in codes:
                    # This tells of the machine, not of the world.
                    raise
                raise RefusedWorldError(codes) from cause
            yield result

    def refusal(self, refused: RefusedWorldError, taken: frozenset[int]) -> Reason:
        """Return a reason why the world that takes these suspects back is refused."""
        found = self.everything
        if refused.codes == {"two-values"}:
            # Facts of relations with keys are told by the suspects that these can depend on.
            keyed = [relation for relation in self.engine.program.relations.values() if relation.keys]
            cones = (self.cones.of((each.name, (None,) * each.arity)) for each in keyed)
            found = frozenset(number for cone in cones for number in cone)
        return frozenset((number, number in taken) for number in found)

    def remaining(self, faults: Faults, result: EpochResult) -> Faults:
        """Return the faults of the world that the engine stands in, with those that are new there."""
        unwanted = list(faults.unwanted)
        for pattern in faults.patterns:
            if pattern.relation in result.inserted:
                columns = result.inserted[pattern.relation]
                width = len(pattern.codes)
                rows = (
                    np.stack(columns[:width], axis=1) if width else np.zeros((len(columns[0]), 0), np.int64)
                )
                unwanted += [key for key in pattern.matching(rows) if not self._was_there(key)]
        unwanted = list(dict.fromkeys(unwanted))
        is_there = self.ground.holds(unwanted)
        is_back = self.ground.holds(faults.missing)
        return Faults(
            tuple(key for key, holds in zip(unwanted, is_there, strict=True) if holds),
            tuple(key for key, holds in zip(faults.missing, is_back, strict=True) if not holds),
            faults.patterns,
        )

    def _was_there(self, key: Key) -> bool:
        """Say whether a fact that the newer epoch lacks was one in the older epoch."""
        name, codes = key
        if name not in self._old:
            self._old[name] = (
                {tuple(row) for row in self.deleted[name].tolist()} if name in self.deleted else set()
            )
        return codes in self._old[name]

    def fact_text(self, key: Key) -> str:
        """Return a fact as the user would write it.

        A relation that was made for a negated atom with wildcards is shown as that atom.
        """
        if key in self.names:
            return self.names[key]
        name, codes = key
        columns = self.engine.program.relations[name].columns
        texts = [
            write_value(self.codec.decode(code, column.type))
            for code, column in zip(codes, columns, strict=True)
        ]
        name, _, kept = name.partition("/")
        if kept and name in self.engine.program.relations:
            places = dict(zip(map(int, kept.split(",")), texts, strict=True)) if texts else {}
            texts = [places.get(place, "_") for place in range(self.engine.program.relations[name].arity)]
        return f"{name}({', '.join(texts)})"

    def explain(
        self, taken: frozenset[int], facts: Iterable[Key], *, are_there: bool, assumes: bool = False
    ) -> Explanation:
        """Return why facts are there, or not, in the world that the engine stands in.

        With `assumes` proofs stop at facts that the epoch did not touch, as if these held always.
        """
        return self.explainer(taken, assumes=assumes).explain(facts, are_there=are_there)

    def explainer(self, taken: frozenset[int], *, assumes: bool = False) -> Explainer:
        """Return what explains facts of the world that the engine stands in, as long as it does.

        All possible facts must be visible to joins.
        """
        if self._result is not _NOTHING:
            self.marks.take_trial(self._result)
            self._result = _NOTHING
        return Explainer(self.ground, self.numbers, self.cones, self.marks, taken, self.end, assumes=assumes)
