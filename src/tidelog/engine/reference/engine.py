"""Runs a program by naive substitution over plain sets.

The life of a fact: `insert` decodes it to Python values and sets it aside. When its stratum
begins it is settled into its relation (iteration 0). Each iteration then applies every rule
of the stratum to the facts of the iterations before it, and settles what the rules found. A
stratum ends with the first iteration that changes nothing.

To settle is to insert under the relation's own law: a choice-domain leaves facts out, lattice
columns are joined, an equivalence is closed; then, when all relations of the stratum have
their facts, subsumption deletes.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

import numpy as np

from tidelog.engine.convergence import check_convergence, is_full
from tidelog.engine.counted import number_derivations
from tidelog.engine.evaluation import evaluate_strata
from tidelog.engine.functional import Claim, two_values
from tidelog.engine.numbering import CountedRule, Numbering
from tidelog.engine.protocol import (
    Codes,
    Columns,
    Observer,
    RunStatistics,
    Settings,
    StratumStatistics,
    UserFunctions,
)
from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.settle import (
    Join,
    choose,
    close_equivalence,
    dominated,
    join_lattices,
    narrow_lattices,
    widen_lattices,
)
from tidelog.engine.reference.solve import Solver
from tidelog.engine.reference.variables import name_wildcards
from tidelog.engine.user_functors import no_join
from tidelog.errors import Diagnostic, raise_if_any
from tidelog.program.nodes import Column, Lattice, Program, Relation, Rule, Stratum
from tidelog.syntax.macros import quote
from tidelog.values import Codec, Fact, NoValueError, Value
from tidelog.values.functors import canonical_value, order_key


class ReferenceEngine:
    """The oracle that every other engine must agree with; see `engine.protocol.Engine`."""

    def __init__(
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        numbering: Numbering | None = None,
    ) -> None:
        counted = number_derivations(program)
        self._program = program = counted.program
        self._counted = counted.rules
        self._numbering = Numbering() if numbering is None else numbering
        self._codec = codec
        self._settings = settings
        self._inputs: dict[str, set[Fact]] = {name: set() for name in program.relations}
        self._facts = PythonFacts(program.relations)
        numbers = {rule.functor: partial(self._number, rule) for rule in self._counted}
        self._solver = Solver(program, self._facts, codec, {**functions, **numbers})
        # Kept for the whole run: stateful functors remember derivations by the identity of their terms.
        self._rules = {rule.id: name_wildcards(rule) for rule in program.rules}

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts; a relation without columns gets its one fact."""
        declared = self._program.relations[relation].columns
        decoded = [self._decode(codes, column) for codes, column in zip(columns, declared, strict=True)]
        self._inputs[relation].update(zip(*decoded, strict=True) if decoded else [()])

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint, stratum by stratum."""
        made = {rule.relation for rule in self._counted}
        finished = evaluate_strata(self._program, self._run_stratum, observer, made)
        written = tuple(each for each in finished.strata if made.isdisjoint(each.relations))
        return replace(finished, strata=written)

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return len(self._facts[relation])

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return self._encode(relation, self._facts[relation])

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        columns = self._program.relations[relation].columns
        known = {
            position: canonical_value(self._codec.decode(code, columns[position].type))
            for position, code in enumerate(pattern)
            if code is not None
        }
        return self._encode(relation, self._facts.matching(relation, known))

    # --- iterations ------------------------------------------------------------------------

    def _run_stratum(self, number: int, stratum: Stratum, observer: Observer) -> StratumStatistics:
        start = time.perf_counter()
        self._give_numbers(stratum)
        self._settle(stratum, {name: self._inputs[name] for name in stratum.relations})
        rules = [self._rules[rule.id] for rule in stratum.rules]
        iteration, derivations, is_changed = 0, 0, bool(rules)
        while is_changed and not (iteration and is_full(stratum, self._program, self.size)):
            iteration += 1
            facts = sum(self.size(name) for name in stratum.relations)
            check_convergence(iteration, stratum, self._program, self._settings, facts)
            found: dict[str, set[Fact]] = {name: set() for name in stratum.relations}
            derivations = 0
            for rule in rules:
                for fact in self._derive(rule):
                    derivations += 1
                    found[rule.head.relation].add(fact)
            before = self._facts.total()
            is_changed = self._settle(stratum, found)
            total = self._facts.total()
            observer.iteration_finished(number, iteration, total - before, total)
        if self._program.narrows(stratum):
            self._narrow(stratum, rules)
        raise_if_any(self._repeated_keys(stratum))
        # The last iteration met every derivation from the final facts exactly once.
        facts = sum(self.size(name) for name in stratum.relations)
        seconds = time.perf_counter() - start
        return StratumStatistics(
            stratum.relations, stratum.is_recursive, iteration, facts, derivations, seconds
        )

    def _derive(self, rule: Rule) -> Iterator[Fact]:
        """Yield the head once for each derivation."""
        terms = self._solver.terms
        terms.enter(rule.id)
        for binding in self._solver.bindings(rule.body, {}):
            try:
                yield tuple(terms.value(term, binding) for term in rule.head.terms)
            except NoValueError:
                continue

    def _repeated_keys(self, stratum: Stratum) -> Iterator[Diagnostic]:
        """Yield a diagnostic for the first two facts of each relation that agree on its key."""
        for name in stratum.relations:
            relation = self._program.relations[name]
            known: dict[Fact, Fact] = {}
            for fact in sorted(self._facts[name], key=order_key) if relation.keys else ():
                other = known.setdefault(tuple(fact[place] for place in relation.keys), fact)
                if other != fact:
                    yield two_values(relation, [self._claim(name, each, stratum) for each in (other, fact)])
                    break

    def _claim(self, name: str, fact: Fact, stratum: Stratum) -> Claim:
        """Return a fact with the rules that derive it."""
        rules = [self._rules[rule.id] for rule in stratum.rules if rule.head.relation == name]
        spans = tuple(rule.span for rule in rules if fact in set(self._derive(rule)))
        written = (quote(value) if isinstance(value, str) else str(value) for value in fact)
        return Claim(f"{name}({', '.join(written)})", spans)

    def _settle(self, stratum: Stratum, found: dict[str, set[Fact]]) -> bool:
        """Insert what an iteration found; say whether any relation changed."""
        before = {name: self._facts[name] for name in stratum.relations}
        for name in stratum.relations:
            self._facts.replace(name, self._admit(self._program.relations[name], found[name]))
        is_dominated = bool(stratum.subsumptions)
        while is_dominated:
            doomed: dict[str, AbstractSet[Fact]] = {}
            for subsumption in stratum.subsumptions:
                name = subsumption.less.relation
                doomed[name] = doomed.get(name, set()) | dominated(self._facts, subsumption, self._solver)
            kept = {name: self._facts[name] - deleted for name, deleted in doomed.items()}
            is_dominated = any(doomed.values())
            for name, facts in kept.items():
                self._facts.replace(name, facts)
        return any(self._facts[name] != facts for name, facts in before.items())

    def _admit(self, relation: Relation, found: AbstractSet[Fact]) -> AbstractSet[Fact]:
        old = self._facts[relation.name]
        facts: AbstractSet[Fact] = choose(old, found, relation.choices) if relation.choices else old | found
        joins = [self._join_of(column) for column in relation.columns]
        if any(joins):
            facts = join_lattices(facts, joins)
            widens = self._operators(relation, lambda lattice: lattice.widen)
            facts = widen_lattices(old, facts, widens, _plain(relation)) if widens else facts
        return close_equivalence(facts) if relation.is_equivalence else facts

    def _narrow(self, stratum: Stratum, rules: Sequence[Rule]) -> None:
        """Replace the values of lattices by what the rules make of them, until none changes."""
        iteration, is_changed = 0, True
        while is_changed:
            iteration += 1
            check_convergence(iteration, stratum, self._program, self._settings, 0)
            found = {name: set(self._inputs[name]) for name in stratum.relations}
            for rule in rules:
                found[rule.head.relation].update(self._derive(rule))
            narrowed: dict[str, AbstractSet[Fact]] = {}
            for name in stratum.relations:
                relation = self._program.relations[name]
                if relation.lattice_columns:
                    joined = join_lattices(found[name], [self._join_of(x) for x in relation.columns])
                    narrows = self._operators(relation, lambda lattice: lattice.narrow)
                    old = self._facts[name]
                    narrowed[name] = narrow_lattices(old, joined, narrows, _plain(relation))
            is_changed = self._replace(stratum, narrowed)

    def _replace(self, stratum: Stratum, facts: Mapping[str, AbstractSet[Fact]]) -> bool:  # noqa: ARG002 - for proofs
        """Replace the facts of relations; say whether any changed."""
        changes = [self._facts.replace(name, each) for name, each in facts.items()]
        return any(changes)

    def _operators(self, relation: Relation, choose: Callable[[Lattice], str | None]) -> dict[int, Join]:
        """Return an operator of lattices for each column that has it."""
        types = {place: relation.columns[place].type for place in relation.lattice_columns}
        found = {place: choose(self._program.lattices[name]) for place, name in types.items()}
        return {
            place: partial(self._join, functor) for place, functor in found.items() if functor is not None
        }

    def _join_of(self, column: Column) -> Join | None:
        if not column.is_lattice:
            return None
        return partial(self._join, self._program.lattices[column.type].lub)

    def _join(self, functor: str, left: Value, right: Value) -> Value:
        try:
            return self._solver.terms.call(functor, (left, right), None)
        except NoValueError:
            raise no_join(functor, (left, right)) from None

    # --- counters --------------------------------------------------------------------------

    def _give_numbers(self, stratum: Stratum) -> None:
        """Assign numbers to the derivations that the rules of a stratum count."""
        for rule in self._counted:
            if rule.head in stratum.relations:
                columns = self.facts(rule.relation)
                self._numbering.give(rule, columns, self.size(rule.relation), self._codec)

    def _number(self, rule: CountedRule, place: int, *values: Value) -> Value:
        """Return the number of a derivation; `place` says which counter of the rule is meant."""
        columns = [
            np.array([self._codec.encode(value, type_name)], np.int64)
            for value, type_name in zip(values, rule.types, strict=True)
        ]
        number = int(self._numbering.find(rule.name, columns, 1)[0])
        if number < 0:
            raise NoValueError
        return number + place

    # --- codes -----------------------------------------------------------------------------

    def _decode(self, codes: Codes, column: Column) -> list[Value]:
        return [canonical_value(value) for value in self._codec.decode_column(codes, column.type)]

    def _encode(self, relation: str, facts: Iterable[Fact]) -> list[Codes]:
        columns = self._program.relations[relation].columns
        # In value order, so that new codes, and all that is read here, do not depend on hashing.
        values = list(zip(*sorted(facts, key=order_key), strict=True)) or [()] * len(columns)
        return [
            np.asarray(self._codec.encode_column(list(column), declared.type), dtype=np.int64)
            for column, declared in zip(values, columns, strict=True)
        ]


def _plain(relation: Relation) -> list[int]:
    """Return the columns that are no lattice."""
    return [place for place, column in enumerate(relation.columns) if not column.is_lattice]
