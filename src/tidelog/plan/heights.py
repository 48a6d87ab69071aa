"""Pass: strata in which the iteration of a fact is the height of its smallest proof.

A proof's height is 0 for an input fact and one more than the highest premise for a rule application.
Iteration k of a stratum finds what follows from facts of earlier iterations, so the two are the same
wherever everything else a stratum reads is input. Strata are usually finer than that:

    vpt(v, o) :- new(v, o).                         stratum 1
    alias(v, w) :- vpt(v, o), vpt(w, o), v != w.    stratum 2, all of whose facts have iteration 1

This pass merges strata that only read each other positively, so that the count of iterations continues. A
relation that must be complete earlier, because it is negated too, is derived a second time later if its
rules are quick to apply. The answers are the same, and maintenance keeps iterations as it always does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tidelog.program.nodes import Aggregate, Atom, Program, Relation, Rule, Stratum
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import deep_atoms, keeps_state, walk


def count_heights(program: Program, changeable: frozenset[str] = frozenset()) -> Program:
    """Return the program with strata merged, so that most iterations are heights.

    `changeable` are relations that may have input facts beside those that their rules derive.
    """
    merged = _merge(program)
    copier = _Copier(merged, changeable)
    strata = tuple(copier.stratum(stratum) for stratum in merged.strata)
    relations = {**program.relations, **{copy.name: copy for copy in copier.copies.values()}}
    return replace(program, relations=relations, strata=strata)


def exact_relations(program: Program) -> frozenset[str]:
    """Return the relations in which the iteration of a fact is the height of its smallest proof."""
    inputs = _input_relations(program)
    exact = set(inputs)
    for stratum in program.strata:
        if _is_exact(stratum, inputs, program):
            exact.update(stratum.relations)
    return frozenset(exact)


def _input_relations(program: Program) -> frozenset[str]:
    """Return the relations without rules."""
    return frozenset(program.relations) - {rule.head.relation for rule in program.rules}


# --- merging -----------------------------------------------------------------------------------------


def _merge(program: Program) -> Program:
    """Return the program in which strata that only read each other positively are merged.

    A stratum's depth is the number of negations, aggregates and laws on the way to it. It is placed as deep
    as its readers allow, so that it is evaluated together with them.
    """
    edges = list(_edges(program))
    depth = dict.fromkeys(range(len(program.strata)), 0)
    for reader, read, is_plain in edges:
        depth[reader] = max(depth[reader], depth[read] + (not is_plain))
    is_read = {read for _, read, _ in edges}
    last = max(depth.values(), default=0) + 1
    for reader, _, is_plain in edges:
        if not is_plain and reader not in is_read and not program.strata[reader].is_recursive:
            # Nothing depends on its iterations, so what it negates may be deeper for the sake of others.
            depth[reader] = last
    wanted: dict[int, int] = {}
    for reader, read, is_plain in reversed(edges):
        # All strata that read the reader come after it, so it is known how deep it may go.
        depth[reader] = max(depth[reader], wanted.get(reader, 0))
        allowed = depth[reader] - (not is_plain)
        wanted[read] = min(wanted.get(read, allowed), allowed)
    depth = {number: max(each, wanted.get(number, 0)) for number, each in depth.items()}
    group = {number: number for number in depth}
    for reader, read, is_plain in edges:
        if is_plain and depth[reader] == depth[read] and group[reader] != group[read]:
            old, new = group[read], group[reader]
            group.update((number, new) for number, each in group.items() if each == old)
    parts: dict[int, list[Stratum]] = {}
    for number, stratum in enumerate(program.strata):
        parts.setdefault(group[number], []).append(stratum)
    order = sorted(parts, key=lambda each: (depth[each], each))
    return replace(program, strata=tuple(_joined(parts[each]) for each in order))


def _edges(program: Program) -> Iterator[tuple[int, int, bool]]:
    """Yield the pairs of strata of which one reads the other, and whether they could be one stratum."""
    number_of = {name: number for number, each in enumerate(program.strata) for name in each.relations}
    plain = [bool(each.rules) and _is_plain(each, program) for each in program.strata]
    for number, stratum in enumerate(program.strata):
        reads: dict[int, bool] = {}
        for name, is_positive in _reads(stratum):
            read = number_of[name]
            if read != number and program.strata[read].rules:
                reads[read] = reads.get(read, True) and is_positive and plain[read] and plain[number]
        for read, is_plain in reads.items():
            yield number, read, is_plain


def _joined(parts: list[Stratum]) -> Stratum:
    if len(parts) == 1:
        return parts[0]
    return Stratum(
        tuple(name for part in parts for name in part.relations),
        # A `.plan` numbers delta rules, and these would change.
        tuple(replace(rule, plan=()) for part in parts for rule in part.rules),
        (),
        is_recursive=True,
    )


def _reads(stratum: Stratum) -> Iterator[tuple[str, bool]]:
    """Yield the relations a stratum reads, and whether positively outside aggregates."""
    for rule in stratum.rules:
        for atom, is_positive in deep_atoms((*rule.head.terms, *rule.body)):
            yield atom.relation, is_positive
    for subsumption in stratum.subsumptions:
        for atom, _ in deep_atoms(subsumption.body):
            yield atom.relation, False


def _is_plain(stratum: Stratum, program: Program) -> bool:
    """Say whether facts of a stratum simply add up, whatever the iteration that finds them."""
    # Copies are not in the program; they have no law.
    relations = (program.relations.get(name) for name in stratum.relations)
    return (
        not stratum.subsumptions
        and not any(relation.law for relation in relations if relation is not None)
        and not any(_is_peculiar(rule, program) for rule in stratum.rules)
    )


def _is_peculiar(rule: Rule, program: Program) -> bool:
    """Say whether a rule aggregates, counts or remembers."""
    return any(
        isinstance(part, Aggregate) or keeps_state(part, program)
        for part in walk((rule,), into_aggregates=False)
    )


# --- copies ------------------------------------------------------------------------------------------


class _Copier:
    """Derives relations again in the strata that read them."""

    def __init__(self, program: Program, changeable: frozenset[str]) -> None:
        self.program = program
        self.quick = _quick_relations(program, changeable)
        self.inputs = _input_relations(program)
        self.copies: dict[str, Relation] = {}
        self.ids = RuleIds(program)
        self.stratum_of = {name: each for each in program.strata for name in each.relations}

    def stratum(self, stratum: Stratum) -> Stratum:
        """Return a stratum that reads copies of its own wherever they are quick to derive."""
        if not stratum.rules or not _is_plain(stratum, self.program):
            return stratum
        names: dict[str, str] = {}
        made: list[Rule] = []
        for rule in stratum.rules:
            for literal in rule.body:
                if isinstance(literal, Atom) and literal.relation not in stratum.relations:
                    self._copy(literal.relation, stratum, names, made)
        rules = tuple(_renamed(rule, names) for rule in stratum.rules)
        relations = (*stratum.relations, *names.values())
        enlarged = Stratum(relations, (*rules, *made), (), is_recursive=True)
        if not names or not _is_exact(enlarged, self.inputs, self.program):
            return stratum
        for name, copy in names.items():
            declared = self.program.relations[name]
            self.copies[copy] = replace(declared, name=copy, qualifiers=(), keys=())
        return enlarged

    def _copy(self, name: str, reader: Stratum, names: dict[str, str], made: list[Rule]) -> None:
        if name in names or name in reader.relations or name not in self.quick:
            return
        copy = f"{name}/{reader.relations[0]}"
        names[name] = copy
        for rule in self.stratum_of[name].rules:
            if rule.head.relation == name:
                for literal in rule.body:
                    if isinstance(literal, Atom):
                        self._copy(literal.relation, reader, names, made)
                renamed = _renamed(rule, names)
                head = replace(renamed.head, relation=copy)
                made.append(replace(renamed, id=self.ids.take(), head=head))


def _quick_relations(program: Program, changeable: frozenset[str]) -> frozenset[str]:
    """Return the derived relations that follow from inputs without recursion, by rules under no law."""
    inputs = _input_relations(program)
    reads: dict[str, set[str]] = {}
    for stratum in program.strata:
        for rule in stratum.rules if _is_plain(stratum, program) else ():
            read = reads.setdefault(rule.head.relation, set())
            read.update(literal.relation for literal in rule.body if isinstance(literal, Atom))
    quick: set[str] = set()
    while True:
        known = inputs | quick
        more = {name for name in reads.keys() - known - changeable if reads[name] <= known}
        if not more:
            return frozenset(quick)
        quick |= more


def _renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    body = tuple(
        replace(literal, relation=names.get(literal.relation, literal.relation))
        if isinstance(literal, Atom)
        else literal
        for literal in rule.body
    )
    return replace(rule, body=body, plan=())


def _is_exact(stratum: Stratum, inputs: frozenset[str], program: Program) -> bool:
    """Say whether a stratum reads nothing but inputs and itself positively, under no law."""
    return _is_plain(stratum, program) and all(
        atom.relation in inputs or atom.relation in stratum.relations
        for rule in stratum.rules
        for atom in rule.body
        if isinstance(atom, Atom)
    )
