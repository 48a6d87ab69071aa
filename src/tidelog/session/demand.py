"""Questions of a session that evaluates on demand: what each derived, kept and brought up to date."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import as_columns, fact_columns
from tidelog.engine.epoch import MaintainedEngine, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Codes, FactReader, SilentObserver
from tidelog.explain.epoch_inputs import epoch_inputs
from tidelog.plan.demand import DemandProgram, DemandSplit, demand_program, split_by_demand
from tidelog.program.nodes import Program
from tidelog.views.epoch_diff import find_epoch_diff

if TYPE_CHECKING:
    from tidelog.program.text import ProgramText
    from tidelog.session.epochs import Epochs

_SETTINGS = MaintenanceSettings()
Question = tuple[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a session derived and keeps for questions that bind the same columns of one relation.

    `questions` counts the values asked for. `derived` are the relations it derives with their sizes; `whole`
    are those among them that could not be restricted to what was asked for.
    """

    relation: str
    columns: tuple[str, ...]
    questions: int
    derived: Mapping[str, int]
    whole: tuple[str, ...]


class Demands:
    """The questions that a session was asked, each kind with an engine of its own; callers hold the lock.

    An engine follows the session when it is asked again: changes since then are applied as one epoch. It is
    made again if rules changed, or if the session no longer keeps the epochs in between.
    """

    def __init__(self, epochs: "Epochs") -> None:
        self._epochs = epochs
        self._text: ProgramText | None = None
        self._split: DemandSplit | None = None
        self._engines: dict[Question, DemandEngine] = {}

    @property
    def split(self) -> DemandSplit:
        """Return which relations are evaluated on demand."""
        text = self._epochs.text
        if self._split is None or self._text is not text:
            self._split = split_by_demand(self._epochs.program, self._epochs.request.options.evaluate)
            self._text = text
            self._engines.clear()
        return self._split

    @property
    def all(self) -> tuple[Demand, ...]:
        """Return what was derived for the questions so far."""
        _ = self.split
        return tuple(each.demand(self._epochs.program) for each in self._engines.values())

    def ask(self, relation: str, pattern: Sequence[int | None]) -> "DemandEngine":
        """Return an engine that has all facts of a relation on demand that agree with the pattern."""
        split = self.split
        engine = self._engines.get((relation, ()))
        if engine is None:
            columns = tuple(place for place, code in enumerate(pattern) if code is not None)
            engine = self._engines.get((relation, columns))
            if engine is None:
                made = demand_program(self._epochs.program, split.demanded, relation, columns)
                # What cannot be restricted serves every question about the relation.
                columns = columns if relation not in made.whole else ()
                if not columns:
                    made = demand_program(self._epochs.program, split.demanded, relation, ())
                engine = DemandEngine(self._epochs, made, relation, columns)
                self._engines[relation, columns] = engine
        try:
            engine.ask(pattern)
        except BaseException:
            # Nobody knows how far it came.
            self._engines = {key: each for key, each in self._engines.items() if each is not engine}
            raise
        return engine


class DemandEngine:
    """An engine over the program of one kind of question."""

    def __init__(
        self, epochs: "Epochs", made: DemandProgram, relation: str, columns: tuple[int, ...]
    ) -> None:
        self._epochs = epochs
        self.made = made
        self._relation = relation
        self._columns = columns
        self._asked: set[tuple[int, ...]] = set()
        self._epoch = -1
        self._engine: MaintainedEngine | None = None

    @property
    def engine(self) -> MaintainedEngine:
        """Return the engine, which was asked."""
        assert self._engine is not None, "a question comes first"
        return self._engine

    def demand(self, program: Program) -> Demand:
        """Return what was derived."""
        names = tuple(program.relations[self._relation].columns[place].name for place in self._columns)
        sizes = {name: self.engine.size(name) for name in self.made.own}
        return Demand(self._relation, names, len(self._asked), sizes, self.made.whole)

    def ask(self, pattern: Sequence[int | None]) -> None:
        """Bring the engine to the present epoch, and derive what the pattern asks for."""
        key = tuple(code for place in self._columns if (code := pattern[place]) is not None)
        is_new = bool(self._columns) and key not in self._asked
        if self._engine is None or not self._can_follow():
            if is_new:
                self._asked.add(key)
            self._start()
            return
        changes = self._changes() if self._epoch != self._epochs.epoch else {}
        if is_new:
            row = [np.array([code], np.int64) for code in key]
            changes[self.made.asked] = RelationChange(row, [column[:0] for column in row])
        if changes:
            self._engine.apply(changes, _SETTINGS, SilentObserver())
        self._asked.add(key)
        self._epoch = self._epochs.epoch

    def _start(self) -> None:
        """Evaluate what was asked for so far."""
        handle, made = self._epochs.handle, self.made
        kind = handle.kind
        program = kind.question_passes(made.program)
        engine = kind.maintain(program, handle.codec, handle.settings, self._epochs.functions)
        for name in made.eager:
            if handle.engine.size(name):
                engine.insert(name, handle.engine.facts(name))
        for name, rows in epoch_inputs(self._epochs, self._epochs.program, None).items():
            if name in made.own:
                engine.insert(name, as_columns(rows))
        if self._asked and self._columns:
            table = np.array(sorted(self._asked), np.int64)
            engine.insert(made.asked, as_columns(table))
        engine.evaluate(SilentObserver())
        self._engine, self._epoch = engine, self._epochs.epoch

    def _can_follow(self) -> bool:
        """Say whether all changes since the engine's epoch are known."""
        since = self._epochs.epoch - self._epoch
        return since <= len(self._epochs.history.deltas)

    def _changes(self) -> dict[str, RelationChange]:
        """Return what changed since the engine's epoch."""
        now = self._epochs.epoch
        diff = find_epoch_diff(self._epochs.history, self._epoch, now, now)
        found: dict[str, RelationChange] = {}
        for names, inserted, deleted in (
            (self.made.eager, diff.inserted, diff.deleted),
            (self.made.own, diff.inputs_inserted, diff.inputs_deleted),
        ):
            for name in names:
                if name in inserted or name in deleted:
                    some = inserted.get(name, deleted.get(name))
                    assert some is not None
                    sides = (inserted.get(name, some[:0]), deleted.get(name, some[:0]))
                    found[name] = RelationChange(*map(fact_columns, sides))
        return found


class DemandedFacts:
    """The facts of a session that evaluates on demand; see `FactReader`. Reading derives what is missing."""

    def __init__(self, engine: FactReader, demands: Demands) -> None:
        self._engine = engine
        self._demands = demands

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return self._asked(relation, ()).size(relation)

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return self._asked(relation, ()).facts(relation)

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        return self._asked(relation, pattern).match(relation, pattern)

    def _asked(self, relation: str, pattern: Sequence[int | None]) -> FactReader:
        if relation not in self._demands.split.demanded:
            return self._engine
        return self._demands.ask(relation, pattern).engine
