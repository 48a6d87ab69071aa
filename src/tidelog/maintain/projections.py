"""Pass: give a negated atom with wildcards a relation of its own.

    unread(x) :- node(x), !edge(x, _).

    edge/0(x) :- edge(x, _).
    unread(x) :- node(x), !edge/0(x).

The fact `edge/0(x)` holds while some `edge(x, _)` does; its count says how many, so that a change of
`edge` shows whether the negated atom changed. Only maintenance sees such relations.
"""

from dataclasses import replace

from tidelog.program.nodes import (
    Atom,
    Literal,
    NegatedAtom,
    Program,
    Relation,
    Rule,
    RuleId,
    Stratum,
    Variable,
    Wildcard,
)
from tidelog.program.rule_ids import RuleIds


def project_negations(program: Program) -> Program:
    """Return the program in which no negated atom of a rule's body has a wildcard."""
    made: dict[tuple[str, tuple[int, ...]], Relation] = {}
    strata = tuple(
        replace(stratum, rules=tuple(_projected(rule, program, made) for rule in stratum.rules))
        for stratum in program.strata
    )
    if not made:
        return program
    ids = RuleIds(program)
    ordered: list[Stratum] = []
    for stratum in strata:
        ordered.append(stratum)
        for (name, kept), relation in made.items():
            if name in stratum.relations:
                ordered.append(_stratum(program, name, kept, relation, ids.take()))
    relations = {**program.relations, **{relation.name: relation for relation in made.values()}}
    return replace(program, relations=relations, strata=tuple(ordered))


def _has_wildcard(atom: Atom) -> bool:
    return any(isinstance(term, Wildcard) for term in atom.terms)


def _projected(rule: Rule, program: Program, made: dict[tuple[str, tuple[int, ...]], Relation]) -> Rule:
    body: list[Literal] = []
    for literal in rule.body:
        if not isinstance(literal, NegatedAtom) or not _has_wildcard(literal.atom):
            body.append(literal)
            continue
        atom = literal.atom
        kept = tuple(place for place, term in enumerate(atom.terms) if not isinstance(term, Wildcard))
        declared = program.relations[atom.relation]
        name = f"{atom.relation}/{','.join(map(str, kept))}"
        # A projection holds every value that some fact has; it is not a lattice itself.
        columns = tuple(replace(declared.columns[place], is_lattice=False) for place in kept)
        made[atom.relation, kept] = Relation(name, columns, span=declared.span)
        terms = tuple(atom.terms[place] for place in kept)
        body.append(replace(literal, atom=replace(atom, relation=name, terms=terms)))
    return replace(rule, body=tuple(body))


def _stratum(
    program: Program, name: str, kept: tuple[int, ...], relation: Relation, rule_id: RuleId
) -> Stratum:
    """Return the stratum that derives a projection."""
    declared = program.relations[name]
    span = declared.span
    assert span is not None
    variables = {place: Variable(f"x{place}", declared.columns[place].type, span=span) for place in kept}
    body = Atom(
        name,
        tuple(
            variables.get(place, Wildcard(column.type, span=span))
            for place, column in enumerate(declared.columns)
        ),
        span=span,
    )
    head = Atom(relation.name, tuple(variables.values()), span=span)
    return Stratum((relation.name,), (Rule(rule_id, head, (body,), span=span),), (), is_recursive=False)
