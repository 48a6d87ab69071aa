"""Lattice strata that are graphs, evaluated by best paths; see `plan.lattice_paths`."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.engine.local.all_heads import all_heads
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.plan.flatten import FlatRule
from tidelog.plan.lattice_paths import ArcRule, PathPlan
from tidelog.plan.statistics import Statistics
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.node_numbers import NodeNumbers
from tidelog.storage.ordered_groups import OrderedGroups
from tidelog.storage.path_graph import Step
from tidelog.storage.paths import Arcs, Paths, Touched, Unsuitable
from tidelog.storage.value_order import ValueOrder
from tidelog.values import Kind

# Sums of smaller floats than this never reach an infinity.
_HUGE = 1e290
_DTYPES = {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}


@dataclass(frozen=True)
class Changed:
    """Facts of one relation, as rows."""

    deleted: CodeArray
    inserted: CodeArray


class PathStratum:
    """The graph of a stratum: nodes are keys of its relations, values those of their lattice columns.

    With `follows`, base values are kept with how often each is derived, and arcs can be deleted.
    """

    def __init__(self, plan: PathPlan, state: LocalState, *, follows: bool) -> None:
        self.plan = plan
        self._state = state
        self._names = list(plan.columns)
        arities = [state.program.relations[name].arity - 1 for name in self._names]
        # With several relations, a node's first column is the number of its relation.
        self._shift = 1 if len(self._names) > 1 else 0
        self._nodes = NodeNumbers(max(arities) + self._shift, state.dtype)
        self._order = ValueOrder(plan.kind, plan.is_greatest)
        self._dtype = np.dtype(_DTYPES[plan.kind])
        self._paths = Paths(self._dtype, is_greatest=plan.is_greatest, keeps_sources=follows)
        self._bases = OrderedGroups() if follows else None
        self._base_counts: Int64s = np.zeros(0, np.int64)
        # Whether there were floats that can add up to an infinity, of either sign.
        self._has_huge = np.zeros(2, np.bool_)
        self.derivations = 0

    # --- from scratch --------------------------------------------------------------------------

    def evaluate(self, expressions: Expressions, statistics: Statistics) -> None:
        """Compute the values from the input facts of the relations, and replace the facts by them.

        Raises `Unsuitable` if the arcs do not allow it, and `Endless` if values improve for ever.
        """
        inputs = {name: self._state.relations[name].live_rows().copy() for name in self._names}
        for name, rows in inputs.items():
            self._add_bases(name, rows, np.ones(len(rows), np.int64))
        for rule in self.plan.bases:
            rows = self._heads(rule, expressions, statistics)
            self._add_bases(rule.relation, rows, np.ones(len(rows), np.int64))
        arcs = [self._arcs(arc, self._heads(arc.rule, expressions, statistics)) for arc in self.plan.arcs]
        self.derivations += sum(part.sources.size for part in arcs)
        self._paths.add(self._joined(arcs))
        self._paths.evaluate()
        for name in self._names:
            self._state.replace(name)
        nodes = np.flatnonzero(self._paths.has_value[: self._nodes.count])
        for name, rows in self._facts(nodes, self._paths.values[nodes]).items():
            self._state.relations[name].insert(rows)
            self._state.set_levels({name: 0}, 1)
            self._state.show_all(name)

    def _heads(self, rule: FlatRule, expressions: Expressions, statistics: Statistics) -> CodeArray:
        """Return the heads of all derivations of a rule that reads no relation of its stratum."""
        return all_heads(rule, self._state, expressions, statistics)

    # --- changes -------------------------------------------------------------------------------

    def change(
        self,
        bases: Sequence[tuple[str, CodeArray, Int64s]],
        arcs: Sequence[tuple[ArcRule, CodeArray, Int64s]],
    ) -> dict[str, Changed]:
        """Change base values and arcs by rows with diffs; return the facts deleted and inserted."""
        nodes = [self._change_bases(*part) for part in bases]
        deleted: list[Arcs] = []
        inserted: list[Arcs] = []
        for arc, rows, diffs in arcs:
            for part, sign in ((deleted, -1), (inserted, 1)):
                chosen = rows[diffs == sign]
                if len(chosen):
                    part.append(self._arcs(arc, chosen))
        changed = np.unique(np.concatenate([np.empty(0, np.int64), *nodes]))
        touched = self._paths.change(
            self._joined(deleted), self._joined(inserted), changed, *self._base_values(changed)
        )
        return self._changes(touched)

    def _changes(self, touched: Touched) -> dict[str, Changed]:
        nodes, has_value = touched.nodes, self._paths.has_value[touched.nodes] != 0
        values = self._paths.values[nodes]
        is_other = (touched.had_value != has_value) | (touched.had_value & (touched.before != values))
        deleted = self._facts(
            nodes[is_other & touched.had_value], touched.before[is_other & touched.had_value]
        )
        inserted = self._facts(nodes[is_other & has_value], values[is_other & has_value])
        return {
            name: Changed(deleted[name], inserted[name])
            for name in self._names
            if len(deleted[name]) or len(inserted[name])
        }

    # --- nodes, bases, arcs --------------------------------------------------------------------

    def _number(self, name: str, keys: CodeArray) -> Int64s:
        """Return the nodes of keys; keys without a node get one."""
        rows = keys
        if self._shift:
            rows = np.zeros((len(keys), self._nodes.arity), self._state.dtype)
            rows[:, 0] = self._names.index(name)
            rows[:, 1 : 1 + keys.shape[1]] = keys
        nodes = self._nodes.locate(np.ascontiguousarray(rows))
        if self._nodes.count > self._paths.values.shape[0]:
            self._paths.reserve(max(self._nodes.count, 2 * self._paths.values.shape[0]))
        return nodes

    def _add_bases(self, name: str, rows: CodeArray, diffs: Int64s) -> None:
        """Add base values, all of them new, before the first evaluation."""
        if not len(rows):
            return
        self.derivations += len(rows)
        nodes = self._change_bases(name, rows, diffs)
        if self._bases is not None:
            nodes = np.unique(nodes)
            self._paths.set_bases(nodes, *self._base_values(nodes))
            return
        values = rows[:, self.plan.columns[name]].astype(np.int64).view(self._dtype)
        self._paths.improve_bases(nodes, values)

    def _check_floats(self, codes: Int64s) -> None:
        """Raise `Unsuitable` if floats are NaN or may add up to it: the graph compares them as numbers."""
        if self._dtype.kind != "f":
            return
        values = codes.view(np.float64)
        self._has_huge |= (values > _HUGE).any(), (values < -_HUGE).any()
        if np.isnan(values).any() or self._has_huge.all():
            raise Unsuitable

    def _change_bases(self, name: str, rows: CodeArray, diffs: Int64s) -> Int64s:
        """Insert or delete base values; return their nodes."""
        column = self.plan.columns[name]
        self._check_floats(rows[:, column].astype(np.int64))
        nodes = self._number(name, np.delete(rows, column, axis=1))
        if self._bases is not None:
            capacity, known = self._paths.values.shape[0], self._base_counts.size
            if capacity > known:
                self._base_counts = np.concatenate([self._base_counts, np.zeros(capacity - known, np.int64)])
                self._bases.reserve(capacity)
            np.add.at(self._base_counts, nodes, diffs)
            self._bases.change(nodes, self._order.to_keys(rows[:, column].astype(np.int64)), diffs)
        return nodes

    def _base_values(self, nodes: Int64s) -> tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_]]:
        """Return the best base value of each node, and which nodes have one."""
        if not nodes.size:
            return np.empty(0, self._dtype), np.empty(0, np.bool_)
        assert self._bases is not None
        codes = self._order.to_codes(self._bases.least(nodes))
        return codes.view(self._dtype), self._base_counts[nodes] > 0

    def _arcs(self, arc: ArcRule, rows: CodeArray) -> Arcs:
        """Return rows of an arc rule as arcs between nodes."""
        first = self._state.program.relations[arc.source].arity - 1
        second = self._state.program.relations[arc.rule.relation].arity - 1
        sources = self._number(arc.source, rows[:, :first])
        targets = self._number(arc.rule.relation, rows[:, first : first + second])
        weights = np.zeros(len(rows), self._dtype)
        if arc.has_weight:
            codes = rows[:, first + second].astype(np.int64)
            self._check_floats(codes)
            weights = codes.view(self._dtype)
        return Arcs(sources, targets, weights, np.full(len(rows), Step[arc.step.name], np.uint8))

    def _joined(self, parts: Sequence[Arcs]) -> Arcs:
        nothing = np.empty(0, np.int64)
        return Arcs(
            np.concatenate([nothing, *(part.sources for part in parts)]),
            np.concatenate([nothing, *(part.targets for part in parts)]),
            np.concatenate([np.empty(0, self._dtype), *(part.weights for part in parts)]),
            np.concatenate([np.empty(0, np.uint8), *(part.steps for part in parts)]),
        )

    def _facts(self, nodes: Int64s, values: npt.NDArray[np.generic]) -> dict[str, CodeArray]:
        """Return nodes and values as rows of their relations."""
        found = {}
        rows = self._nodes.rows[nodes]
        codes = _codes(values)
        for number, name in enumerate(self._names):
            own = rows[:, 0] == number if self._shift else np.ones(len(rows), np.bool_)
            width = self._state.program.relations[name].arity - 1
            keys = rows[own, self._shift : self._shift + width].astype(np.int64)
            found[name] = self._state.pack_rows(np.insert(keys, self.plan.columns[name], codes[own], axis=1))
        return found


def _codes(values: npt.NDArray[np.generic]) -> Int64s:
    return np.ascontiguousarray(values).view(np.int64)
