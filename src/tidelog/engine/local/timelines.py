"""Lattice strata as timelines: the values that each key has, iteration by iteration.

A node is a key of a relation. Its timeline lists the iterations in which its value changes, with the new
value. Input facts arrive in iteration 0 and rules without sources in iteration 1. When a source of an arc
changes in iteration k, the arc offers a value in k + 1; what all arcs offer to a node in one iteration is
joined with the value it had:

    value(x) = [(1, 0..0), (3, 0..inf)]        0..0 from iteration 1 on, 0..inf from iteration 3 on

So what a node does in an iteration depends on the input facts and on what its sources did in earlier
iterations, and on nothing else. A change is followed in the order of iterations: a node that may differ in
some iteration is examined there, and in every later one in which it or one of its sources has an entry. Where
an entry differs, the targets are examined in the next iteration. Entries of later iterations are those of the
old epoch until their turn comes; nothing reads them before. So the result is the evaluation from scratch,
iteration by iteration.

With a narrowing, iterations go on after the fixpoint: in iteration `DESCENT` + 1 every value is narrowed to
what the rules make of the values at the fixpoint, and so on. These iterations have numbers of their own, so
that a timeline does not depend on when the rest of the stratum reached its fixpoint.
"""

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final, TypeVar

from tidelog.dataclass import dataclass
from tidelog.engine.local.lattice_values import ArcFunction, Joins, NotALattice, Value

# The number of a relation in its stratum, then the key.
Node = tuple[int, ...]
Timeline = tuple[tuple[int, Value], ...]
Member = TypeVar("Member")
NEVER: Final[Timeline] = ()
# A derivation without its values: its rule, target and sources, and the codes that the rule's function reads.
# All that is kept are tuples of numbers, which the garbage collector does not visit again.
Arc = tuple[int, Node, tuple[Node, ...], tuple[int, ...]]
# Iterations after the fixpoint are numbered from here.
DESCENT = 1 << 40
NO_ARCS: Final[tuple[Arc, ...]] = ()
_NOT_ABOVE: Final = "its join is not associative: a value is not above what it was joined from"
# How many earlier values of a node a new one is compared with.
_LOOKED_BACK = 8


@dataclass
class KnownNodes:
    """What is known of nodes: timelines, input facts, arcs that lead to them, and targets of other arcs."""

    timelines: dict[Node, Timeline] = field(default_factory=dict)
    inputs: dict[Node, tuple[Value, ...]] = field(default_factory=dict)
    arcs: dict[Node, tuple[Arc, ...]] = field(default_factory=dict)
    targets: dict[Node, tuple[Node, ...]] = field(default_factory=dict)


