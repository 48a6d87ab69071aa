"""Pass: derive only the facts of `magic` relations that are asked for.

For each such relation a demand relation has the values that are asked for, in the columns that every
reader binds, and the rules derive no other facts:

    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    out(y) :- path(1, y).

    path@demand(1).
    path(x, y) :- path@demand(x), edge(x, y).
    path(x, z) :- path@demand(x), path(x, y), edge(y, z).
    out(y) :- path(1, y).

A relation is left whole if it is shown, negated or aggregated, if its facts depend on when they
are found (choice-domain, subsumption, lattice, size limit, equivalence, counter), or if such a
relation reads it: so nothing negated depends on a demand, and the program stays stratified.
Demanded values occur in facts or in the program, so there are finitely many of them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.program import nodes
from tidelog.program.binding import pattern_parts, pattern_variables
from tidelog.program.rule_ids import RuleIds
from tidelog.program.strongly_connected import strongly_connected
from tidelog.program.walk_nodes import (
    aggregates_in,
    earlier_relations,
    keeps_state,
    relations_read,
    subterms,
    terms_of,
    walk,
)

# The columns that every reader of a relation binds, by relation.
Keys = Mapping[str, frozenset[int]]


def restrict_to_demand(program: nodes.Program, wanted: Collection[str]) -> nodes.Program:
    """Return the program with the rules of `magic` relations restricted to what is asked for.

    The wanted relations have the same facts as before; others may have fewer. A program without
    `magic` relations is returned as it is.
    """
    keys = restricted_relations(program, wanted)
    if not keys:
        return program
    relations = {
        **program.relations,
        **{_demand(name): _demand_relation(name, keys, program) for name in keys},
    }
    rules = [_guarded(rule, keys) for rule in program.rules]
    ids = RuleIds(program)
    rules.extend(made for rule in program.rules for made in _demand_rules(rule, keys, ids))
    return replace(program, relations=relations, strata=_stratify(program, relations, rules))


def restricted_relations(program: nodes.Program, wanted: Collection[str]) -> Keys:
    """Return the `magic` relations that can be restricted, with the columns that all readers bind."""
    candidates = _candidates(program) - frozenset(wanted) - _whole_relations(program)
    return _find_keys(program, candidates)


# --- which relations ---------------------------------------------------------------------------


def _candidates(program: nodes.Program) -> frozenset[str]:
    """Return the relations that the user wants restricted: by qualifier, or by a pragma."""
    named = _names(program.pragmas.get("magic-transform", ""))
    excluded = _names(program.pragmas.get("magic-transform-exclude", ""))
    # Without rules there is nothing to restrict.
    derived = {rule.head.relation for rule in program.rules}
    return frozenset(
        name
        for name, relation in program.relations.items()
        if name in derived
        and ("magic" in relation.qualifiers or name in named or "*" in named)
        and "no_magic" not in relation.qualifiers
        and name not in excluded
        and "*" not in excluded
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


def _whole_relations(program: nodes.Program) -> frozenset[str]:
    """Return the relations of which every fact is needed, with all that they depend on."""
    whole = {name for name, relation in program.relations.items() if relation.law or relation.keys}
    whole.update(subsumption.less.relation for subsumption in program.subsumptions)
    for rule in program.rules:
        whole.update(_read_as_a_whole(rule))
        if any(keeps_state(node, program) for node in walk((rule,))):
            whole.add(rule.head.relation)
    # Strata are in the order in which they are needed.
    for stratum in reversed(program.strata):
        if whole.isdisjoint(stratum.relations):
            continue
        whole.update(stratum.relations)
        whole |= earlier_relations(stratum)
    return frozenset(whole)


def _read_as_a_whole(rule: nodes.Rule) -> Iterator[str]:
    """Yield the relations that a rule negates or aggregates."""
    yield from (literal.atom.relation for literal in rule.body if isinstance(literal, nodes.NegatedAtom))
    yield from relations_read(aggregates_in((rule,)))


# --- which columns -----------------------------------------------------------------------------


def _find_keys(program: nodes.Program, candidates: Iterable[str]) -> Keys:
    """Return for each relation the columns that all its readers bind; those without one are left out.

    All columns are assumed bound at first; whatever a reader does not bind is dropped until all
    readers agree. What a reader binds depends on the key of its own head.
    """
    keys = {name: frozenset(range(program.relations[name].arity)) for name in candidates}
    is_changed = True
    while is_changed:
        is_changed = False
        for rule in program.rules:
            for reader in _readers(rule, keys):
                name = reader.atom.relation
                kept = keys.get(name, frozenset()) & reader.bound_columns
                if name in keys and kept != keys[name]:
                    is_changed = True
                    keys[name] = kept
        keys = {name: key for name, key in keys.items() if key}
    return keys


@dataclass(frozen=True, slots=True)
class _Reader:
    """An atom over a candidate, what was joined before it, and the columns this binds."""

    atom: nodes.Atom
    before: tuple[nodes.Literal, ...]
    bound: frozenset[str]

    @property
    def bound_columns(self) -> frozenset[int]:
        """Return the columns whose terms are constants or bound variables.

        A functor is never bound: demanding the values it makes might not end.
        """
        return frozenset(
            place
            for place, term in enumerate(self.atom.terms)
            if isinstance(term, nodes.Constant)
            or (isinstance(term, nodes.Variable) and term.name in self.bound)
        )


def _readers(rule: nodes.Rule, keys: Keys) -> Iterator[_Reader]:
    """Yield the atoms over candidates, in the order in which demand is passed on.

    An atom that shares a bound variable comes before others, and a relation that is complete before one
    that depends on a demand.
    """
    before: list[nodes.Literal] = _guards(rule, keys)
    bound = frozenset[str]().union(*(_bound_by(literal) for literal in before))
    waiting = [literal for literal in rule.body if isinstance(literal, nodes.Atom)]
    while waiting:
        atom = min(waiting, key=lambda each: (not _is_connected(each, bound), each.relation in keys))
        waiting = [other for other in waiting if other is not atom]
        if atom.relation in keys:
            yield _Reader(atom, tuple(before), bound)
        before.append(atom)
        bound |= _bound_by(atom)


def _bound_by(literal: nodes.Literal) -> frozenset[str]:
    return frozenset[str]().union(*(pattern_variables(term) for term in terms_of(literal)))


def _is_connected(atom: nodes.Atom, bound: frozenset[str]) -> bool:
    return any(
        isinstance(part, nodes.Constant) or (isinstance(part, nodes.Variable) and part.name in bound)
        for term in atom.terms
        for part in pattern_parts(term)
    )


# --- rules -------------------------------------------------------------------------------------


def _demand(relation: str) -> str:
    return f"{relation}@demand"


def _demand_relation(name: str, keys: Keys, program: nodes.Program) -> nodes.Relation:
    columns = program.relations[name].columns
    return nodes.Relation(
        _demand(name), tuple(nodes.Column(columns[k].name, columns[k].type) for k in sorted(keys[name]))
    )


def _guards(rule: nodes.Rule, keys: Keys) -> list[nodes.Literal]:
    """Return the atom that asks whether the head is demanded, if it must be."""
    head = rule.head
    if head.relation not in keys:
        return []
    terms = tuple(_guard_term(head.terms[place]) for place in sorted(keys[head.relation]))
    return [nodes.Atom(_demand(head.relation), terms, span=head.span)]


def _guard_term(term: nodes.Term) -> nodes.Term:
    """Return the term if matching a demanded value binds its variables, else a wildcard."""
    kinds = nodes.Variable | nodes.Constant | nodes.RecordTerm | nodes.BranchTerm
    is_pattern = all(isinstance(part, kinds) for part in subterms(term))
    return term if is_pattern else nodes.Wildcard(term.type, span=term.span)


def _guarded(rule: nodes.Rule, keys: Keys) -> nodes.Rule:
    """Return the rule, for a restricted relation with its guard first."""
    guards = _guards(rule, keys)
    # An order of `.plan` does not include the guard.
    return replace(rule, body=(*guards, *rule.body), plan=()) if guards else rule


def _demand_rules(rule: nodes.Rule, keys: Keys, ids: RuleIds) -> Iterator[nodes.Rule]:
    """Yield a rule for what each atom over a restricted relation asks for."""
    for reader in _readers(rule, keys):
        terms = tuple(reader.atom.terms[place] for place in sorted(keys[reader.atom.relation]))
        head = nodes.Atom(_demand(reader.atom.relation), terms, span=reader.atom.span)
        constraints = (x for x in rule.body if isinstance(x, nodes.Constraint) and _is_test(x, reader.bound))
        body = (*reader.before, *constraints)
        if head not in body:
            yield nodes.Rule(ids.take(), head, body, span=rule.span)


def _is_test(constraint: nodes.Constraint, bound: frozenset[str]) -> bool:
    """Say whether a constraint over bound variables can be tested where demand is passed on."""
    parts = list(walk((constraint,), into_aggregates=False))
    if any(
        isinstance(part, nodes.Aggregate | nodes.UserApplication | nodes.Counter | nodes.Wildcard)
        for part in parts
    ):
        return False
    return all(part.name in bound for part in parts if isinstance(part, nodes.Variable))


# --- strata ------------------------------------------------------------------------------------


def _stratify(
    program: nodes.Program, relations: Mapping[str, nodes.Relation], rules: list[nodes.Rule]
) -> tuple[nodes.Stratum, ...]:
    """Return strata for the new rules; relations that were evaluated together stay together."""
    graph: dict[str, dict[str, None]] = {name: {} for name in relations}
    for rule in rules:
        read = relations_read((*rule.head.terms, *rule.body))
        graph[rule.head.relation].update(dict.fromkeys(sorted(read)))
    recursive = {name for name, read in graph.items() if name in read}
    for stratum in program.strata:
        for subsumption in stratum.subsumptions:
            read = relations_read((subsumption,)) - {subsumption.less.relation}
            graph[subsumption.less.relation].update(dict.fromkeys(sorted(read)))
        for name, following in zip(
            stratum.relations, stratum.relations[1:] + stratum.relations[:1], strict=True
        ):
            graph[name][following] = None
        if stratum.is_recursive:
            recursive.update(stratum.relations)
    place = {name: number for number, name in enumerate(relations)}
    found = strongly_connected({name: list(read) for name, read in graph.items()})
    return tuple(
        nodes.Stratum(
            tuple(sorted(part, key=place.__getitem__)),
            tuple(rule for rule in rules if rule.head.relation in part),
            tuple(each for each in program.subsumptions if each.less.relation in part),
            is_recursive=len(part) > 1 or not recursive.isdisjoint(part),
        )
        for part in found
    )
