"""Subsumption: deleting the facts that another fact makes superfluous."""

from dataclasses import replace

import numpy as np

from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import Step
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import Operator, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.program.nodes import (
    Atom,
    Constraint,
    Literal,
    Program,
    Rule,
    Stratum,
    Subsumption,
    Variable,
    Wildcard,
)
from tidelog.program.walk_nodes import relations_read
from tidelog.storage.kernel import CodeArray


class _DominatedStep(Step):
    """Keeps the first half of rows whose halves differ."""

    def __init__(self, arity: int) -> None:
        self._arity = arity
        self.rows: list[CodeArray] = []

    def run(self, batch: CodeArray) -> None:
        """Keep the dominated facts of the batch."""
        less, greater = batch[:, : self._arity], batch[:, self._arity :]
        self.rows.append(less[(less != greater).any(axis=1)].copy())


def delete_dominated(stratum: Stratum, state: LocalState, expressions: Expressions) -> None:
    """Delete every fact that another one dominates, judged on the facts as they stand.

    Requires all rows to be visible, the new ones as delta. Pairs of old facts were judged when
    the later of them was new, unless the body itself reads a relation of the stratum, which may change.
    """
    is_first = True
    while True:
        doomed: dict[str, list[CodeArray]] = {}
        for subsumption in stratum.subsumptions:
            read = relations_read(subsumption.body)
            reads_changing = not read.isdisjoint(stratum.relations)
            if not is_first and not reads_changing:
                continue
            for operators in _plans(subsumption, state.program, whole=reads_changing):
                arity = len(subsumption.less.terms)
                end = _DominatedStep(arity)
                chain = make_chain(operators, state, expressions, end)
                chain.run(*chain.rows())
                doomed.setdefault(subsumption.less.relation, []).extend(end.rows)
        deleted = 0
        for name, batches in doomed.items():
            relation = state.relations[name]
            before = relation.deleted
            for batch in batches:
                numbers = relation.find(np.ascontiguousarray(batch))
                relation.delete_rows(np.unique(numbers[numbers >= 0]))
            deleted += relation.deleted - before
        if not deleted:
            return
        is_first = False


def _plans(subsumption: Subsumption, program: Program, *, whole: bool) -> list[tuple[Operator, ...]]:
    """Return the chains that yield dominated facts beside the facts that dominate them."""
    rule = _as_rule(subsumption, program)
    flat = flatten_rule(rule, program)
    atoms = [literal for literal in flat.body if isinstance(literal, Atom)]
    outputs = tuple(term.name for term in flat.head.terms if isinstance(term, Variable))
    rest = (View.FULL,) * (len(atoms) - 2)
    choices = [(View.FULL, View.FULL)] if whole else [(View.DELTA, View.FULL), (View.OLD, View.DELTA)]
    plans = []
    for views in choices:
        body = Body(flat.body, views + rest, outputs, program, KnownSizes())
        plans.append(best_chain(body).operators)
    return plans


def _as_rule(subsumption: Subsumption, program: Program) -> Rule:
    """Return a rule whose body starts with both atoms and whose head holds all their columns."""
    literals: list[Literal] = []
    sides: list[list[Variable]] = []
    atoms: list[Atom] = []
    for side, atom in (("less", subsumption.less), ("greater", subsumption.greater)):
        variables = []
        for column, term in enumerate(atom.terms):
            variable = Variable(f"%{side}{column}", term.type, span=term.span)
            variables.append(variable)
            if not isinstance(term, Wildcard):
                literals.append(Constraint("=", program.kind_of(term.type), variable, term, span=term.span))
        atoms.append(replace(atom, terms=tuple(variables)))
        sides.append(variables)
    head = replace(subsumption.less, terms=(*sides[0], *sides[1]))
    return Rule(subsumption.id, head, (*atoms, *literals, *subsumption.body), span=subsumption.span)
