"""The timelines of a stratum as arrays of an image, and back: a node is read when somebody asks for it.

All nodes of the stratum are rows of one table. What is known of the node in row `n` is between `starts[n]`
and `starts[n + 1]` in other arrays: entries of its timeline, input facts, arcs that lead to it, and targets
of those that lead from it. An arc is a rule with the row that `ArcRows` had it from.
"""

from collections.abc import Callable, ItemsView, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from tidelog.engine.local.lattice_values import Value
from tidelog.engine.local.timelines import Arc, KnownNodes, Node, Timeline
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.relation import StoredRelation
from tidelog.storage.relation_image import read_relation, write_relation
from tidelog.values.image import Add, AnyArray, ArrayOf

Known = TypeVar("Known", bound=tuple[Any, ...])


class ArcRows(NamedTuple):
    """All arcs of a rule: the rows they are made of, and their target and sources, each a row of `width`."""

    rule: int
    rows: CodeArray
    target: Int64s
    sources: Sequence[Int64s]


def node_width(key_sizes: Sequence[int]) -> int:
    """Return how many columns nodes have as rows, those with shorter keys too."""
    return 1 + max(key_sizes)


def write_timelines(
    known: KnownNodes, key_sizes: Sequence[int], value_size: int, arcs: Sequence[ArcRows], add: Add
) -> dict[str, object]:
    """Add what is known of nodes to an image; return what `read_timelines` needs.

    `key_sizes` are those of the relations of the stratum, and no value has more than `value_size` codes.
    """
    table = StoredRelation(node_width(key_sizes), np.int64)
    timelines = _Rows(table, ((node, entries) for node, entries in known.timelines.items()))
    inputs = _Rows(table, ((node, values) for node, values in known.inputs.items()))
    for each in arcs:
        for nodes in (each.target, *each.sources):
            table.insert(nodes)
    entries = [entry for group in timelines.groups for entry in group]
    input_values = [value for group in inputs.groups for value in group]
    arc_targets = _joined([table.find(each.target) for each in arcs])
    arc_names = _joined(
        [np.column_stack([np.full(len(each.rows), each.rule), np.arange(len(each.rows))]) for each in arcs], 2
    )
    pairs = [(table.find(source), table.find(each.target)) for each in arcs for source in each.sources]
    sources, targets = (_joined([pair[side] for pair in pairs]) for side in (0, 1))
    by_target, by_source = np.argsort(arc_targets, kind="stable"), np.argsort(sources, kind="stable")
    return {
        "nodes": write_relation(table, add),
        "timelines": add(timelines.starts(table.count)),
        "iterations": add(np.array([at for at, _ in entries], np.int64)),
        "values": add(_as_rows([value for _, value in entries], value_size)),
        "inputs": add(inputs.starts(table.count)),
        "given": add(_as_rows(input_values, value_size)),
        "arcs": add(_starts(arc_targets, table.count)),
        "arc_names": add(arc_names[by_target]),
        "targets": add(_starts(sources, table.count)),
        "target_nodes": add(targets[by_source]),
        "rows": {str(each.rule): add(each.rows) for each in arcs},
    }


def read_timelines(
    about: Mapping[str, Any],
    key_sizes: Sequence[int],
    value_sizes: Sequence[int],
    arc_of: Callable[[int, Sequence[int]], Arc],
    array_of: ArrayOf,
) -> KnownNodes:
    """Return what `write_timelines` wrote; `arc_of` makes the arc of a rule from a row."""
    mapped = _MappedNodes(about, key_sizes, value_sizes, arc_of, array_of)
    return KnownNodes(
        _FromImage(mapped, mapped.timeline),
        _FromImage(mapped, mapped.inputs),
        _FromImage(mapped, mapped.arcs),
        _FromImage(mapped, mapped.targets),
    )


