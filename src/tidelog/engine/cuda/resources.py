"""What the kernels of a stratum work on: relations, indexes, queues, and where counters of them are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.layout import RowLayout
from tidelog.plan.operators import Check, IndexJoin, Operator, ScanView, StratumPlan, all_operators
from tidelog.program.nodes import Program

# The counters that runtime.h names, in its order.
STOP, STAGE, ITERATION, FINISHED, MOVED, _SHARED = range(6)
# The counters behind them: of relations, of indexes, what lacks room, and of queues.
COUNTER_KINDS = (
    "count",
    "first",
    "last",
    "used",
    "top",
    "full",
    "groups",
    "entries",
    "moves",
    "queue",
    "pushed",
)
# Keys of so few bits are the numbers of their groups.
_DENSE_BITS = 24
_KEY_BITS = 63


@dataclass(frozen=True, slots=True)
class DeviceRelation:
    """A relation that kernels read or extend; `grows` if the stratum derives it.

    A table of its facts is needed only where it grows or `is_checked`.
    """

    number: int
    name: str
    layout: RowLayout
    grows: bool
    is_checked: bool

    @property
    def arity(self) -> int:
        """Return the number of columns."""
        return len(self.layout.columns)


@dataclass(frozen=True, slots=True)
class DeviceIndex:
    """The facts of a relation by the columns of a key.

    A group has a number: the key itself if that `is_dense`, otherwise the slot of the key. A key of too many
    bits is hashed, so that facts of other keys may be in its group.
    """

    number: int
    relation: DeviceRelation
    key: tuple[int, ...]

    @property
    def bits(self) -> int:
        """Return how many bits the key takes."""
        return sum(self.relation.layout.columns[column].bits for column in self.key)

    @property
    def is_dense(self) -> bool:
        """Say whether every key has a group from the beginning."""
        return self.bits <= _DENSE_BITS

    @property
    def is_hashed(self) -> bool:
        """Say whether a group may have facts of several keys."""
        return self.bits > _KEY_BITS


@dataclass
class Resources:
    """All that the kernels of a stratum name, in order."""

    relations: dict[str, DeviceRelation] = field(default_factory=dict)
    indexes: dict[tuple[str, tuple[int, ...]], DeviceIndex] = field(default_factory=dict)
    # The width of the items of each queue, by its number. Rules use the same queues one after the other.
    queues: list[int] = field(default_factory=list)
    # How many queue counters there are; each join that may push has one.
    pushes: int = 0

    def counter(self, kind: str, number: int = 0) -> int:
        """Return the place of a counter of a relation, an index or a queue."""
        relations, indexes = len(self.relations), len(self.indexes)
        sizes = (
            (relations,) * 3
            + (indexes,) * 2
            + (relations, indexes, indexes, 1, len(self.queues), self.pushes)
        )
        return _SHARED + sum(sizes[: COUNTER_KINDS.index(kind)]) + number

    @property
    def counters(self) -> int:
        """Return how many counters there are."""
        return self.counter("pushed", self.pushes)

    def flags(self) -> range:
        """Return the places of the counters that say what is full."""
        return range(self.counter("full"), self.counter("pushed"))

    def queue(self, number: int, width: int) -> None:
        """Ask for a queue of items of this many words."""
        self.queues.extend([0] * (number + 1 - len(self.queues)))
        self.queues[number] = max(self.queues[number], width)


def find_resources(
    plan: StratumPlan, program: Program, layouts: Mapping[str, RowLayout], derived: Iterable[str]
) -> Resources:
    """Return the relations and indexes that the plans of a stratum use."""
    resources = Resources()
    operators = [
        operator for each in (*plan.once, *plan.repeated) for operator in all_operators(each.operators)
    ]
    checked = {
        x.relation
        for x in operators
        if isinstance(x, Check) and len(x.key) == program.relations[x.relation].arity
    }
    growing = tuple(derived)
    names = dict.fromkeys(
        (*growing, *(x.relation for x in operators if isinstance(x, ScanView | IndexJoin | Check)))
    )
    for number, name in enumerate(names):
        grows = name in growing
        resources.relations[name] = DeviceRelation(
            number, name, layouts[name], grows, grows or name in checked
        )
    for name, key in dict.fromkeys(_keys(operators, program)):
        number = len(resources.indexes)
        resources.indexes[name, key] = DeviceIndex(number, resources.relations[name], key)
    return resources


def _keys(operators: Iterable[Operator], program: Program) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the keys by which facts are looked up, with their relations."""
    for operator in operators:
        match operator:
            case IndexJoin() if operator.key:
                yield operator.relation, operator.key
            case Check() if operator.key and len(operator.key) < program.relations[operator.relation].arity:
                yield operator.relation, operator.key
            case _:
                continue
