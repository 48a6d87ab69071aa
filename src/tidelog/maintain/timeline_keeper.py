"""Lattice strata that are followed by timelines, from epoch to epoch; see `engine.local.timelines`."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tidelog.engine.local.lattice_values import (
    ArcFunction,
    ColumnJoin,
    Joins,
    LatticeCalls,
    NotALattice,
    Value,
)
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.timelines import DESCENT, Arc, KnownNodes, Node, Timelines
from tidelog.engine.local.timelines_image import ArcRows, node_width, read_timelines, write_timelines
from tidelog.engine.protocol import StratumStatistics, UserFunctions
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.groups import replace_rows
from tidelog.maintain.row_delta import RowDelta, changed_rows
from tidelog.plan.lattice_arcs import ArcPlan, ArcPlans, NodePlan
from tidelog.program.nodes import Constant, Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.values.codec import Codec
from tidelog.values.image import Add, ArrayOf

Row = Sequence[int]
# Rows of input facts that are deleted, and those inserted.
InputChange = tuple[CodeArray, CodeArray]


class KeptTimelines:
    """The timelines of one stratum, fed with rows."""

    def __init__(
        self,
        stratum: Stratum,
        plans: Sequence[ArcPlan],
        calls: LatticeCalls,
        check_level: Callable[[int], None],
    ) -> None:
        program = calls.program
        self._relations = [program.relations[name] for name in stratum.relations]
        self._numbers = {name: number for number, name in enumerate(stratum.relations)}
        self._calls = calls
        columns = {
            column.type: ColumnJoin(calls, program.lattices[column.type])
            for relation in self._relations
            for column in relation.columns
            if column.is_lattice
        }
        self._joins = [Joins(relation, columns) for relation in self._relations]
        self._functions = [ArcFunction(plan, calls) for plan in plans]
        self._check_level = check_level
        self._all_rules = [_RuleArcs(number, plan, self._numbers, calls) for number, plan in enumerate(plans)]
        self._rules: dict[str, list[_RuleArcs]] = {}
        # Rules of which each has one arc that is always there.
        self._constant: list[_RuleArcs] = []
        for rule, plan in zip(self._all_rules, plans, strict=True):
            if plan.arcs is None:
                self._constant.append(rule)
            else:
                self._rules.setdefault(plan.arcs, []).append(rule)
        self._plain = [
            [place for place, column in enumerate(relation.columns) if not column.is_lattice]
            for relation in self._relations
        ]
        self._start(KnownNodes())
        self.timelines.insert_arcs([rule.arc(()) for rule in self._constant])

    def _start(self, known: KnownNodes) -> None:
        self.timelines = Timelines(self._functions, self._joins, self._check_level, known)

    @property
    def arcs(self) -> Iterable[str]:
        """Return the relations of arcs."""
        return self._rules

    def change_arcs(self, name: str, deleted: CodeArray, inserted: CodeArray) -> None:
        """Delete and insert facts of a relation of arcs."""
        for rule in self._rules[name]:
            self.timelines.delete_arcs([rule.arc(row) for row in deleted.tolist()])
            self.timelines.insert_arcs([rule.arc(row) for row in inserted.tolist()])

    def change_inputs(self, name: str, deleted: CodeArray, inserted: CodeArray) -> None:
        """Delete and insert input facts of a relation of the stratum."""
        changes: dict[Node, tuple[list[Value], list[Value]]] = {}
        for side, rows in enumerate((deleted, inserted)):
            for row in rows.tolist():
                node, value = self._taken_apart(name, row)
                changes.setdefault(node, ([], []))[side].append(value)
        for node, (lost, gained) in changes.items():
            self.timelines.change_input(node, lost, gained)

    def write_image(self, relations: Mapping[str, StoredRelation], add: Add) -> dict[str, object]:
        """Add the timelines to an image; `relations` has those of arcs."""
        rows = {name: relations[name].live_rows() for name in self._rules}
        width = node_width(self._key_sizes)
        arcs = [rule.all_arcs(rows[name], width) for name, rules in self._rules.items() for rule in rules]
        arcs += [rule.all_arcs(np.empty((1, 0), np.int64), width) for rule in self._constant]
        return write_timelines(self.timelines.known, self._key_sizes, max(self._value_sizes), arcs, add)

    def read_image(self, about: Mapping[str, Any], array_of: ArrayOf) -> None:
        """Take the timelines of an image in place of those that are here."""
        known = read_timelines(
            about,
            self._key_sizes,
            self._value_sizes,
            lambda rule, row: self._all_rules[rule].arc(row),
            array_of,
        )
        self._start(known)

    @property
    def _key_sizes(self) -> list[int]:
        return [len(places) for places in self._plain]

    @property
    def _value_sizes(self) -> list[int]:
        return [len(relation.lattice_columns) for relation in self._relations]

    def has(self, relation: str) -> bool:
        """Say whether a relation is of the stratum."""
        return relation in self._numbers

    def periods(self, relation: str, row: Row) -> list[tuple[int, Row, bool]]:
        """Return the rows that the key of a row had, from which iteration on, and which narrowing led to."""
        node, _ = self._taken_apart(relation, row)
        timeline = self.timelines.timelines.get(node, ())
        return [(at, self._row(node, value), at >= DESCENT) for at, value in timeline]

    def facts(self) -> dict[str, Int64s]:
        """Return the facts of every relation, as rows."""
        last = ((node, timeline[-1][1]) for node, timeline in self.timelines.timelines.items())
        return self._rows(last)

    def changes(self) -> dict[str, tuple[Int64s, Int64s]]:
        """Return the facts of every relation that the last changes deleted and inserted."""
        changed = list(self.timelines.changed())
        deleted = self._rows((node, value) for node, value, _ in changed if value is not None)
        inserted = self._rows((node, value) for node, _, value in changed if value is not None)
        return {name: (deleted[name], inserted[name]) for name in deleted}

    def _taken_apart(self, name: str, row: Row) -> tuple[Node, Value]:
        number = self._numbers[name]
        key = (row[place] for place in self._plain[number])
        return (number, *key), tuple(row[place] for place in self._relations[number].lattice_columns)

    def _row(self, node: Node, value: Value) -> Row:
        number = node[0]
        row = [0] * self._relations[number].arity
        for place, code in zip(self._plain[number], node[1:], strict=True):
            row[place] = code
        for place, code in zip(self._relations[number].lattice_columns, value, strict=True):
            row[place] = code
        return row

    def _rows(self, facts: Iterable[tuple[Node, Value]]) -> dict[str, Int64s]:
        rows: list[list[Row]] = [[] for _ in self._relations]
        for node, value in facts:
            rows[node[0]].append(self._row(node, value))
        return {
            name: np.array(rows[number], np.int64).reshape(-1, self._relations[number].arity)
            for name, number in self._numbers.items()
        }


class _RuleArcs:
    """Makes arcs of the rows of a rule's relation."""

    def __init__(self, number: int, plan: ArcPlan, numbers: Mapping[str, int], calls: LatticeCalls) -> None:
        self._number = number
        self._used = plan.used
        self._target = _NodeMaker(plan.target, numbers, calls)
        self._sources = [_NodeMaker(source, numbers, calls) for source in plan.sources]

    def arc(self, row: Row) -> Arc:
        """Return the arc of a row."""
        sources = tuple(source.node(row) for source in self._sources)
        return self._number, self._target.node(row), sources, tuple(row[place] for place in self._used)

    def all_arcs(self, rows: CodeArray, width: int) -> ArcRows:
        """Return the arcs of all rows, with nodes as rows of this width."""
        sources = [source.nodes(rows, width) for source in self._sources]
        return ArcRows(self._number, rows, self._target.nodes(rows, width), sources)


