"""A checked program: names resolved, types known, every rule safe, every stratum in order.

If a `Program` exists it is valid; engines and planners never report a user's mistake in it.
Rules have one head, no disjunction and no component; inlined relations are gone. Every rule
keeps the span of the rule the user wrote.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final, NewType

from tidelog.dataclass import dataclass
from tidelog.source import Span
from tidelog.values import Kind, TypeTable, Value

if TYPE_CHECKING:
    from tidelog.algebra import Algebra

RuleId = NewType("RuleId", int)


def _span() -> Span:
    return field(compare=False, repr=False, kw_only=True)  # type: ignore[no-any-return]


# --- terms ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A named unknown; names that start with `_` were made by a pass."""

    name: str
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: stands only directly in an atom, a record pattern or a branch pattern."""

    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of a type: number, unsigned, float, symbol, or None for nil."""

    value: Value
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class RecordTerm:
    """`[a, b]` of a record type: builds when its variables are bound, else takes apart."""

    terms: tuple["Term", ...]
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class BranchTerm:
    """`$Name(a, b)` of an algebraic type: builds or takes apart like a record."""

    name: str
    terms: tuple["Term", ...]
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Application:
    """An intrinsic functor; `kind` is the kind of its operands that was chosen.

    `values.functors.apply` says what it means. `range` never appears: it is a `Generator`.
    """

    functor: str
    kind: Kind
    terms: tuple["Term", ...]
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class UserApplication:
    """A functor bound to a Python callable, by name."""

    name: str
    terms: tuple["Term", ...]
    type: str
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Counter:
    """`autoinc()`: the number of a derivation, which no other derivation has."""

    type: str
    span: Span = _span()


