"""Subsumption: deletes the facts that another fact makes superfluous."""

from dataclasses import replace
from functools import partial

import numpy as np

from tidelog.engine.local.chains import run_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import Operator, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.program import nodes
from tidelog.program.walk_nodes import relations_read
from tidelog.storage.kernel import CodeArray


def delete_dominated(stratum: nodes.Stratum, state: LocalState, expressions: Expressions) -> None:
    """Delete every fact that another one dominates, judged by the present facts.

    Requires all rows to be visible, the new ones as delta. Pairs of old facts were judged when the later
    one was new, unless the body itself reads a relation of the stratum, which may have changed.
    """
    is_first = True
    while True:
        doomed: dict[str, list[CodeArray]] = {}
        for subsumption in stratum.subsumptions:
            read = relations_read(subsumption.body)
            reads_changing = not read.isdisjoint(stratum.relations)
            if not is_first and not reads_changing:
                continue
            found = doomed.setdefault(subsumption.less.relation, [])
            for operators in _plans(subsumption, state.program, whole=reads_changing):
                run_chain(operators, state, expressions, partial(_take_dominated, found))
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


def _take_dominated(found: list[CodeArray], batch: CodeArray) -> None:
    """Keep the first half of rows whose halves differ."""
    less, greater = np.hsplit(batch, 2)
    found.append(less[(less != greater).any(axis=1)])


def _plans(
    subsumption: nodes.Subsumption, program: nodes.Program, *, whole: bool
) -> list[tuple[Operator, ...]]:
    """Return the chains that yield dominated facts beside the facts that dominate them."""
    flat = flatten_rule(_as_rule(subsumption, program), program)
    rest = (View.FULL,) * (len(flat.atoms) - 2)
    choices = [(View.FULL, View.FULL)] if whole else [(View.DELTA, View.FULL), (View.OLD, View.DELTA)]
    bodies = [Body(flat.body, views + rest, flat.outputs, program, KnownSizes()) for views in choices]
    return [best_chain(body).operators for body in bodies]


def _as_rule(subsumption: nodes.Subsumption, program: nodes.Program) -> nodes.Rule:
    """Return a rule whose body starts with both atoms and whose head holds all their columns."""
    literals: list[nodes.Literal] = []
    sides: list[list[nodes.Variable]] = []
    atoms: list[nodes.Atom] = []
    for side, atom in (("less", subsumption.less), ("greater", subsumption.greater)):
        variables = []
        for column, term in enumerate(atom.terms):
            variable = nodes.Variable(f"%{side}{column}", term.type, span=term.span)
            variables.append(variable)
            if not isinstance(term, nodes.Wildcard):
                literals.append(
                    nodes.Constraint("=", program.kind_of(term.type), variable, term, span=term.span)
                )
        atoms.append(replace(atom, terms=tuple(variables)))
        sides.append(variables)
    head = replace(subsumption.less, terms=(*sides[0], *sides[1]))
    return nodes.Rule(subsumption.id, head, (*atoms, *literals, *subsumption.body), span=subsumption.span)
