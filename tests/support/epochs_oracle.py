"""First iterations and derivation counts by brute force, to hold engines' annotations against.

Nothing is remembered from one iteration to the next but the facts: every iteration tries every
rule on all of them and counts what it finds. Only the search for bindings is the reference engine's.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.solve import Solver
from tidelog.engine.reference.variables import name_wildcards
from tidelog.program.nodes import Program, Rule, Stratum
from tidelog.program.walk_nodes import aggregates_in, counts, relations_read
from tidelog.values import Codec, Fact, NoValueError


class _AnyCount(int):
    """The count of a fact that was not counted yet: equal to whatever it would be."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, int)

    __hash__ = int.__hash__


NOT_COUNTED = _AnyCount()


class Annotation(NamedTuple):
    """The iteration in which a fact first holds, its derivations there, and whether it is given."""

    level: int
    count: int
    is_input: bool


Annotations = dict[str, dict[Fact, Annotation]]


def annotations_by_force(
    program: Program,
    inputs: Mapping[str, Iterable[Fact]],
    relations: Mapping[str, Iterable[Fact]],
    functions: UserFunctions | None = None,
) -> Annotations:
    """Return the annotation of every fact of every stratum in which annotations mean something.

    `relations` are the facts that the program derives: those of strata without annotations are taken
    from there. The others are found anew and must be the same.

        edge(1, 2). given, path(x, y) :- edge(x, y).     path(1, 2) has level 1, count 1
    """
    facts = PythonFacts(program.relations)
    solver = Solver(program, facts, Codec(program.types), functions or {})
    annotations: Annotations = {}
    for stratum in program.strata:
        # The derivations of a rule with `autoinc()` are facts of a relation of their own.
        is_plain = not _aggregates_itself(stratum) and not any(map(counts, stratum.rules))
        if has_annotations(stratum, program) and is_plain:
            annotations.update(_annotate_stratum(stratum, inputs, facts, solver))
        for name in stratum.relations:
            facts.replace(name, frozenset(relations[name]))
            assert name not in annotations or annotations[name].keys() == facts[name], (
                f"{name} differs from the oracle"
            )
    return annotations


def has_annotations(stratum: Stratum, program: Program) -> bool:
    """Say whether facts of the stratum stand by their own derivations alone.

    In a relation with a law of its own (choice, equivalence, lattice, subsumption, a size limit) a
    fact may be there without a derivation, or derived and not there.
    """
    declared = [program.relations[name] for name in stratum.relations]
    return not stratum.subsumptions and not any(
        relation.is_equivalence
        or relation.choices
        or relation.size_limit is not None
        or any(column.is_lattice for column in relation.columns)
        for relation in declared
    )


def _aggregates_itself(stratum: Stratum) -> bool:
    """Say whether an aggregate reads its own stratum: by how many deltas a rule is applied is not told."""
    return any(
        not relations_read((aggregate,)).isdisjoint(stratum.relations)
        for aggregate in aggregates_in(stratum.rules)
    )


def _annotate_stratum(
    stratum: Stratum, inputs: Mapping[str, Iterable[Fact]], facts: PythonFacts, solver: Solver
) -> Annotations:
    annotations: Annotations = {
        name: {fact: Annotation(0, 1, True) for fact in inputs.get(name, ())} for name in stratum.relations
    }
    rules = [name_wildcards(rule) for rule in stratum.rules]
    iteration, is_changed = 0, True
    while is_changed:
        iteration += 1
        is_changed = False
        for name in stratum.relations:
            facts.replace(name, frozenset(annotations[name]))
        for name, found in _derivations(rules, solver).items():
            for fact, count in found.items():
                if fact not in facts[name]:
                    annotations[name][fact] = Annotation(iteration, count, False)
                    is_changed = True
    return annotations


def _derivations(rules: Iterable[Rule], solver: Solver) -> dict[str, Counter[Fact]]:
    """Return how many derivations each head has from the facts as they stand."""
    found: dict[str, Counter[Fact]] = {}
    for rule in rules:
        solver.terms.enter(rule.id)
        for binding in solver.bindings(rule.body, {}):
            try:
                head = tuple(solver.terms.value(term, binding) for term in rule.head.terms)
            except NoValueError:
                continue
            found.setdefault(rule.head.relation, Counter())[head] += 1
    return found
