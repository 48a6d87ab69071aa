"""Subsumption: deletes the facts that another fact makes superfluous."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tidelog.engine.local.chains import make_chain
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import SinkStep
from tidelog.plan.body import Body
from tidelog.plan.flatten import flatten_rule
from tidelog.plan.operators import Operator, View
from tidelog.plan.order import best_chain
from tidelog.plan.statistics import KnownSizes
from tidelog.program import nodes
from tidelog.program.walk_nodes import relations_read
from tidelog.storage.kernel import CodeArray, Int64s


class Dominated:
    """Finds and deletes the facts of a stratum that others dominate; its chains are made once."""

    def __init__(self, stratum: nodes.Stratum, state: LocalState, expressions: Expressions) -> None:
        self._state = state
        self._kinds = [_Kind(each, stratum, state, expressions) for each in stratum.subsumptions]

    def delete(self) -> Mapping[str, Int64s]:
        """Delete every fact that another one dominates, judged by the present facts; return their rows.

        Requires all rows to be visible, the new ones as delta. Pairs of old facts were judged when the later
        one was new, unless the body itself reads a relation of the stratum, which may have changed.
        """
        kinds = self._kinds
        removed: dict[str, list[Int64s]] = {}
        while kinds:
            doomed: dict[str, list[CodeArray]] = {}
            for kind in kinds:
                doomed.setdefault(kind.relation, []).extend(kind.dominated())
            deleted = 0
            for name, batches in doomed.items():
                relation = self._state.relations[name]
                before = relation.deleted
                for batch in batches:
                    numbers = relation.find(np.ascontiguousarray(batch))
                    present = np.unique(numbers[numbers >= 0])
                    relation.delete_rows(present)
                    removed.setdefault(name, []).append(present)
                deleted += relation.deleted - before
            kinds = [kind for kind in self._kinds if kind.reads_changing] if deleted else []
        return {name: np.concatenate(parts) for name, parts in removed.items()}


class _Kind:
    """A subsumption with its chains."""

    def __init__(
        self,
        subsumption: nodes.Subsumption,
        stratum: nodes.Stratum,
        state: LocalState,
        expressions: Expressions,
    ) -> None:
        self.relation = subsumption.less.relation
        self.reads_changing = not relations_read(subsumption.body).isdisjoint(stratum.relations)
        self._end = SinkStep()
        plans = _plans(subsumption, state.program, whole=self.reads_changing)
        self._chains = [make_chain(operators, state, expressions, self._end) for operators in plans]

    def dominated(self) -> list[CodeArray]:
        """Return batches of facts that other facts dominate."""
        found: list[CodeArray] = []
        self._end.sink = partial(_take_dominated, found)
        for chain in self._chains:
            chain.run(*chain.rows())
        return found


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