class _MappedNodes:
    """The nodes of an image, and what it says about each."""

    def __init__(
        self,
        about: Mapping[str, Any],
        key_sizes: Sequence[int],
        value_sizes: Sequence[int],
        arc_of: Callable[[int, Sequence[int]], Arc],
        array_of: ArrayOf,
    ) -> None:
        self._table = StoredRelation(node_width(key_sizes), np.int64)
        read_relation(self._table, about["nodes"], array_of)
        self._key_sizes, self._value_sizes = key_sizes, value_sizes
        self._arc_of = arc_of
        names = about.keys() - {"nodes", "rows"}
        self._arrays: dict[str, AnyArray] = {name: array_of(about[name]) for name in names}
        self._rows = {int(rule): array_of(number) for rule, number in about["rows"].items()}
        # By node, for each is looked up once for everything that is known of it.
        self._numbers: dict[Node, int] = {}

    @property
    def all_nodes(self) -> Iterable[Node]:
        """Return every node."""
        return map(self._node, range(self._table.count))

    def number(self, node: Node) -> int:
        """Return the row of a node, -1 if it has none."""
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = int(self._table.find(_as_rows([node], self._table.arity))[0])
        return found

    def timeline(self, number: int) -> Timeline:
        """Return the timeline of a node."""
        part = self._part("timelines", number)
        times: list[int] = self._arrays["iterations"][part].tolist()
        return tuple(zip(times, self._values_of("values", part, number), strict=True))

    def inputs(self, number: int) -> tuple[Value, ...]:
        """Return the input facts of a node."""
        return self._values_of("given", self._part("inputs", number), number)

    def arcs(self, number: int) -> tuple[Arc, ...]:
        """Return the arcs that lead to a node."""
        names: list[list[int]] = self._arrays["arc_names"][self._part("arcs", number)].tolist()
        return tuple(self._arc_of(rule, self._rows[rule][row].tolist()) for rule, row in names)

    def targets(self, number: int) -> tuple[Node, ...]:
        """Return the targets of the arcs that lead from a node."""
        return tuple(map(self._node, self._arrays["target_nodes"][self._part("targets", number)].tolist()))

    def _part(self, name: str, number: int) -> slice:
        first, end = self._arrays[name][number : number + 2].tolist()
        return slice(first, end)

    def _values_of(self, name: str, part: slice, number: int) -> tuple[Value, ...]:
        size = self._value_sizes[int(self._table.held[number, 0])]
        return tuple(tuple(codes[:size]) for codes in self._arrays[name][part].tolist())

    def _node(self, number: int) -> Node:
        row = self._table.held[number].tolist()
        return tuple(row[: 1 + self._key_sizes[row[0]]])


class _FromImage(dict[Node, Known], Generic[Known]):
    """What was set or asked for since an image was read, otherwise what the image says.

    An empty tuple stands for a node of which nothing is known any more.
    """

    def __init__(self, mapped: _MappedNodes, read: Callable[[int], Known]) -> None:
        super().__init__()
        self._mapped = mapped
        self._read = read

    def get(self, node: Node, default: Any = None) -> Any:
        """Return what is known of a node, the default if nothing is."""
        found = super().get(node)
        if found is None:
            number = self._mapped.number(node)
            found = self._read(number) if number >= 0 else cast("Known", ())
            self[node] = found
        return found or default

    def pop(self, node: Node, default: Any = None) -> Any:
        """Forget a node; return what was known of it."""
        found = self.get(node, default)
        self[node] = cast("Known", ())
        return found

    def items(self) -> ItemsView[Node, Known]:  # type: ignore[override] # not of one dict
        """Return everything that is known, from the image too."""
        everything: dict[Node, Known] = {}
        for node in self._mapped.all_nodes:
            if node not in self:
                everything[node] = self._read(self._mapped.number(node))
        everything.update(super().items())
        return {node: known for node, known in everything.items() if known}.items()


class _Rows:
    """Groups of what is known of nodes, in the order of their rows."""

    def __init__(self, table: StoredRelation, known: Iterable[tuple[Node, Known]]) -> None:
        found = list(known)
        nodes = _as_rows([node for node, _ in found], table.arity)
        table.insert(nodes)
        numbers = table.find(nodes)
        in_order = np.argsort(numbers, kind="stable")
        self.groups: list[tuple[Any, ...]] = [found[place][1] for place in in_order.tolist()]
        self._numbers = numbers[in_order]

    def starts(self, count: int) -> Int64s:
        """Return where the group of each row starts, and where the last one ends."""
        return _starts(np.repeat(self._numbers, [len(group) for group in self.groups]), count)


def _starts(numbers: Int64s, count: int) -> Int64s:
    """Return where those of each number start once they are sorted, and where the last ones end."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=count)[:count], out=starts[1:])
    return starts


def _as_rows(tuples: Sequence[tuple[int, ...]], width: int) -> Int64s:
    """Return tuples as rows, shorter ones with zeros behind them."""
    padding = (0,) * width
    padded = [(*each, *padding[len(each) :]) for each in tuples]
    return np.array(padded, np.int64).reshape(-1, width)


def _joined(parts: Sequence[Int64s], columns: int = 0) -> Int64s:
    """Return arrays one after the other."""
    nothing = np.empty((0, columns) if columns else 0, np.int64)
    return np.concatenate([nothing, *parts])
