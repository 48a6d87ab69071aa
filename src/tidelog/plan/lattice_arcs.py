"""Pass: split the rules of a lattice stratum into what earlier strata decide and what values decide.

    value(e, @add(x, y)) :- left(e, l), right(e, r), value(l, x), value(r, y).

    arcs/1(e, l, r)      :- left(e, l), right(e, r).
    value(e, @add(x, y)) :- arcs/1(e, l, r), value(l, x), value(r, y).

The keys of a stratum are then nodes: a fact of `arcs/1` is an arc from the nodes `l` and `r` to the node `e`,
and the rest of the rule is a function from the values of `l` and `r` to a value for `e`. The program means
the same as before. `engine.local.timelines` evaluates and follows such strata.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.plan.lattice_paths import plan_paths
from tidelog.plan.maintenance import reason_in_rule
from tidelog.program import nodes
from tidelog.program.binding import bound_variables
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import deep_variables, variables_of

# A column of an arc, by its position, or a constant.
Place = int | nodes.Constant


@dataclass(frozen=True, slots=True)
class NodePlan:
    """How an arc names one of its nodes: the relation, and where the columns of its key come from."""

    relation: str
    key: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class ArcPlan:
    """One rule: its arcs, and the function from the values of their sources to those of their target.

    `arcs` is the relation of the arcs with its `columns`, None if there is one arc that is always there.
    `values` names the values of each source; `conditions` and `results` are over these names and over
    `columns`, of which they use those at `used`.
    """

    arcs: str | None
    columns: tuple[nodes.Variable, ...]
    target: NodePlan
    sources: tuple[NodePlan, ...]
    values: tuple[tuple[nodes.Variable, ...], ...]
    conditions: tuple[nodes.Literal, ...]
    results: tuple[nodes.Term, ...]
    used: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArcPlans:
    """The rules of one stratum; `reason` says why they cannot be split, if they cannot."""

    rules: tuple[ArcPlan, ...]
    reason: str | None = None


class _Unsplittable(Exception):  # noqa: N818 - a finding about a rule
    """A rule cannot be split; the message says why."""


def name_arcs(program: nodes.Program) -> tuple[nodes.Program, Mapping[str, ArcPlans]]:
    """Return the program in which arcs are relations, and the plans of strata by their first relation.

    Strata that are graphs of best paths are left alone.
    """
    namer = _Namer(program)
    plans: dict[str, ArcPlans] = {}
    strata: list[nodes.Stratum] = []
    for stratum in program.strata:
        if not _is_candidate(stratum, program):
            strata.append(stratum)
            continue
        try:
            split = [namer.split(rule, stratum) for rule in stratum.rules]
        except _Unsplittable as reason:
            plans[stratum.relations[0]] = ArcPlans((), str(reason))
            strata.append(stratum)
            namer.made.clear()
            continue
        strata.extend(namer.take_strata())
        strata.append(replace(stratum, rules=tuple(rule for rule, _ in split)))
        plans[stratum.relations[0]] = ArcPlans(tuple(plan for _, plan in split))
    return replace(program, relations={**program.relations, **namer.relations}, strata=tuple(strata)), plans


def _is_candidate(stratum: nodes.Stratum, program: nodes.Program) -> bool:
    """Say whether the facts of a stratum are decided by lattices and by no other law."""
    declared = [program.relations[name] for name in stratum.relations]
    has_other = any(x.choices or x.is_equivalence or x.size_limit is not None or x.keys for x in declared)
    is_lattice = program.has_lattice(stratum) and not stratum.subsumptions and not has_other
    return is_lattice and plan_paths(stratum, program) is None


@dataclass
class _Namer:
    program: nodes.Program
    relations: dict[str, nodes.Relation] = field(default_factory=dict)
    made: list[nodes.Stratum] = field(default_factory=list)
    ids: RuleIds = field(init=False)

    def __post_init__(self) -> None:
        self.ids = RuleIds(self.program)

    def take_strata(self) -> list[nodes.Stratum]:
        """Remove and return the strata of arcs made since the last call."""
        made, self.made = self.made, []
        for stratum in made:
            self.relations[stratum.relations[0]] = self._declared(stratum)
        return made

    def _declared(self, stratum: nodes.Stratum) -> nodes.Relation:
        head = stratum.rules[0].head
        columns = tuple(nodes.Column(f"c{place}", term.type) for place, term in enumerate(head.terms))
        return nodes.Relation(head.relation, columns, span=head.span)

    def split(self, rule: nodes.Rule, stratum: nodes.Stratum) -> tuple[nodes.Rule, ArcPlan]:
        """Return a rule that reads its arcs from a relation, and its plan."""
        reason = reason_in_rule(rule, self.program)
        if reason is not None:
            raise _Unsplittable(reason)
        parts = _Parts(rule, flatten_rule(rule, self.program), stratum, self.program)
        arcs = self._arcs(parts, stratum) if parts.skeleton else None
        body = (*(() if arcs is None else (arcs,)), *parts.own, *parts.conditions)
        made = replace(rule, head=parts.flat.head, body=body, plan=())
        return made, parts.plan(None if arcs is None else arcs.relation)

    def _arcs(self, parts: "_Parts", stratum: nodes.Stratum) -> nodes.Atom:
        """Return the atom of a rule's arcs; its relation is made on first use."""
        span = parts.flat.span
        terms: tuple[nodes.Term, ...] = parts.columns or (nodes.Constant(0, "number", span=span),)
        content = (stratum.relations, terms, parts.skeleton)
        # `repr` has no spans: the same arcs have the same relation wherever they are written.
        name = f"arcs/{hashlib.blake2b(repr(content).encode(), digest_size=6).hexdigest()}"
        atom = nodes.Atom(name, terms, span=span)
        if all(made.relations[0] != name for made in self.made):
            rule = nodes.Rule(self.ids.take(), atom, parts.skeleton, span=span)
            self.made.append(nodes.Stratum((name,), (rule,), (), is_recursive=False))
        return atom


