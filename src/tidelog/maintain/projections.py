"""Pass: give a negated atom with wildcards a relation of its own.

    unread(x) :- node(x), !edge(x, _).

    edge/0(x) :- edge(x, _).
    unread(x) :- node(x), !edge/0(x).

The fact `edge/0(x)` holds while some `edge(x, _)` does. Only maintenance sees such relations. Partners derive
them: the count of a fact says how many facts of `edge` it has, so that a change of `edge` shows whether the
negated atom changed. In one process nothing is derived: an index of `edge` has these keys already
(`storage.projected`), unless no column is bound.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tidelog.engine.local.state import LocalState
from tidelog.maintain.epoch_marks import EpochMarks
from tidelog.maintain.row_delta import RowDelta
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
from tidelog.storage.annotations import ABSENT
from tidelog.storage.projected import Projection


def project_negations(program: Program) -> tuple[Program, Mapping[str, Projection]]:
    """Return the program in which no negated atom of a rule's body has a wildcard.

    Beside it are the relations made that are no more than the keys of an index.
    """
    made: dict[tuple[str, tuple[int, ...]], Relation] = {}
    strata = tuple(
        replace(stratum, rules=tuple(_projected(rule, program, made) for rule in stratum.rules))
        for stratum in program.strata
    )
    if not made:
        return program, {}
    ids = RuleIds(program)
    ordered: list[Stratum] = []
    for stratum in strata:
        ordered.append(stratum)
        for (name, kept), relation in made.items():
            if name in stratum.relations:
                ordered.append(_stratum(program, name, kept, relation, ids.take()))
    relations = {**program.relations, **{relation.name: relation for relation in made.values()}}
    projections = {relation.name: Projection(*each) for each, relation in made.items() if each[1]}
    return replace(program, relations=relations, strata=tuple(ordered)), projections


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


def follow_projection(
    name: str, state: LocalState, marks: EpochMarks, change: RowDelta
) -> dict[str, RowDelta]:
    """Advance a projection to the new epoch after a change of its base; return what changed."""
    relation = state.projected(name)
    relation.prepare()
    numbers = relation.enter_keys(np.concatenate([change.deleted, change.inserted]))
    keys = np.ascontiguousarray(relation.rows[numbers])
    were_there, are_there = (relation.have_facts(keys, x) for x in (change.inserted, change.deleted))
    marks.ensure_room()
    relation.hold_present(numbers[were_there])
    marks.touch(numbers)
    relation.levels[numbers] = np.where(are_there, 1, ABSENT)
    relation.show_rows(numbers[are_there])
    state.show_all(name)
    gained, lost = numbers[are_there & ~were_there], numbers[were_there & ~are_there]
    return {name: RowDelta(gained, lost)} if gained.size or lost.size else {}