# The aggregate that joins texts, written `@@concat x : separator, { body }`.
CONCAT: Final = "concat"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`functor target : { body }`, functor one of count, sum, min, max, mean, concat or `@name`.

    `@name` is a functor that folds if there is an `init`, else a class. The `init` of concat is what
    stands between the texts.

    `kind` is the target's kind. Variables of the body that also stand outside the aggregate,
    named in `outer`, are bound from there; the others are its own. Every derivation of the body
    counts once (wildcards included). An empty body gives 0 for count and sum and no value for
    min, max and mean. A count that `negates` stands for a negated conjunction with variables of its own:
    its rule asks for 0.
    """

    functor: str
    kind: Kind
    target: "Term | None"
    body: tuple["Literal", ...]
    outer: tuple[str, ...]
    type: str
    init: "Term | None" = None
    negates: bool = False
    span: Span = _span()


Term = (
    Variable
    | Wildcard
    | Constant
    | RecordTerm
    | BranchTerm
    | Application
    | UserApplication
    | Counter
    | Aggregate
)


# --- bodies --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation applied to terms; in a body its variables are bound by the matching facts."""

    relation: str
    terms: tuple[Term, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class NegatedAtom:
    """Holds when no fact matches; all variables are bound elsewhere."""

    atom: Atom
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left op right`, op one of `= != < <= > >= match contains !match !contains`.

    `=` between a free variable (or record or branch pattern) and a term with a value binds.
    `kind` is the operands' kind.
    """

    op: str
    kind: Kind
    left: Term
    right: Term
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Generator:
    """`target = range(start, stop[, step])`: one binding per value; `kind` is numeric."""

    target: Term
    kind: Kind
    start: Term
    stop: Term
    step: Term | None
    span: Span = _span()


Literal = Atom | NegatedAtom | Constraint | Generator


# --- program -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body.`; a fact is a rule with an empty body.

    `span` is the rule the user wrote; `plan` the orders of `.plan`, by delta rule number;
    `is_leapfrog` says that `.plan leapfrog` asks for one join of all atoms.
    """

    id: RuleId
    head: Atom
    body: tuple[Literal, ...]
    plan: tuple[tuple[int, tuple[int, ...]], ...] = ()
    is_leapfrog: bool = False
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Subsumption:
    """A fact that matches `less` is deleted when `greater` and the body hold for it.

    Both atoms name the same relation and bind their variables; `less` and `greater` must match
    different facts.
    """

    id: RuleId
    less: Atom
    greater: Atom
    body: tuple[Literal, ...]
    span: Span = _span()


@dataclass(frozen=True, slots=True)
class Column:
    """A position of a relation."""

    name: str
    type: str
    is_lattice: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of the program.

    `choices` are the column positions of each choice-domain, `keys` those of `keys`: no two facts
    may agree on them. `size_limit` comes from `.limitsize`; `is_equivalence` from `eqrel`.
    """

    name: str
    columns: tuple[Column, ...]
    qualifiers: tuple[str, ...] = ()
    choices: tuple[tuple[int, ...], ...] = ()
    size_limit: int | None = None
    keys: tuple[int, ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def is_equivalence(self) -> bool:
        """Say whether the relation is closed under reflexivity, symmetry, transitivity."""
        return "eqrel" in self.qualifiers

    @property
    def arity(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    @property
    def lattice_columns(self) -> tuple[int, ...]:
        """Return the positions of the lattice columns."""
        return tuple(place for place, column in enumerate(self.columns) if column.is_lattice)

    @property
    def has_value(self) -> bool:
        """Say whether no two facts differ in the last column alone, so that `name[...]` is one value."""
        key = frozenset(range(self.arity - 1))
        domains = [*self.choices, *([self.keys] if self.keys else [])]
        return self.arity - 1 in self.lattice_columns or any(key.issuperset(domain) for domain in domains)

    @property
    def law(self) -> str | None:
        """Return what decides which facts stay, in words; None if facts simply add up."""
        if self.is_equivalence:
            return "is an equivalence relation"
        if self.choices:
            return "has a choice-domain"
        if self.lattice_columns:
            return "has a lattice column"
        return None if self.size_limit is None else "has a size limit"

    def without_law(self) -> "Relation":
        """Return the relation as one whose facts simply add up: those it is given have obeyed its law."""
        columns = tuple(Column(column.name, column.type) for column in self.columns)
        return Relation(self.name, columns, span=self.span)


@dataclass(frozen=True, slots=True)
class Directive:
    """Where a relation's facts come from or go to; `kind` is input, output or printsize."""

    kind: str
    relation: str
    parameters: Mapping[str, str]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UserFunctor:
    """The declared signature of a functor in Python or C; types by name."""

    name: str
    parameters: tuple[str, ...]
    result: str
    is_stateful: bool = False


# How the joins of the language itself are named where a lattice names a functor.
INTRINSIC_JOINS: Final[Mapping[str, str]] = {"%min": "min", "%max": "max"}


@dataclass(frozen=True, slots=True)
class Lattice:
    """How values of a lattice column combine: names of user functors, and the least value.

    `Lub -> min(_, _)` and `max` are joins of the language itself, named as in `INTRINSIC_JOINS`. `widen`
    takes the value before an iteration and the joined one; `narrow` a value and what the rules make of it.
    """

    type: str
    lub: str
    glb: str | None = None
    bottom: Term | None = None
    widen: str | None = None
    narrow: str | None = None

    @property
    def extreme(self) -> str | None:
        """Return `min` or `max` if that is the join, None for a join of the user's."""
        return INTRINSIC_JOINS.get(self.lub)


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations evaluated together, in the order of strata; `rules` derive them."""

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    subsumptions: tuple[Subsumption, ...]
    is_recursive: bool


@dataclass(frozen=True, slots=True)
class Program:
    """Everything an engine needs to know.

    `proved` are the derived relations whose steps `.proofs` records; they take no input facts.
    """

    types: TypeTable
    relations: Mapping[str, Relation]
    strata: tuple[Stratum, ...]
    directives: tuple[Directive, ...]
    functors: Mapping[str, UserFunctor]
    lattices: Mapping[str, Lattice]
    pragmas: Mapping[str, str]
    proved: frozenset[str] = frozenset()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return all rules in the order of their strata."""
        return tuple(rule for stratum in self.strata for rule in stratum.rules)

    @property
    def subsumptions(self) -> tuple[Subsumption, ...]:
        """Return all subsumptions in the order of their strata."""
        return tuple(each for stratum in self.strata for each in stratum.subsumptions)

    def law_of(self, stratum: Stratum) -> str | None:
        """Return what decides which facts of a stratum stay, in words; None if they simply add up."""
        for name in stratum.relations:
            law = self.relations[name].law
            if law is not None:
                return f"`{name}` {law}"
        if stratum.subsumptions:
            return f"facts of `{stratum.subsumptions[0].less.relation}` subsume one another"
        return None

    def has_lattice(self, stratum: Stratum) -> bool:
        """Say whether a relation of the stratum has a lattice column."""
        return any(self.relations[name].lattice_columns for name in stratum.relations)

    def narrows(self, stratum: Stratum) -> bool:
        """Say whether values of the stratum go down again after its fixpoint."""
        columns = (column for name in stratum.relations for column in self.relations[name].columns)
        return any(column.is_lattice and self.lattices[column.type].narrow for column in columns)

    def is_input(self, relation: str) -> bool:
        """Say whether a directive names the relation as input."""
        return any(d.kind == "input" and d.relation == relation for d in self.directives)

    def kind_of(self, type_name: str) -> Kind:
        """Return how codes of the named type are read."""
        return self.types[type_name].kind

    def algebra(self) -> "Algebra":
        """Return the program as relational algebra; `TidelogError` says what algebra cannot express."""
        from tidelog.algebra import program_algebra  # noqa: PLC0415 - a later stage; the contract allows this

        return program_algebra(self)
