"""A reasoner by substitution: semi-naive evaluation, with threads if asked for, and delete/rederive.

Rules are applied by extending bindings, fact by fact, as the reference engine does. Semi-naive evaluation
gives every atom of the own stratum a turn to read the delta, and takes that atom first. An epoch goes
through the strata in their order:

    over-delete   everything with a derivation that reads a deleted fact, or a negated one that is inserted
    rederive      what has a derivation left
    insert        semi-naive evaluation goes on from that, from inserted facts, and from deleted negated ones
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from benchmarks.reasoners.substitution.facts import EVER, IndexedFacts
from tidelog.engine.reference.solve import Solver
from tidelog.engine.reference.variables import name_wildcards
from tidelog.program.nodes import Atom, Literal, NegatedAtom, Program, Rule, Stratum
from tidelog.program.walk_nodes import aggregates_in, counts
from tidelog.values import Codec, Fact, NoValueError

Facts = dict[str, set[Fact]]


def reason_against(program: Program) -> str | None:
    """Return why this reasoner cannot run a program, or None if it can."""
    for stratum in program.strata:
        if stratum.subsumptions:
            return "it has subsumption"
        for name in stratum.relations:
            relation = program.relations[name]
            if relation.choices or relation.is_equivalence or relation.lattice_columns or relation.keys:
                return f"`{name}` has a law of its own"
        for rule in stratum.rules:
            if counts(rule) or any(aggregates_in(rule.body)):
                return "it counts or aggregates"
    if any(functor.is_stateful for functor in program.functors.values()):
        return "a functor has a state"
    return None


class SubstitutionReasoner:
    """The facts of a program, evaluated and then changed.

    Threads share a delta of which each gets at least `least_shared` facts.
    """

    def __init__(
        self,
        program: Program,
        codec: Codec,
        index: str = "hash",
        threads: int = 1,
        *,
        least_shared: int = 64,
    ) -> None:
        reason = reason_against(program)
        assert reason is None, reason
        arities = {name: relation.arity for name, relation in program.relations.items()}
        self._program, self._threads, self._least_shared = program, threads, least_shared
        self.facts = IndexedFacts(arities, index)
        self._solvers = [Solver(program, self.facts, codec, {}) for _ in range(threads)]
        self._inputs: Facts = {name: set() for name in program.relations}
        self._rules = {rule.id: name_wildcards(rule) for rule in program.rules}

    def evaluate(self, inputs: Mapping[str, Iterable[Fact]]) -> None:
        """Evaluate all strata from these input facts."""
        for name, facts in inputs.items():
            self._inputs[name] = set(facts)
        for stratum in self._program.strata:
            found = {name: set(self._inputs[name]) for name in stratum.relations}
            for rule in self._of(stratum):
                found[rule.head.relation].update(self._derive(0, rule, rule.body))
            self._extend(stratum, found)

    def apply(self, inserted: Mapping[str, Iterable[Fact]], deleted: Mapping[str, Iterable[Fact]]) -> None:
        """Delete and insert input facts; inserted ones must not be input facts yet, deleted ones must."""
        net_deleted: Facts = {}
        net_inserted: Facts = {}
        for stratum in self._program.strata:
            own = {name: set(deleted.get(name, ())) for name in stratum.relations}
            added = {name: set(inserted.get(name, ())) for name in stratum.relations}
            for name in stratum.relations:
                self._inputs[name] = (self._inputs[name] - own[name]) | added[name]
            over = self._over_delete(stratum, own, net_deleted, net_inserted)
            for name, facts in over.items():
                self.facts.delete(name, facts)
            for name, facts in self._rederived(stratum, over).items():
                added[name] |= facts
            for rule in self._of(stratum):
                added[rule.head.relation].update(self._newly_possible(rule, net_deleted, net_inserted))
            found = self._extend(stratum, added)
            for name in stratum.relations:
                net_deleted[name] = over[name] - self.facts[name]
                net_inserted[name] = found[name] - over[name]

    # --- evaluation -------------------------------------------------------------------------------

    def _extend(self, stratum: Stratum, found: Mapping[str, Iterable[Fact]]) -> Facts:
        """Insert facts and all that follows from them within a stratum; return those that are new."""
        delta = {name: self.facts.insert(name, facts) for name, facts in found.items()}
        new = {name: set(facts) for name, facts in delta.items()}
        while any(delta.values()):
            derived = self._from_delta(stratum, delta)
            delta = {name: self.facts.insert(name, facts) for name, facts in derived.items()}
            for name, facts in delta.items():
                new[name] |= facts
        return new

    def _from_delta(self, stratum: Stratum, delta: Facts) -> Facts:
        """Return the heads of all derivations that read the delta of the own stratum."""
        found: Facts = {name: set() for name in stratum.relations}
        for rule in self._of(stratum):
            for place, literal in enumerate(rule.body):
                if isinstance(literal, Atom) and delta.get(literal.relation):
                    body = _reading(rule.body, place, literal)
                    found[rule.head.relation] |= self._shared(rule, body, delta[literal.relation])
        return found

    def _shared(self, rule: Rule, body: Sequence[Literal], delta: set[Fact]) -> set[Fact]:
        """Return the heads of derivations whose first atom reads a delta, found by threads if it is large."""
        atom = body[0]
        assert isinstance(atom, Atom)
        listed = list(delta)
        parts = min(self._threads, max(1, len(listed) // self._least_shared))
        if parts == 1:
            return set(self._from_facts(0, rule, atom, listed, body[1:]))
        with ThreadPoolExecutor(parts) as pool:
            jobs = [
                pool.submit(
                    lambda n: set(self._from_facts(n, rule, atom, listed[n::parts], body[1:])), number
                )
                for number in range(parts)
            ]
            return set().union(*(job.result() for job in jobs))

    def _from_facts(
        self, solver: int, rule: Rule, atom: Atom, facts: Iterable[Fact], rest: Sequence[Literal]
    ) -> Iterator[Fact]:
        for fact in facts:
            step = self._solvers[solver].fit_fact(atom, fact, {})
            if step is not None:
                binding, later = step
                yield from self._derive(solver, rule, (*rest, *later), dict(binding))

    def _derive(
        self, solver: int, rule: Rule, body: Sequence[Literal], binding: dict[str, object] | None = None
    ) -> Iterator[Fact]:
        """Yield the head of a rule for each derivation of a body."""
        terms = self._solvers[solver].terms
        for found in self._solvers[solver].bindings(tuple(body), binding or {}):  # type: ignore[arg-type]  # values
            try:
                yield tuple(terms.value(term, found) for term in rule.head.terms)
            except NoValueError:
                continue

    def _of(self, stratum: Stratum) -> list[Rule]:
        return [self._rules[rule.id] for rule in stratum.rules]

    # --- changes ----------------------------------------------------------------------------------

    def _over_delete(self, stratum: Stratum, own: Facts, net_deleted: Facts, net_inserted: Facts) -> Facts:
        """Return all facts with a derivation that is lost, and those that follow from them."""
        self.facts.show_deleted(net_deleted)
        over: Facts = {name: set() for name in stratum.relations}
        delta = {name: facts & self.facts[name] for name, facts in own.items()}
        for rule in self._of(stratum):
            for place, literal in enumerate(rule.body):
                lost = _changed(literal, net_deleted, net_inserted)
                if lost:
                    delta[rule.head.relation] |= (
                        self._lost(rule, place, lost) & self.facts[rule.head.relation]
                    )
        while any(delta.values()):
            following: Facts = {name: set() for name in stratum.relations}
            for name, facts in delta.items():
                over[name] |= facts
            for rule in self._of(stratum):
                for place, literal in enumerate(rule.body):
                    if isinstance(literal, Atom) and delta.get(literal.relation):
                        following[rule.head.relation] |= self._lost(rule, place, delta[literal.relation])
            delta = {name: (facts & self.facts[name]) - over[name] for name, facts in following.items()}
        self.facts.show_deleted({})
        return over

    def _lost(self, rule: Rule, place: int, facts: set[Fact]) -> set[Fact]:
        """Return the heads of derivations that read one of the facts at a literal, over all there ever was.

        Negated atoms are not asked: what is deleted too much is derived again.
        """
        literal = rule.body[place]
        atom = literal.atom if isinstance(literal, NegatedAtom) else literal
        assert isinstance(atom, Atom)
        rest = tuple(
            replace(each, relation=EVER + each.relation) if isinstance(each, Atom) else each
            for number, each in enumerate(rule.body)
            if number != place and not isinstance(each, NegatedAtom)
        )
        return set(self._from_facts(0, rule, atom, facts, rest))

    def _rederived(self, stratum: Stratum, over: Facts) -> Facts:
        """Return the over-deleted facts that are input facts or have a derivation from what is left."""
        found = {name: facts & self._inputs[name] for name, facts in over.items()}
        for rule in self._of(stratum):
            name = rule.head.relation
            for fact in over[name] - found[name]:
                step = self._solvers[0].fit_fact(rule.head, fact, {})
                if step is None:
                    continue
                binding, later = step
                # The head is compared last: one of its terms may have had no value before the body.
                heads = self._derive(0, rule, (*rule.body, *later), dict(binding))
                if any(head == fact for head in heads):
                    found[name].add(fact)
        return found

    def _newly_possible(self, rule: Rule, net_deleted: Facts, net_inserted: Facts) -> Iterator[Fact]:
        """Yield the heads of derivations that earlier strata make possible."""
        for place, literal in enumerate(rule.body):
            gained = _changed(literal, net_inserted, net_deleted)
            if gained:
                atom = literal.atom if isinstance(literal, NegatedAtom) else literal
                assert isinstance(atom, Atom)
                # A negated atom must still hold: another fact may match it.
                rest = [each for number, each in enumerate(rule.body) if number != place]
                rest += [literal] if isinstance(literal, NegatedAtom) else []
                yield from self._from_facts(0, rule, atom, gained, rest)


def _changed(literal: Literal, at_atoms: Facts, at_negated: Facts) -> set[Fact]:
    """Return the changed facts of earlier strata at a literal."""
    match literal:
        case Atom():
            return at_atoms.get(literal.relation, set())
        case NegatedAtom():
            return at_negated.get(literal.atom.relation, set())
        case _:
            return set()


def _reading(body: Sequence[Literal], place: int, atom: Atom) -> tuple[Literal, ...]:
    """Return a body with one atom, which reads the delta, before the others."""
    return (atom, *body[:place], *body[place + 1 :])
