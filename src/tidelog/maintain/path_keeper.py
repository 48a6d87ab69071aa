"""Lattice strata that are graphs, followed from epoch to epoch."""

from collections.abc import Callable, Mapping

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.convergence import endless
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.paths import PathStratum
from tidelog.engine.local.state import LocalState
from tidelog.errors import TidelogError
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.groups import changed_derivations, replace_rows
from tidelog.maintain.row_delta import RowDelta, changed_rows
from tidelog.plan.flatten import FlatRule
from tidelog.program.nodes import Stratum
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.paths import Endless, Unsuitable

Diffs = tuple[CodeArray, Int64s]


@dataclass(frozen=True)
class _Kept:
    """A graph, and the width of codes it was made for."""

    graph: PathStratum
    dtype: np.dtype[np.generic]


class PathKeeper:
    """The graphs of an engine's lattice strata.

    A graph cannot be undone: one that an epoch changed is dropped when the epoch is undone, and its stratum
    is recomputed when it is next reached.
    """

    def __init__(self, state: LocalState) -> None:
        self._state = state
        self._kept: dict[str, _Kept] = {}
        self._changed: set[str] = set()

    def keep(self, stratum: Stratum, graph: PathStratum | None) -> None:
        """Follow a graph from now on, if its rules can be followed; it replaces the old one."""
        name = stratum.relations[0]
        self._kept.pop(name, None)
        if graph is None:
            return
        if any(rule.aggregates for rule in (*graph.plan.bases, *(arc.rule for arc in graph.plan.arcs))):
            return
        self._kept[name] = _Kept(graph, np.dtype(self._state.dtype))
        self._changed.add(name)

    def follows(self, stratum: Stratum) -> bool:
        """Say whether the stratum is a graph that is up to date."""
        kept = self._kept.get(stratum.relations[0])
        return kept is not None and kept.dtype == np.dtype(self._state.dtype)

    def follow(
        self,
        stratum: Stratum,
        inputs: Mapping[str, Diffs],
        earlier: Mapping[str, RowDelta],
        derivations: LocalDerivations,
        marks_of: Callable[[str], EpochMarks],
    ) -> tuple[dict[str, RowDelta], int]:
        """Advance a stratum to the new epoch; return what changed, and the work.

        `inputs` are input facts with diffs. Raises `Unsuitable` where the graph can no longer be followed.
        """
        name = stratum.relations[0]
        kept = self._kept[name]
        self._changed.add(name)
        relations = self._state.relations

        def changes(rule: FlatRule) -> Diffs:
            rows, diffs = changed_derivations([rule], relations, earlier, derivations)
            return rows.astype(self._state.dtype), diffs

        bases = [(relation, *diffs) for relation, diffs in inputs.items()]
        plan = kept.graph.plan
        bases.extend((rule.relation, *changes(rule)) for rule in plan.bases if rule.body)
        arcs = [(arc, *changes(arc.rule)) for arc in plan.arcs]
        try:
            changed = kept.graph.change(bases, arcs)
        except Unsuitable:
            del self._kept[name]
            raise
        except Endless:
            raise TidelogError([endless(stratum)]) from None
        found = {
            relation: replace_rows(marks_of(relation), part.deleted, part.inserted)
            for relation, part in changed.items()
        }
        work = sum(len(part[1]) for part in (*bases, *arcs))
        return found, work + changed_rows(found)

    def undo(self) -> None:
        """Drop the graphs that the epoch changed."""
        for name in self._changed:
            self._kept.pop(name, None)
        self._changed = set()

    def commit(self) -> None:
        """Keep the graphs as the epoch left them."""
        self._changed = set()
