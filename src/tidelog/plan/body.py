"""A flat body to be planned, and a chain of operators as the result."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import FlatRule, as_operand
from tidelog.plan.operators import Layout, Operand, Operator, View
from tidelog.plan.statistics import Statistics
from tidelog.program.nodes import Atom, Constant, Literal, Program, RuleId, Term, Wildcard
from tidelog.program.walk_nodes import variables_of


class Work(NamedTuple):
    """The work a chain is expected to do, ordered by how much it is.

    Estimates are rough, so a chain that pairs every binding with all facts of a relation is chosen only if
    there is no other, however few bindings it is expected to touch.
    """

    cross_products: int
    bindings: float


@dataclass(frozen=True)
class OperatorChain:
    """Operators with the work they are expected to do.

    `reason` says why atoms are joined at once, or why not although that was considered.
    """

    operators: tuple[Operator, ...]
    work: Work
    reason: str = ""

    @property
    def cost(self) -> float:
        """Return the number of bindings that all operators together are expected to touch."""
        return self.work.bindings


@dataclass(frozen=True)
class Body:
    """What is to be planned: a flat body, the view of each atom, and the outputs.

    `outer` are variables bound from outside. With `counting`, every derivation must be found, so
    an atom that binds nothing needed is still joined, not only checked for existence.
    Relations in `growing` will have more facts than they have now. With `numbered`, every atom binds
    its row number to `row_name(place)`; `places` are the places of the literals. A rule of `head` may ask
    for `is_leapfrog`. With `scans_delta` the chain begins with a scan, whose rows can be divided. A delta
    rule knows its `rule`, and by that what its joins matched when they last ran.
    """

    literals: tuple[Literal, ...]
    views: tuple[View, ...]
    outputs: Layout
    program: Program
    statistics: Statistics
    outer: tuple[str, ...] = ()
    counting: bool = False
    growing: frozenset[str] = frozenset()
    numbered: bool = False
    places: tuple[int, ...] = ()
    head: str = ""
    is_leapfrog: bool = False
    scans_delta: bool = False
    rule: RuleId | None = None

    # Hundreds of orders are tried over one body, so what all of them need is looked up once.

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Return the positive atoms, in the order written."""
        return tuple(literal for literal in self.literals if isinstance(literal, Atom))

    @cached_property
    def operands(self) -> tuple[tuple[Operand | None, ...], ...]:
        """Return the operands in the columns of each atom, None for a wildcard."""
        return tuple(
            tuple(None if isinstance(term, Wildcard) else as_operand(term) for term in atom.terms)
            for atom in self.atoms
        )

    @cached_property
    def variables(self) -> tuple[frozenset[str], ...]:
        """Return the variables of each atom."""
        return tuple(frozenset(x for x in operands if isinstance(x, str)) for operands in self.operands)

    @cached_property
    def with_constants(self) -> frozenset[int]:
        """Return the numbers of the atoms that have a constant."""
        return frozenset(n for n, x in enumerate(self.operands) if any(isinstance(y, Constant) for y in x))

    @cached_property
    def _needed(self) -> dict[int, tuple[Term, frozenset[str]]]:
        """Return what `needed` has found so far, by the identity of the term, which it keeps alive."""
        return {}

    def needed(self, term: Term) -> frozenset[str]:
        """Return the variables that a term needs from outside."""
        known = self._needed.get(id(term))
        if known is None:
            known = self._needed[id(term)] = term, variables_of(term)
        return known[1]

    @cached_property
    def delta(self) -> int | None:
        """Return the number of the atom that reads the delta, if one does."""
        return self.views.index(View.DELTA) if View.DELTA in self.views else None

    @cached_property
    def rows(self) -> Mapping[int, str]:
        """Return the names of the row numbers by the identity of the literal: literals may be equal."""
        return {id(literal): row_name(n) for n, literal in zip(self.places, self.literals, strict=True)}


def rule_body(rule: FlatRule, views: tuple[View, ...], program: Program, statistics: Statistics) -> Body:
    """Return the body of a rule, whose outputs are the columns of the head."""
    return Body(
        rule.body,
        views,
        rule.outputs,
        program,
        statistics,
        head=rule.relation,
        is_leapfrog=rule.is_leapfrog,
    )


def row_name(literal: int) -> str:
    """Return the variable for the row number of a body's literal."""
    return f"%row{literal}"
