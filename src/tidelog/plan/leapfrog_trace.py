"""Which rules can be maintained by the trace of their leapfrog join, and how it is laid out."""

from collections.abc import Collection
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.plan.body import Body, row_name
from tidelog.plan.flatten import FlatRule
from tidelog.plan.leapfrog import best_variable_order, components_of
from tidelog.plan.leapfrog_operator import operands_of
from tidelog.plan.operators import Operator, View
from tidelog.plan.order import best_chain_in_pairs
from tidelog.plan.statistics import KnownSizes, Statistics
from tidelog.program.nodes import Atom, Constant, Literal, Program, RuleId
from tidelog.program.walk_nodes import variables_of


@dataclass(frozen=True, slots=True)
class TraceAtom:
    """An atom as a trie over its variables alone.

    `columns` and `variables` are the trie's levels: a column, and the place of its variable in the
    order. `constants` are columns with the value they must have, `equal` columns that must be equal.
    """

    relation: str
    columns: tuple[int, ...]
    variables: tuple[int, ...]
    constants: tuple[tuple[int, Constant], ...]
    equal: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class TracePlan:
    """A rule's positive atoms, in the order of its literals, over one order of variables."""

    rule: RuleId
    variables: tuple[str, ...]
    atoms: tuple[TraceAtom, ...]


def reason_against_trace(rule: FlatRule, inside: Collection[str], program: Program) -> str | None:
    """Return why a rule is not maintained by its trace, None if it is; `inside` is its own stratum."""
    atoms = rule.atoms
    if any(literal.relation in inside for literal in rule.literals):
        return "it is recursive"
    if not atoms:
        return "it has no atoms"
    if any(not any(isinstance(x, str) for x in operands_of(n, atom)) for n, atom in enumerate(atoms)):
        return "one of its atoms has no variables"
    body = _trace_body(rule, program, KnownSizes())
    if len(components_of(body)) > 1:
        return "its atoms share no variables"
    return None


def plan_trace(rule: FlatRule, program: Program, statistics: Statistics) -> TracePlan:
    """Return the layout of a rule's trace; the rule must be one that can have a trace."""
    body = _trace_body(rule, program, statistics)
    atoms = rule.atoms
    order, _ = best_variable_order(tuple(range(len(atoms))), body)
    places = {name: place for place, name in enumerate(order)}
    return TracePlan(
        rule.id, order, tuple(_trace_atom(number, atom, places) for number, atom in enumerate(atoms))
    )


def completion_chain(
    rule: FlatRule, plan: TracePlan, program: Program, statistics: Statistics
) -> tuple[Operator, ...]:
    """Return the chain from bindings of a trace to derivations.

    Its batch has the trace's variables, then the row numbers of the positive atoms. The
    outputs are the head's columns, then the row numbers of the rule's literals.
    """
    rest: dict[int, Literal] = {
        place: literal for place, literal in enumerate(rule.body) if not isinstance(literal, Atom)
    }
    rows = tuple(row_name(literal.place) for literal in rule.literals)
    outer = (*plan.variables, *(row for row, x in zip(rows, rule.literals, strict=True) if not x.is_negated))
    body = Body(
        tuple(rest.values()),
        (),
        (*operands_of(0, rule.head), *rows),
        program,
        statistics,
        outer,
        counting=True,
        numbered=True,
        places=tuple(rest),
    )
    return best_chain_in_pairs(body).operators


def _trace_body(rule: FlatRule, program: Program, statistics: Statistics) -> Body:
    atoms = rule.atoms
    views = tuple(View.FULL for _ in atoms)
    outputs = tuple(sorted(variables_of(*atoms)))
    return replace(Body(atoms, views, outputs, program, statistics, counting=True), head=rule.relation)


def _trace_atom(number: int, atom: Atom, places: dict[str, int]) -> TraceAtom:
    first: dict[str, int] = {}
    constants, equal = [], []
    for column, operand in enumerate(operands_of(number, atom)):
        if not isinstance(operand, str):
            constants.append((column, operand))
        elif operand in first:
            equal.append((first[operand], column))
        else:
            first[operand] = column
    levels = sorted((places[name], column) for name, column in first.items())
    return TraceAtom(
        atom.relation,
        tuple(c for _, c in levels),
        tuple(v for v, _ in levels),
        tuple(constants),
        tuple(equal),
    )
