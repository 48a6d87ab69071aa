"""What an engine runs: operators over batches of bindings, as pure data.

A rule becomes a chain of operators. The first one scans or starts from a single empty binding;
each further one takes batches of bindings and yields batches; `outputs` is the layout of what
it yields: names of variables, or constants. The outputs of the last operator are the columns of
the head. Variables that are no longer needed are not in the layout.
"""

from collections.abc import Iterable, Iterator
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.program.nodes import Aggregate, Constant, Constraint, Generator, RuleId, Term
from tidelog.source import Span
from tidelog.values import Kind

Operand = str | Constant
Layout = tuple[Operand, ...]


class View(Enum):
    """Which facts of a relation an operator sees in an iteration.

    FULL are all facts found before the iteration, DELTA those of the iteration just before,
    OLD is FULL without DELTA.
    """

    FULL = "full"
    OLD = "old"
    DELTA = "delta"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A constraint that compares codes: `=` and `!=` of any kind, the others of numbers."""

    op: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Start:
    """Yields one empty binding, or the bindings of an aggregate's outer variables."""

    outputs: Layout


@dataclass(frozen=True, slots=True)
class ScanView:
    """Yields a binding for every fact in view; `binds` are (column, variable).

    With a `key` it binds only these columns, and yields one binding for the facts that agree in them.
    """

    relation: str
    view: View
    binds: tuple[tuple[int, str], ...]
    filters: tuple[Comparison, ...]
    outputs: Layout
    key: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexJoin:
    """Extends each binding by the facts whose `key` columns equal the operands.

    In `binds`, the column after the last one is the row number. With `ordered`, the filters bound that
    column from one side or both, and few facts of a key are within the bounds: an index ordered by
    it finds them.

    With `over`, more columns than the key, it extends each binding by their distinct values only, and by
    their `group`, a number. A later join by these columns that names this `group` needs no search.
    """

    relation: str
    view: View
    key: tuple[int, ...]
    operands: tuple[Operand, ...]
    binds: tuple[tuple[int, str], ...]
    filters: tuple[Comparison, ...]
    outputs: Layout
    ordered: int | None = None
    over: tuple[int, ...] = ()
    group: str = ""

    @property
    def index(self) -> tuple[int, ...]:
        """Return the key of the index that it reads, unless that is ordered."""
        return self.over or self.key


@dataclass(frozen=True, slots=True)
class Check:
    """Keeps the bindings for which a fact with these `key` columns exists (or none does)."""

    relation: str
    view: View
    key: tuple[int, ...]
    operands: tuple[Operand, ...]
    is_negated: bool
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Find:
    """Binds `row` to the number of the fact whose columns equal the operands.

    Without such a fact the binding is dropped, or, where the atom is negated, kept with -1.
    """

    relation: str
    operands: tuple[Operand, ...]
    row: str
    is_negated: bool
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Compute:
    """Binds a variable to the value of a term; bindings without a value are dropped."""

    variable: str
    term: Term
    filters: tuple[Comparison, ...]
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the bindings that satisfy a constraint."""

    constraint: Constraint
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Rearrange:
    """Yields the same bindings in another layout."""

    outputs: Layout


@dataclass(frozen=True, slots=True)
class Generate:
    """Extends each binding by the values of a range."""

    generator: Generator
    variable: str
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Unpack:
    """Binds the parts of a record or of a branch; other values are dropped."""

    variable: str
    pattern: Term
    binds: tuple[tuple[int, str], ...]
    filters: tuple[Comparison, ...]
    outputs: Layout


@dataclass(frozen=True, slots=True)
class RangeScan:
    """An aggregate over the facts of one relation in a range, to be answered from a scan tree.

    The facts have the values `operands` in the columns of `key`, and each of `bounds`, a comparison with a
    term over outer variables, holds for their `column` of this `kind`. `value` is the column of the target;
    `count` has none.

        sum v : { reading(k, t, v), lo <= t, t < hi }     key k, column t, bounds >= lo and < hi, value v
    """

    relation: str
    key: tuple[int, ...]
    operands: tuple[Term, ...]
    column: int
    kind: Kind
    bounds: tuple[tuple[str, Term], ...]
    value: int | None


@dataclass(frozen=True, slots=True)
class Reduce:
    """Binds a variable to an aggregate over the bindings that `body` yields.

    `body` starts from the variables `outer`; its output is the target's value, if any. The number of the
    outer binding is carried along but not listed. With a `scan`, the same values come from a scan tree.
    """

    variable: str
    aggregate: Aggregate
    outer: tuple[str, ...]
    body: tuple["Operator", ...]
    outputs: Layout
    scan: RangeScan | None = None


@dataclass(frozen=True, slots=True)
class TrieAtom:
    """An atom of a leapfrog join: `columns` in the order of the trie's levels, and what each must be.

    `row` is the variable bound to the row number, if it is needed.
    """

    relation: str
    view: View
    columns: tuple[int, ...]
    operands: tuple[Operand, ...]
    row: str | None


@dataclass(frozen=True, slots=True)
class Leapfrog:
    """Extends each binding by the values of `order` for which every atom has a fact, one after the other.

    From the variable at place `witness` on, one value is enough.
    """

    atoms: tuple[TrieAtom, ...]
    order: tuple[str, ...]
    witness: int
    filters: tuple[Comparison, ...]
    outputs: Layout


@dataclass(frozen=True, slots=True)
class Choose:
    """Sends each binding on by the alternative whose first operator, a join, matches the fewest facts.

    A binding that matches none in one of them is dropped. It is the last operator of a chain; all
    alternatives yield the same.
    """

    alternatives: tuple[tuple["Operator", ...], ...]
    outputs: Layout


Operator = (
    Start
    | ScanView
    | IndexJoin
    | Check
    | Find
    | Compute
    | Filter
    | Rearrange
    | Generate
    | Unpack
    | Reduce
    | Leapfrog
    | Choose
)


def all_operators(operators: Iterable[Operator]) -> Iterator[Operator]:
    """Yield operators, those inside aggregates and alternatives too."""
    for operator in operators:
        yield operator
        if isinstance(operator, Reduce):
            yield from all_operators(operator.body)
        elif isinstance(operator, Choose):
            for alternative in operator.alternatives:
                yield from all_operators(alternative)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """One delta rule, or a rule that needs no delta, ready to run.

    `delta_atom` is the position of the body atom that reads the delta. `estimate` is the number
    of bindings the chosen order was expected to touch. `reason` says why the atoms are joined at once,
    or why not although that was considered. With `is_distinct` no fact is derived twice. `keyed` is a
    chain that yields the same and begins with keys of the delta, to be run where many facts share a key.
    """

    rule: RuleId
    relation: str
    delta_atom: int | None
    operators: tuple[Operator, ...]
    estimate: float
    span: Span
    reason: str = ""
    is_distinct: bool = False
    keyed: tuple[Operator, ...] = ()

    @property
    def begins_with_keys(self) -> bool:
        """Say whether these operators scan keys, not facts."""
        scan = self.operators[0]
        return isinstance(scan, ScanView) and bool(scan.key)


@dataclass(frozen=True, slots=True)
class StratumPlan:
    """The plans of a stratum: those run once, then those run in every iteration."""

    relations: tuple[str, ...]
    once: tuple[RulePlan, ...]
    repeated: tuple[RulePlan, ...]

    def operators(self) -> Iterator[Operator]:
        """Yield the operators of all chains, those inside aggregates and alternatives too."""
        for plan in (*self.once, *self.repeated):
            yield from all_operators((*plan.operators, *plan.keyed))