class _NodeMaker:
    """Makes one of an arc's nodes of a row of arcs."""

    def __init__(self, plan: NodePlan, numbers: Mapping[str, int], calls: LatticeCalls) -> None:
        self._number = numbers[plan.relation]
        self._places = [
            (-1, calls.codec.encode(place.value, place.type)) if isinstance(place, Constant) else (place, 0)
            for place in plan.key
        ]

    def node(self, row: Row) -> Node:
        """Return the node of a row."""
        key = (constant if place < 0 else row[place] for place, constant in self._places)
        return (self._number, *key)

    def nodes(self, rows: CodeArray, width: int) -> Int64s:
        """Return the nodes of all rows, as rows of this width."""
        found = np.zeros((len(rows), width), np.int64)
        found[:, 0] = self._number
        for column, (place, constant) in enumerate(self._places, 1):
            found[:, column] = constant if place < 0 else rows[:, place]
        return found


class TimelineKeeper:
    """The timelines of an engine's lattice strata; `plans` by the first relation of a stratum."""

    def __init__(
        self,
        plans: Mapping[str, ArcPlans],
        state: LocalState,
        codec: Codec,
        functions: UserFunctions,
        known: "TimelineKeeper | None" = None,
    ) -> None:
        self._plans = plans
        self._state = state
        self._codec = codec
        self._functions = functions
        self._kept: dict[str, KeptTimelines] = {}
        self._replaced: dict[str, KeptTimelines | None] = {}
        # Why a stratum is no longer followed, although its rules can be.
        self._broken: dict[str, str] = {}
        if known is not None:
            self._kept = known.kept_for(plans)

    def kept_for(self, plans: Mapping[str, ArcPlans]) -> dict[str, KeptTimelines]:
        """Return the timelines that another program with these plans can continue with."""
        return {name: kept for name, kept in self._kept.items() if plans.get(name) == self._plans[name]}

    def plans(self, stratum: Stratum) -> bool:
        """Say whether a stratum has lattices that are not best paths."""
        return stratum.relations[0] in self._plans

    def reason(self, stratum: Stratum) -> str | None:
        """Return why a stratum is recomputed, None if it is followed."""
        name = stratum.relations[0]
        plans = self._plans.get(name)
        if plans is None:
            return None
        return self._broken.get(name, plans.reason)

    def takes(self, stratum: Stratum) -> bool:
        """Say whether a stratum is evaluated and followed by timelines."""
        name = stratum.relations[0]
        return name in self._plans and self._plans[name].reason is None and name not in self._broken

    def periods(self, relation: str, row: Row) -> list[tuple[int, Row, bool]] | None:
        """Return the rows that the key of a row had, from which iteration on, and which narrowing led to.

        None if the relation's stratum is not followed.
        """
        kept = next((each for each in self._kept.values() if each.has(relation)), None)
        return None if kept is None else kept.periods(relation, row)

    def follows(self, stratum: Stratum) -> bool:
        """Say whether the timelines of a stratum are up to date."""
        return stratum.relations[0] in self._kept

    def evaluate(self, stratum: Stratum, check_level: Callable[[int], None]) -> StratumStatistics | None:
        """Evaluate a stratum from its input facts, and replace the facts by what was found.

        Return None and change nothing if a join of the user's breaks a law of lattices.
        """
        start = time.perf_counter()
        name, state = stratum.relations[0], self._state
        kept = self._new(stratum, check_level)
        self._replaced.setdefault(name, self._kept.pop(name, None))
        for arcs in kept.arcs:
            rows = state.relations[arcs].live_rows()
            kept.change_arcs(arcs, rows[:0], rows)
        for relation in stratum.relations:
            rows = state.relations[relation].live_rows()
            kept.change_inputs(relation, rows[:0], rows)
        try:
            kept.timelines.settle()
        except NotALattice as broken:
            self._broken[name] = str(broken)
            return None
        kept.timelines.commit()
        self._kept[name] = kept
        for relation, rows in kept.facts().items():
            self._fill(relation, state.pack_rows(rows))
        facts = len(kept.timelines.timelines)
        iterations = 1 + kept.timelines.last_iteration()
        seconds = time.perf_counter() - start
        work = kept.timelines.work
        return StratumStatistics(stratum.relations, stratum.is_recursive, iterations, facts, work, seconds)

    def _new(self, stratum: Stratum, check_level: Callable[[int], None]) -> KeptTimelines:
        calls = LatticeCalls(self._state.program, self._codec, self._functions)
        return KeptTimelines(stratum, self._plans[stratum.relations[0]].rules, calls, check_level)

    def write_image(self, add: Add) -> dict[str, object]:
        """Add all timelines to an image; return what `read_image` needs."""
        relations = self._state.relations
        kept = {name: kept.write_image(relations, add) for name, kept in self._kept.items()}
        return {"kept": kept, "broken": self._broken}

    def read_image(
        self,
        about: Mapping[str, Any],
        check_levels: Iterable[tuple[Stratum, Callable[[int], None]]],
        array_of: ArrayOf,
    ) -> None:
        """Follow timelines as an image has them; `check_levels` says for each stratum what checks it."""
        self._broken = dict(about["broken"])
        for stratum, check_level in check_levels:
            name = stratum.relations[0]
            if name in about["kept"]:
                self._kept[name] = self._new(stratum, check_level)
                self._kept[name].read_image(about["kept"][name], array_of)

    def _fill(self, relation: str, rows: CodeArray) -> None:
        """Replace the input facts of a relation by its facts, of which input facts have level 0."""
        state = self._state
        is_plain = not state.program.relations[relation].lattice_columns
        inputs = state.relations[relation].live_rows().copy()
        state.replace(relation)
        stored = state.relations[relation]
        stored.insert(rows)
        state.set_levels({relation: 0}, 1)
        if is_plain and len(inputs):
            numbers = stored.find(inputs)
            stored.levels[numbers] = 0
        state.show_all(relation)

    def follow(
        self,
        stratum: Stratum,
        inputs: Mapping[str, InputChange],
        earlier: Mapping[str, RowDelta],
        marks_of: Callable[[str], EpochMarks],
    ) -> tuple[dict[str, RowDelta], int]:
        """Advance a stratum to the new epoch; return what changed, and the work.

        Raises `NotALattice` where it can no longer be followed.
        """
        name = stratum.relations[0]
        kept = self._kept[name]
        self._replaced.setdefault(name, kept)
        before = kept.timelines.work
        for relation, sides in inputs.items():
            kept.change_inputs(relation, *sides)
        for relation in kept.arcs:
            if relation in earlier:
                rows, change = self._state.relations[relation].rows, earlier[relation]
                kept.change_arcs(relation, rows[change.deleted], rows[change.inserted])
        try:
            kept.timelines.settle()
        except NotALattice as broken:
            kept.timelines.undo()
            self._broken[name] = str(broken)
            self._replaced[name] = self._kept.pop(name)
            raise
        found = {
            relation: replace_rows(marks_of(relation), *map(self._state.pack_rows, both))
            for relation, both in kept.changes().items()
            if sum(map(len, both))
        }
        return found, kept.timelines.work - before + changed_rows(found)

    def undo(self) -> None:
        """Take back what the epoch did."""
        for name, kept in self._replaced.items():
            current = self._kept.pop(name, None)
            if kept is not None:
                if kept is current:
                    kept.timelines.undo()
                self._kept[name] = kept
        self._replaced = {}

    def commit(self) -> None:
        """Keep the timelines as the epoch left them."""
        for name in self._replaced:
            if name in self._kept:
                self._kept[name].timelines.commit()
        self._replaced = {}
