"""What a profile holds, as plain data.

Seconds are those of the clock, except below a rule: where several threads ran it, the seconds of its
operators are the sum over threads. `docs/profile.md` explains the fields as they stand in the file.
"""

from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import StratumStatistics
from tidelog.syntax.cursor import AGGREGATES

# A rule wastes bindings if it makes so many for each derivation, and so many in all.
WASTED_PER_DERIVATION: Final = 5
_WASTED_LEAST: Final = 100_000
_MADE_FOR: Final = {"outer": "groups of an aggregate", "derivation": "numbers of autoinc()"}


@dataclass(slots=True)
class Tally:
    """What a rule did in some iterations, or in all of them.

    `bindings` are those that its joins made, kept or not; `derivations` are those that reached the head, and
    of these `new_facts` were not known. If two rules find a fact in the same iteration, the first one counts.
    """

    seconds: float = 0.0
    bindings: int = 0
    derivations: int = 0
    new_facts: int = 0

    @property
    def duplicates(self) -> int:
        """Return how many derivations found a fact that was known."""
        return self.derivations - self.new_facts

    def add(self, other: "Tally") -> None:
        """Add what was done elsewhere."""
        self.seconds += other.seconds
        self.bindings += other.bindings
        self.derivations += other.derivations
        self.new_facts += other.new_facts


def is_wasteful(total: Tally) -> bool:
    """Say whether a rule makes many bindings that lead to nothing."""
    return total.bindings >= max(_WASTED_LEAST, WASTED_PER_DERIVATION * max(total.derivations, 1))


@dataclass(slots=True)
class OperatorProfile:
    """What one operator took and yielded.

    `seconds` are its own, without those of the operators behind it; one that runs together with the next
    has None, and the next one has both. `expected` is what the planner expected: of a scan all facts, of
    a join so many for each binding. `depth` is how many choices it is below, `key` are the columns by which
    it looks facts up.
    """

    text: str
    kind: str
    relation: str
    rows_in: int
    rows_out: int
    seconds: float | None
    expected: float | None = None
    depth: int = 0
    key: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ChainProfile:
    """A plan that ran: its operators in order. `begins_with_keys` says that it scans keys of the delta."""

    estimate: float
    begins_with_keys: bool
    seconds: float
    operators: list[OperatorProfile] = field(default_factory=list)


@dataclass(slots=True)
class CheaperOrder:
    """An order of atoms that would make far fewer bindings, by what relations hold in the end.

    `plan` is the order as `.plan` has it, None if the rule is better off without one: then each binding goes
    on with the atom that matches the fewest facts. `expected`, where there is an order, and `measured` are
    bindings for each fact of the delta.
    """

    plan: str | None
    expected: float
    measured: float


@dataclass(slots=True)
class RuleProfile:
    """A rule, or one of its delta rules: `delta_atom` counts from 1, and is None if it reads no delta.

    With `is_fixed` the program has a `.plan` for it.
    """

    rule: int
    relation: str
    text: str
    source: str
    line: int
    delta_atom: int | None
    is_fixed: bool = False
    total: Tally = field(default_factory=Tally)
    chains: list[ChainProfile] = field(default_factory=list)
    cheaper: CheaperOrder | None = None

    def bindings_per_fact(self) -> float:
        """Return how many bindings the rule made for each fact that it scanned."""
        scanned = sum(chain.operators[0].rows_out for chain in self.chains if not chain.begins_with_keys)
        return self.total.bindings / scanned if scanned else 0.0


@dataclass(slots=True)
class IterationProfile:
    """One iteration, or `iterations` neighbouring ones together; `rules` are tallies by the rule's number.

    `begun` is in seconds since the run began; `memory_bytes` is what the process held at the end.
    """

    first: int
    iterations: int
    begun: float
    seconds: float
    new_facts: int
    index_seconds: float = 0.0
    planning_seconds: float = 0.0
    memory_bytes: int = 0
    rules: dict[int, Tally] = field(default_factory=dict)

    def add(self, other: "IterationProfile") -> None:
        """Add the iterations that follow."""
        self.iterations += other.iterations
        self.seconds += other.seconds
        self.new_facts += other.new_facts
        self.index_seconds += other.index_seconds
        self.planning_seconds += other.planning_seconds
        self.memory_bytes = max(self.memory_bytes, other.memory_bytes)
        for rule, tally in other.rules.items():
            self.rules.setdefault(rule, Tally()).add(tally)


@dataclass(slots=True)
class IndexProfile:
    """An index: what it holds in bytes when the stratum is done, and how long it took to build."""

    relation: str
    key: list[str]
    rows: int
    memory_bytes: int
    seconds: float


@dataclass(slots=True)
class StratumProfile:
    """What one stratum took."""

    number: int
    relations: list[str]
    is_recursive: bool
    seconds: float = 0.0
    planning_seconds: float = 0.0
    index_seconds: float = 0.0
    iterations: int = 0
    facts: int = 0
    derivations: int = 0
    bindings: int = 0
    rules: list[RuleProfile] = field(default_factory=list)
    records: list[IterationProfile] = field(default_factory=list)
    indexes: list[IndexProfile] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Return the relations as readers know them.

        Relations that a pass made have names with a slash, such as `count/66d7e14dad6d`; a stratum of these
        is called by what they are for.
        """
        written = [name for name in self.relations if "/" not in name]
        if written:
            return ", ".join(written)
        origin = self.relations[0].partition("/")[0]
        if origin in _MADE_FOR:
            return _MADE_FOR[origin]
        is_aggregate = origin in AGGREGATES or origin.startswith("@")
        return f"the aggregate {origin}" if is_aggregate else f"fewer columns of {origin}"

    def take_totals(self, statistics: StratumStatistics) -> None:
        """Take over what the engine says of the whole stratum."""
        self.seconds, self.iterations = statistics.seconds, statistics.iterations
        self.facts, self.derivations = statistics.facts, statistics.derivations
        self.bindings = statistics.bindings
