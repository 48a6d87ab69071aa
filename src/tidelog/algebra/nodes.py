"""Relational algebra: the nodes that rules are translated to.

The columns of an expression are the variables it binds. A body becomes joins of its atoms over
shared variables; a constant or a repeated variable in an atom becomes a selection at its scan,
a negated atom an antijoin, an aggregate a grouping, and the head a projection. A row for which a
term has no value is dropped by whatever asks for it.

    path(x, z) :- path(x, y), edge(y, z).     π[x, z](path ⋈ ρ[x→y, y→z](edge))
"""
# ruff: noqa: PLC0415, RUF002 - nodes ask modules that know all nodes; the symbols of relational algebra

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal, assert_never, cast

from tidelog.dataclass import dataclass
from tidelog.program.nodes import (
    Aggregate,
    BranchTerm,
    Constraint,
    Generator,
    RecordTerm,
    Relation,
    Term,
    Variable,
)
from tidelog.syntax.walk_tree import walk_down
from tidelog.values import TypeTable

if TYPE_CHECKING:
    import pyarrow as pa

Schema = dict[str, str]
Dialect = Literal["duckdb", "spark"]


class Node:
    """What every expression can do."""

    __slots__ = ()

    def __str__(self) -> str:
        from tidelog.algebra.printing import print_algebra

        return print_algebra(cast("Expression", self))

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(schema_of(cast("Expression", self)))

    def evaluate(self, tables: "Mapping[str, pa.Table]") -> "pa.Table":
        """Return the rows of the expression, given a table for every relation it reads."""
        from tidelog.algebra.evaluate import evaluate_expression

        return evaluate_expression(cast("Expression", self), tables)

    def sql(self, dialect: Dialect = "duckdb") -> str:
        """Return a query over tables with the names and columns of the relations it reads."""
        from tidelog.algebra.sql import write_expression

        return write_expression(cast("Expression", self), dialect)


@dataclass(frozen=True, slots=True)
class Unit(Node):
    """One row without columns: where a body without atoms begins."""

    types: TypeTable = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Outer(Node):
    """The rows around an aggregate, with the columns (name, type) that its body reads of them."""

    read: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """All facts of a relation, under the names of its own columns.

    `is_input` asks for its input facts alone, where rules derive more.
    """

    relation: Relation
    types: TypeTable = field(compare=False, repr=False)
    is_input: bool = False


@dataclass(frozen=True, slots=True)
class Select(Node):
    """σ: the rows that satisfy all constraints."""

    constraints: tuple[Constraint, ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Project(Node):
    """π: one column for each named term; equal rows become one."""

    terms: tuple[tuple[str, Term], ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Rename(Node):
    """ρ: the same rows under other names of columns; `names` are (old, new)."""

    names: tuple[tuple[str, str], ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class NaturalJoin(Node):
    """⋈: pairs of rows that agree on all columns of the same name; a product × if there are none."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Antijoin(Node):
    """▷: the left rows that agree with no right row on the columns of the same name."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Extend(Node):
    """π with all columns kept and one added: the value of a term."""

    column: str
    term: Term
    source: "Expression"


@dataclass(frozen=True, slots=True)
class TakeApart(Node):
    """μ: the rows whose value in a column has the form of a pattern, with its new variables."""

    column: str
    pattern: RecordTerm | BranchTerm
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Expand(Node):
    """μ: each row once for every value of a range, in a new column."""

    column: str
    generator: Generator
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Group(Node):
    """γ: each row with the aggregate over the rows of `body` that agree with it on columns `by`.

    Where none agrees, count and sum give 0 and the others drop the row.
    """

    column: str
    aggregate: Aggregate
    by: tuple[str, ...]
    body: "Expression"
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Union(Node):
    """∪: the rows of all sources, which have the same columns; there is at least one source."""

    sources: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Fixpoint(Node):
    """The least facts of relations that are defined by one another; its rows are those of `relation`."""

    relation: str
    definitions: tuple[tuple[str, "Expression"], ...]


# What looks at one row of its source at a time.
RowByRow = Select | Project | Rename | Extend | TakeApart | Expand
Expression = RowByRow | Unit | Outer | Scan | NaturalJoin | Antijoin | Group | Union | Fixpoint


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly below one."""
    match expression:
        case Unit() | Outer() | Scan():
            return ()
        case NaturalJoin() | Antijoin():
            return (expression.left, expression.right)
        case Group():
            return (expression.source, expression.body)
        case Union():
            return expression.sources
        case Fixpoint():
            return tuple(each for _, each in expression.definitions)
        case _:
            return (expression.source,)


def walk_expression(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all below it."""
    return walk_down((expression,), parts)


def relations_read(expression: Expression) -> dict[str, Relation]:
    """Return the relations whose facts an expression needs: not those that it defines itself."""
    nodes = list(walk_expression(expression))
    defined = {name for node in nodes if isinstance(node, Fixpoint) for name, _ in node.definitions}
    scans = (node for node in nodes if isinstance(node, Scan))
    return {
        scan.relation.name: scan.relation
        for scan in scans
        if scan.is_input or scan.relation.name not in defined
    }


def types_of(expression: Expression) -> TypeTable:
    """Return the types of the program that an expression was made from."""
    leaves = (node for node in walk_expression(expression) if isinstance(node, Unit | Scan))
    return next((leaf.types for leaf in leaves), {})


def schema_of(expression: Expression) -> Schema:  # noqa: C901 - one case per node
    """Return the type of every column, in the order of the columns."""
    match expression:
        case Unit():
            return {}
        case Outer():
            return dict(expression.read)
        case Scan():
            return {column.name: column.type for column in expression.relation.columns}
        case Project():
            return {name: term.type for name, term in expression.terms}
        case Rename():
            types = schema_of(expression.source)
            return {new: types[old] for old, new in expression.names}
        case Select() | Antijoin() | Union():
            return schema_of(parts(expression)[0])
        case Fixpoint():
            return schema_of(dict(expression.definitions)[expression.relation])
        case NaturalJoin():
            return schema_of(expression.left) | schema_of(expression.right)
        case Extend():
            return schema_of(expression.source) | {expression.column: expression.term.type}
        case Expand():
            return schema_of(expression.source) | {expression.column: expression.generator.target.type}
        case Group():
            return schema_of(expression.source) | {expression.column: expression.aggregate.type}
        case TakeApart():
            variables = (part for part in expression.pattern.terms if isinstance(part, Variable))
            return schema_of(expression.source) | {each.name: each.type for each in variables}
    assert_never(expression)