class _Parts:
    """A flat rule taken apart."""

    def __init__(
        self, rule: nodes.Rule, flat: FlatRule, stratum: nodes.Stratum, program: nodes.Program
    ) -> None:
        self.flat = flat
        self._name = rule.head.relation
        self._program = program
        outside = [x for x in flat.body if not self._is_own(x, stratum)]
        known = bound_variables(outside)
        self.skeleton = tuple(x for x in outside if variables_of(x) <= known)
        rest = [x for x in outside if not variables_of(x) <= known]
        for literal in rest:
            if isinstance(literal, nodes.Atom | nodes.NegatedAtom):
                raise _Unsplittable(f"a rule of `{self._name}` looks facts up by the value of a lattice")
        self._conditions = rest
        self._values: list[tuple[nodes.Variable, ...]] = []
        self.own = tuple(self._opened(x, known) for x in flat.atoms if self._is_own(x, stratum))
        self.conditions = tuple(self._conditions)
        needed = variables_of(*self._plain(flat.head), *(t for atom in self.own for t in self._plain(atom)))
        if not needed <= known:
            raise _Unsplittable(f"keys in a rule of `{self._name}` depend on more than earlier strata")
        self._results = self._joined(flat.head)
        self._in_function = variables_of(*self.conditions, *self._results)
        variables = {v.name: v for v in deep_variables((flat.head, *flat.body))}
        names = sorted(known & (needed | self._in_function))
        self.columns = tuple(variables[name] for name in names)

    def plan(self, arcs: str | None) -> ArcPlan:
        """Return the plan of the rule."""
        places = {column.name: place for place, column in enumerate(self.columns)}

        def node(atom: nodes.Atom) -> NodePlan:
            terms = self._plain(atom)
            return NodePlan(atom.relation, tuple(_place(term, places) for term in terms))

        used = tuple(place for name, place in places.items() if name in self._in_function)
        sources = tuple(map(node, self.own))
        values = tuple(self._values)
        head = self.flat.head
        parts = (node(head), sources, values, self.conditions, self._results, used)
        return ArcPlan(arcs, self.columns, *parts)

    def _is_own(self, literal: nodes.Literal, stratum: nodes.Stratum) -> bool:
        return isinstance(literal, nodes.Atom) and literal.relation in stratum.relations

    def _opened(self, atom: nodes.Atom, known: frozenset[str]) -> nodes.Atom:
        """Return an atom with a variable of its own for each value; what they must equal is a condition."""
        terms: list[nodes.Term] = []
        values: list[nodes.Variable] = []
        taken = {v.name for group in self._values for v in group}
        for term, column in zip(atom.terms, self._program.relations[atom.relation].columns, strict=True):
            if not column.is_lattice:
                if isinstance(term, nodes.Wildcard):
                    raise _Unsplittable(f"a rule of `{self._name}` reads every value of `{atom.relation}`")
                terms.append(term)
                continue
            value = nodes.Variable(f"%value{len(taken) + len(values)}", column.type, span=atom.span)
            is_free = isinstance(term, nodes.Variable) and term.name not in known | taken
            if isinstance(term, nodes.Variable) and is_free and term not in values:
                value = term
            elif not isinstance(term, nodes.Wildcard):
                kind = self._program.kind_of(column.type)
                self._conditions.append(nodes.Constraint("=", kind, value, term, span=atom.span))
            values.append(value)
            terms.append(value)
        self._values.append(tuple(values))
        return replace(atom, terms=tuple(terms))

    def _plain(self, atom: nodes.Atom) -> tuple[nodes.Term, ...]:
        """Return the terms of the columns that are no lattice."""
        columns = self._program.relations[atom.relation].columns
        return tuple(t for t, column in zip(atom.terms, columns, strict=True) if not column.is_lattice)

    def _joined(self, atom: nodes.Atom) -> tuple[nodes.Term, ...]:
        columns = self._program.relations[atom.relation].columns
        return tuple(t for t, column in zip(atom.terms, columns, strict=True) if column.is_lattice)


def _place(term: nodes.Term, places: Mapping[str, int]) -> Place:
    if isinstance(term, nodes.Variable):
        return places[term.name]
    assert isinstance(term, nodes.Constant), "flat atoms have variables and constants"
    return term


def arc_relations(plans: Sequence[ArcPlan]) -> frozenset[str]:
    """Return the relations of arcs."""
    return frozenset(plan.arcs for plan in plans if plan.arcs is not None)