class Timelines:
    """The nodes of a stratum with their timelines, and the arcs between them.

    Changes are remembered until `commit` or `undo`. `check_level` gets the last iteration of new timelines.
    """

    def __init__(
        self,
        functions: Sequence[ArcFunction],
        joins: Sequence[Joins],
        check_level: Callable[[int], None],
        known: KnownNodes | None = None,
    ) -> None:
        self._functions = functions
        self._joins = joins
        self._check_level = check_level
        self._narrows = any(each.narrows for each in joins)
        self.known = KnownNodes() if known is None else known
        self.timelines, self._inputs = self.known.timelines, self.known.inputs
        self._arcs, self._targets = self.known.arcs, self.known.targets
        self._waiting: list[tuple[int, Node]] = []
        self._due: dict[Node, int] = {}
        self._before: dict[Node, Timeline] = {}
        self._changed_arcs: list[tuple[Arc, int]] = []
        self._inputs_before: dict[Node, tuple[Value, ...]] = {}
        # Offers that were computed: the work that was done.
        self.work = 0

    # --- changes -------------------------------------------------------------------------------

    def insert_arcs(self, arcs: Sequence[Arc]) -> None:
        """Add arcs."""
        self._changed_arcs.extend((arc, 1) for arc in arcs)
        self._link(arcs)
        for _, target, _, _ in arcs:
            self._wait(target, 1)

    def delete_arcs(self, arcs: Sequence[Arc]) -> None:
        """Remove arcs."""
        for arc in arcs:
            self._changed_arcs.append((arc, -1))
            self._unlink(arc)
            self._wait(arc[1], 1)

    def change_input(self, node: Node, deleted: Iterable[Value], inserted: Iterable[Value]) -> None:
        """Remove and add input facts of a node."""
        before = self._inputs.get(node, ())
        self._inputs_before.setdefault(node, before)
        dropped = set(deleted)
        self._set_input(node, (*(value for value in before if value not in dropped), *inserted))
        self._wait(node, 0)

    def settle(self) -> None:
        """Examine all nodes that changes may have changed."""
        waiting, due = self._waiting, self._due
        while waiting:
            iteration, node = heapq.heappop(waiting)
            if due.get(node) == iteration:
                del due[node]
                self._examine(node, iteration)

    def _examine(self, node: Node, iteration: int) -> None:
        """Find out what a node does in an iteration, and when it has to be examined again."""
        timeline = self.timelines.get(node, NEVER)
        place = bisect_left(timeline, (iteration,))
        value = timeline[place - 1][1] if place else None
        arcs = self._arcs.get(node, NO_ARCS)
        new = self._risen(node, arcs, iteration, value) if iteration < DESCENT else None
        if iteration > DESCENT and value is not None:
            new = self._fallen(node, arcs, iteration, value)
        entries: Timeline = () if new is None or new == value else ((iteration, new),)
        has_entry = place < len(timeline) and timeline[place][0] == iteration
        if entries != timeline[place : place + has_entry]:
            if entries:
                self._check(node, timeline[:place][-_LOOKED_BACK:], entries[0])
            if node not in self._before:
                self._before[node] = timeline
            timeline = (*timeline[:place], *entries, *timeline[place + has_entry :])
            self._set(node, timeline)
            for target in self._targets.get(node, ()):
                self._wait(target, iteration + 1)
        self._wait_again(node, timeline, arcs, iteration)

    def _wait_again(self, node: Node, timeline: Timeline, arcs: Sequence[Arc], iteration: int) -> None:
        """Let a node wait for the next iteration in which it may do something."""
        following = timeline[bisect_left(timeline, (iteration + 1,)) :][:1]
        times = [following[0][0]] if following else []
        if iteration == 0:
            times.append(1)
        if self._narrows and iteration <= DESCENT:
            times.append(DESCENT + 1)
        for _, _, sources, _ in arcs:
            for source in sources:
                known = self.timelines.get(source, NEVER)
                if known and known[-1][0] >= iteration:
                    times.append(known[bisect_left(known, (iteration,))][0] + 1)
        if times:
            self._wait(node, min(times))

    def changed(self) -> Iterator[tuple[Node, Value | None, Value | None]]:
        """Yield the nodes whose last value differs from the last one before the changes."""
        for node, before in self._before.items():
            now = self.timelines.get(node, NEVER)
            old_value, new_value = before[-1][1] if before else None, now[-1][1] if now else None
            if old_value != new_value:
                yield node, old_value, new_value

    def last_iteration(self) -> int:
        """Return the last iteration before the fixpoint in which a value changed."""
        times = (at for timeline in self.timelines.values() for at, _ in timeline if at < DESCENT)
        return max(times, default=0)

    def commit(self) -> None:
        """Keep the changes."""
        self._before, self._inputs_before = {}, {}
        self._changed_arcs = []

    def undo(self) -> None:
        """Take the changes back."""
        for node, timeline in self._before.items():
            self._set(node, timeline)
        for arc, diff in reversed(self._changed_arcs):
            if diff > 0:
                self._unlink(arc)
            else:
                self._link([arc])
        for node, values in self._inputs_before.items():
            self._set_input(node, values)
        self._waiting, self._due = [], {}
        self.commit()

    # --- one node ------------------------------------------------------------------------------

    def _risen(self, node: Node, arcs: Sequence[Arc], iteration: int, value: Value | None) -> Value | None:
        """Return the value of a node after an iteration before the fixpoint, None if it has none."""
        offers: set[Value] = set(self._inputs.get(node, ())) if iteration == 0 else set()
        for rule, _, sources, used in arcs:
            values = self._new_values(sources, iteration - 1)
            if values is not None:
                self.work += 1
                offers.update(self._functions[rule](used, values))
        if value is None:
            return self._joins[node[0]].join(list(offers)) if offers else None
        offers.discard(value)
        if not offers:
            return value
        joins = self._joins[node[0]]
        new = joins.join([value, *offers])
        if new != value and joins.widens:
            new = joins.widen(value, new)
        if not joins.is_above(new, offers):
            raise NotALattice(_NOT_ABOVE)
        return new

    def _new_values(self, sources: tuple[Node, ...], iteration: int) -> tuple[Value, ...] | None:
        """Return the values of an arc's sources after an iteration if one of them is new and none missing."""
        if not sources:
            return () if iteration == 0 else None
        is_new = False
        values = []
        for source in sources:
            timeline = self.timelines.get(source, NEVER)
            place = bisect_left(timeline, (iteration + 1,)) - 1
            if place < 0:
                return None
            at, value = timeline[place]
            is_new |= at == iteration
            values.append(value)
        return tuple(values) if is_new else None

    def _fallen(self, node: Node, arcs: Sequence[Arc], iteration: int, value: Value) -> Value:
        """Return the value of a node after an iteration behind the fixpoint."""
        made = set(self._inputs.get(node, ()))
        for rule, _, sources, used in arcs:
            values = [_value_at(self.timelines.get(each, NEVER), iteration - 1) for each in sources]
            if None not in values:
                self.work += 1
                made.update(self._functions[rule](used, tuple(values)))  # type: ignore[arg-type] # no None
        joins = self._joins[node[0]]
        return joins.narrow(value, joins.join(list(made))) if made else value

    def _check(self, node: Node, earlier: Timeline, entry: tuple[int, Value]) -> None:
        """Raise if there are too many iterations, or if a value is not above those it had."""
        iteration, value = entry
        self._check_level(iteration % DESCENT)
        if iteration < DESCENT and not self._joins[node[0]].is_above(value, (each for _, each in earlier)):
            raise NotALattice(_NOT_ABOVE)

    # --- storage -------------------------------------------------------------------------------

    def _wait(self, node: Node, time: int) -> None:
        due = self._due.get(node)
        if due is None or time < due:
            self._due[node] = time
            heapq.heappush(self._waiting, (time, node))

    def _set(self, node: Node, timeline: Timeline) -> None:
        if timeline:
            self.timelines[node] = timeline
        else:
            self.timelines.pop(node, None)

    def _set_input(self, node: Node, values: tuple[Value, ...]) -> None:
        if values:
            self._inputs[node] = values
        else:
            self._inputs.pop(node, None)

    def _link(self, arcs: Iterable[Arc]) -> None:
        by_target: dict[Node, list[Arc]] = {}
        by_source: dict[Node, list[Node]] = {}
        for arc in arcs:
            by_target.setdefault(arc[1], []).append(arc)
            for source in arc[2]:
                by_source.setdefault(source, []).append(arc[1])
        for node, inserted in by_target.items():
            self._arcs[node] = (*self._arcs.get(node, ()), *inserted)
        for node, targets in by_source.items():
            self._targets[node] = (*self._targets.get(node, ()), *targets)

    def _unlink(self, arc: Arc) -> None:
        _take_out(self._arcs, arc[1], arc)
        for source in arc[2]:
            _take_out(self._targets, source, arc[1])


def _take_out(members: dict[Node, tuple[Member, ...]], node: Node, member: Member) -> None:
    before = members.get(node, ())
    place = before.index(member)
    after = (*before[:place], *before[place + 1 :])
    if after:
        members[node] = after
    else:
        members.pop(node)


def _value_at(timeline: Timeline, iteration: int) -> Value | None:
    """Return the value after an iteration."""
    place = bisect_left(timeline, (iteration + 1,))
    return timeline[place - 1][1] if place else None
