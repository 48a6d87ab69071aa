"""Rules as relational algebra.

The columns of an expression are the variables it binds. A body becomes joins of its atoms over
shared variables; a constant or a repeated variable in an atom becomes a selection at its scan,
a negated atom an antijoin, an aggregate a grouping, and the head a projection. A row for which a
term has no value is dropped by whatever asks for it.

    path(x, z) :- path(x, y), edge(y, z).     π[x, z](path ⋈ ρ[x→y, y→z](edge))
"""
# ruff: noqa: RUF002 - the symbols of relational algebra

from dataclasses import dataclass

from tidelog.program.nodes import Aggregate, BranchTerm, Constraint, Generator, RecordTerm, Term

Columns = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """One row without columns: where a body without atoms begins."""


@dataclass(frozen=True, slots=True)
class Given:
    """The rows around an aggregate, with the columns that its body reads of them."""

    columns: Columns


@dataclass(frozen=True, slots=True)
class Scan:
    """All facts of a relation, under the names of its own columns."""

    relation: str
    columns: Columns


@dataclass(frozen=True, slots=True)
class Select:
    """σ: the rows that satisfy all constraints."""

    constraints: tuple[Constraint, ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Project:
    """π: one column for each named term; equal rows become one."""

    columns: tuple[tuple[str, Term], ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Rename:
    """ρ: the same rows under other names of columns; `names` are (old, new)."""

    names: tuple[tuple[str, str], ...]
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Join:
    """⋈: pairs of rows that agree on all columns of the same name; a product × if there are none."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Antijoin:
    """▷: the left rows that agree with no right row on the columns of the same name."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Extend:
    """π with all columns kept and one added: the value of a term."""

    column: str
    term: Term
    source: "Expression"


@dataclass(frozen=True, slots=True)
class TakeApart:
    """μ: the rows whose value in a column has the form of a pattern, with its new variables."""

    column: str
    pattern: RecordTerm | BranchTerm
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Expand:
    """μ: each row once for every value of a range, in a new column."""

    column: str
    generator: Generator
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Group:
    """γ: each row with the aggregate over the rows of `body` that agree with it on columns `by`.

    Rows of `body` count each on its own, also equal ones. Where none agrees, count and sum give 0
    and the others drop the row.
    """

    column: str
    aggregate: Aggregate
    by: Columns
    body: "Expression"
    source: "Expression"


@dataclass(frozen=True, slots=True)
class Union:
    """∪: the rows of all sources, which have the same columns; no source is no row."""

    sources: tuple["Expression", ...]


Expression = (
    Unit
    | Given
    | Scan
    | Select
    | Project
    | Rename
    | Join
    | Antijoin
    | Extend
    | TakeApart
    | Expand
    | Group
    | Union
)
