"""An engine taken from epoch to epoch, spoken to in Python values, and what must be true of it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume

from support.epochs_oracle import (
    NOT_COUNTED,
    Annotation,
    Annotations,
    annotations_by_force,
    has_annotations,
)
from support.index_oracle import check_indexes
from support.programs import Relations, build, insert, not_yet, read, run_program
from tidelog.engine.epoch import (
    Action,
    EpochResult,
    MaintenanceSettings,
    RelationChange,
    Strategy,
    StratumReport,
)
from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.protocol import Codes, Settings, SilentObserver, UserFunctions
from tidelog.maintain import LocalMaintainedEngine
from tidelog.program.nodes import Program, Relation
from tidelog.storage.annotations import ABSENT
from tidelog.values import Codec, Fact
from tidelog.values.functors import canonical_value, order_key
from tidelog.values.image import ImageWriter, MappedImage

# Far above what a random program needs: reaching it would mean that a fixpoint is not finite.
LIMIT = Settings(jobs=1, iteration_limit=500)
STRATEGIES = tuple(Strategy)
MOST_RULES = 400


def each_strategy(gaps: Mapping[Strategy, str] | None = None) -> list[object]:
    """Return all strategies as parameters of a test; `gaps` has a reason by strategy."""
    known = gaps or {}
    return [
        pytest.param(
            strategy,
            id=strategy.value,
            marks=not_yet(strategy.value, known[strategy]) if strategy in known else (),
        )
        for strategy in Strategy
    ]


def examples(number: int) -> int:
    """Return how many random cases to try; TIDELOG_DEEP in the environment multiplies them."""
    return number * int(os.environ.get("TIDELOG_DEEP", "1"))


class Difference(NamedTuple):
    """What an epoch returned, relations that did not change left out."""

    inserted: Relations
    deleted: Relations
    strata: tuple[StratumReport, ...] = ()

    def __eq__(self, other: object) -> bool:
        """Compare the facts; reports are looked at on their own."""
        return isinstance(other, Difference) and self[:2] == other[:2]

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Maintained:
    """A local engine with the input facts it was given so far.

    run = Maintained(build(text)).start({"edge": [(1, 2)]})
    run.change(insert={"edge": [(2, 3)]})
    run.check()
    """

    program: Program
    functions: UserFunctions = field(default_factory=dict)
    settings: Settings = LIMIT
    codec: Codec = field(init=False)
    engine: LocalMaintainedEngine = field(init=False)
    inputs: dict[str, set[Fact]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Inlining can make hundreds of long rules of a random program: minutes for the oracle, nothing new.
        if sum(len(stratum.rules) for stratum in self.program.strata) > MOST_RULES:
            assume(condition=False)
        self.codec = Codec(self.program.types)
        self._new_engine()

    def _new_engine(self) -> None:
        functions = with_tables(self.program, self.functions)
        self.engine = LocalMaintainedEngine(self.program, self.codec, self.settings, functions)

    def start(self, inputs: Mapping[str, Iterable[Fact]] | None = None) -> "Maintained":
        """Evaluate the first epoch."""
        for name, facts in (inputs or {}).items():
            self.inputs[name] = {_canonical(fact) for fact in facts}
        for name, facts in self.inputs.items():
            if facts:
                insert(self.engine, self.program.relations[name], self.codec, sorted(facts, key=order_key))
        self.engine.evaluate(SilentObserver())
        return self

    def again(self) -> "Maintained":
        """Return another engine that evaluated the same input facts from nothing, with the same codes."""
        other = type(self)(self.program, self.functions, self.settings)
        other.codec = self.codec
        other._new_engine()
        return other.start(self.inputs)

    def moved(self) -> "Maintained":
        """Return another engine that took over the exported state."""
        other = type(self)(self.program, self.functions, self.settings)
        other.codec = self.codec
        other._new_engine()
        other.engine.import_state(self.engine.export_state())
        other.inputs = {name: set(facts) for name, facts in self.inputs.items()}
        return other

    def mapped(self, path: Path) -> "Maintained":
        """Return another engine that took over an image of the state, written to this file."""
        other = type(self)(self.program, self.functions, self.settings)
        other.codec = self.codec
        other._new_engine()
        self.engine.prepare_epochs()
        with ImageWriter(path) as image:
            image.finish(self.engine.write_image(image.add))
        found = MappedImage.open(path)
        assert found is not None, "an image that was just written"
        assert other.engine.import_image(self.engine.export_state(), found.about, found.array)
        other.inputs = {name: set(facts) for name, facts in self.inputs.items()}
        return other

    def change(
        self,
        insert: Mapping[str, Iterable[Fact]] | None = None,  # noqa: A002, RUF100 - the user's word
        delete: Mapping[str, Iterable[Fact]] | None = None,
        *,
        strategy: Strategy = Strategy.UPDATE,
        switch: float = 0.2,
        by_clock: bool = False,
    ) -> Difference:
        """Apply the net effect of a transaction and return what the engine says it changed.

        A fact both deleted and inserted is there afterwards.
        """
        after, changes = self._net(self.program, insert, delete)
        result = self.engine.apply(changes, MaintenanceSettings(strategy, switch, by_clock), SilentObserver())
        self.inputs = after
        return self._difference(result)

    def change_rules(
        self,
        program: Program,
        insert: Mapping[str, Iterable[Fact]] | None = None,  # noqa: A002, RUF100 - the user's word
        delete: Mapping[str, Iterable[Fact]] | None = None,
        *,
        strategy: Strategy = Strategy.UPDATE,
    ) -> Difference:
        """Go on with another program and other facts; return what the engine says it changed."""
        after, changes = self._net(program, insert, delete)
        settings = MaintenanceSettings(strategy)
        result = self.engine.change_rules(program, settings, SilentObserver(), changes)
        self.program, self.inputs = program, after
        return self._difference(result)

    def _net(
        self,
        program: Program,
        insert: Mapping[str, Iterable[Fact]] | None,  # noqa: A002, RUF100 - the user's word
        delete: Mapping[str, Iterable[Fact]] | None,
    ) -> tuple[dict[str, set[Fact]], dict[str, RelationChange]]:
        """Return the input facts after a transaction, and what of it an engine has to do."""
        after = {name: set(facts) for name, facts in self.inputs.items() if name in program.relations}
        for name, facts in (delete or {}).items():
            after.setdefault(name, set()).difference_update(map(_canonical, facts))
        for name, facts in (insert or {}).items():
            after.setdefault(name, set()).update(map(_canonical, facts))
        changes = {}
        for name, facts in after.items():
            before = self.inputs.get(name, set())
            if facts != before:
                relation = program.relations[name]
                changes[name] = RelationChange(
                    self._encode(relation, facts - before), self._encode(relation, before - facts)
                )
        return after, changes

    def relations(self) -> Relations:
        """Return every relation as it is now."""
        return {
            name: read(self.engine, relation, self.codec) for name, relation in self.program.relations.items()
        }

    def annotations(self) -> Annotations:
        """Return the annotations of every fact, as exported; counts that are not known equal any."""
        state = self.engine.export_state().relations
        assert state.keys() == self.program.relations.keys()
        annotations: Annotations = {}
        for name, relation in self.program.relations.items():
            exported = state[name]
            length = len(exported.levels)
            facts = self._decode(relation, exported.columns, length)
            per_fact = zip(exported.levels, exported.counts, exported.is_input, strict=True)
            annotations[name] = {
                fact: Annotation(int(level), int(count) or NOT_COUNTED, bool(is_input))
                for fact, (level, count, is_input) in zip(facts, per_fact, strict=True)
            }
            assert len(annotations[name]) == length, f"{name} is exported with a fact twice"
        return annotations

    def from_nothing(self) -> Relations:
        """Return what the reference engine derives from the input facts as they are now."""
        return run_program(
            self.program, inputs=_present(self.inputs), functions=self.functions, settings=self.settings
        )

    # --- what must hold -----------------------------------------------------------------------

    def check(self) -> Relations:
        """Assert that everything is as evaluation from nothing gives it; return the relations."""
        expected = self.from_nothing()
        assert self.relations() == expected
        self._check_given(expected)
        self._check_look_ups(expected)
        self._check_rows()
        self.check_annotations(expected)
        return expected

    def check_annotations(self, expected: Relations) -> None:
        """Assert that the annotations are those of an evaluation from nothing."""
        annotations = self.annotations()
        by_force = annotations_by_force(self.program, self.inputs, expected, self.functions)
        for name, of_facts in by_force.items():
            assert annotations[name] == of_facts, f"levels and counts of {name}"
        for name, of_facts in annotations.items():
            # A relation with a law of its own may keep given facts out; they are exported all the same.
            kept_out = set() if name in by_force else self.inputs.get(name, set())
            assert expected[name] <= of_facts.keys() <= expected[name] | kept_out, f"exported facts of {name}"

    def _check_given(self, expected: Relations) -> None:
        for name, relation in self.program.relations.items():
            asked = sorted(expected[name] | self.inputs.get(name, set()), key=order_key)
            answers = self.engine.is_input(name, self._encode(relation, asked))
            given = {fact for fact, is_input in zip(asked, answers.tolist(), strict=True) if is_input}
            assert given == self.inputs.get(name, set()), f"what {name} was given"

    def _check_rows(self) -> None:
        """Assert that nothing of the epoch is left in the rows: the next one begins where it ended."""
        for name, relation in self.engine.relations.items():
            levels = relation.levels[: relation.count]
            assert not relation.before[: relation.count].any(), f"old levels of {name}"
            alive = relation.alive[: relation.count] if relation.alive.size else np.ones(relation.count)
            assert ((alive != 0) == (levels != ABSENT)).all(), f"hidden rows of {name}"
            check_indexes(name, relation)

    def _check_look_ups(self, expected: Relations) -> None:
        """Assert that looking facts up by their first column finds those that are there, no others."""
        for name, relation in self.program.relations.items():
            assert self.engine.size(name) == len(expected[name])
            for value in {fact[0] for fact in expected[name] if fact}:
                code = self.codec.encode(value, relation.columns[0].type)
                matched = self.engine.match(name, [code, *[None] * (relation.arity - 1)])
                found = self._decode(relation, matched, len(matched[0]))
                assert sorted(found, key=order_key) == sorted(
                    (fact for fact in expected[name] if fact[:1] == (value,)), key=order_key
                )

    # --- codes --------------------------------------------------------------------------------

    def _difference(self, result: EpochResult) -> Difference:
        return Difference(self._changed(result.inserted), self._changed(result.deleted), result.strata)

    def _changed(self, columns_by_relation: Mapping[str, Sequence[Codes]]) -> Relations:
        found = {}
        for name, columns in columns_by_relation.items():
            facts = self._decode(self.program.relations[name], columns, len(columns[0]))
            assert len(set(facts)) == len(facts), f"the delta of {name} has a fact twice"
            if facts:
                found[name] = frozenset(facts)
        return found

    def _encode(self, relation: Relation, facts: Iterable[Fact]) -> list[Codes]:
        """Return facts as columns; a relation without any has one that stands in."""
        in_order = sorted(facts, key=order_key)
        if relation.arity == 0:
            return [np.zeros(len(in_order), np.int64)]
        columns = list(zip(*in_order, strict=True)) or [()] * relation.arity
        return [
            np.asarray(self.codec.encode_column(list(values), column.type), np.int64)
            for values, column in zip(columns, relation.columns, strict=True)
        ]

    def _decode(self, relation: Relation, columns: Sequence[Codes], length: int) -> list[Fact]:
        if relation.arity == 0:
            return [()] * length
        decoded = [
            map(canonical_value, self.codec.decode_column(codes, column.type))
            for codes, column in zip(columns, relation.columns, strict=True)
        ]
        return list(zip(*decoded, strict=True))


def difference(before: Relations, after: Relations) -> Difference:
    """Return what leads from one epoch's relations to the next's."""
    names = sorted(before.keys() | after.keys())
    nothing: frozenset[Fact] = frozenset()
    return Difference(
        {n: gained for n in names if (gained := after.get(n, nothing) - before.get(n, nothing))},
        {n: lost for n in names if (lost := before.get(n, nothing) - after.get(n, nothing))},
    )


def check_reports(run: Maintained, found: Difference, strategy: Strategy) -> None:
    """Assert that the strata are reported in order, each with what was done to it and why."""
    assert [report.relations for report in found.strata] == [s.relations for s in run.program.strata]
    for report, stratum in zip(found.strata, run.program.strata, strict=True):
        assert report.reason
        changed = found.inserted.keys() | found.deleted.keys()
        if report.action is Action.SKIPPED:
            assert not changed & set(report.relations)
            assert report.work == 0
        if report.action is Action.EXTENDED:
            assert not found.deleted.keys() & set(report.relations)
        # A lattice may be followed as a graph of best paths, without annotations.
        is_lattice = any(
            column.is_lattice for name in stratum.relations for column in run.program.relations[name].columns
        )
        if not (has_annotations(stratum, run.program) or is_lattice) or strategy is Strategy.RECOMPUTE:
            assert report.action in (Action.SKIPPED, Action.RECOMPUTED) or not stratum.rules


def follow(
    text: str,
    inputs: Mapping[str, Iterable[Fact]],
    changes: Iterable[tuple[Mapping[str, Iterable[Fact]], Mapping[str, Iterable[Fact]]]],
    strategies: Strategy | Sequence[Strategy] = Strategy.UPDATE,
) -> Maintained:
    """Take a program through epochs of (inserts, deletes), checking everything after each of them."""
    run = Maintained(build(text)).start(inputs)
    before = run.check()
    for number, (inserts, deletes) in enumerate(changes):
        strategy = strategies if isinstance(strategies, Strategy) else strategies[number % len(strategies)]
        found = run.change(inserts, deletes, strategy=strategy)
        after = run.check()
        assert found == difference(before, after)
        check_reports(run, found, strategy)
        before = after
    return run


def _canonical(fact: Fact) -> Fact:
    return tuple(map(canonical_value, fact))


def _present(inputs: Mapping[str, Iterable[Fact]]) -> dict[str, list[Fact]]:
    """Return the inputs that have facts: to insert nothing into a relation without columns is its fact."""
    return {name: sorted(facts, key=order_key) for name, facts in inputs.items() if facts}
