"""Programs that derive what a question needs: the eager part of a program, and one program for each question.

`path` on demand, asked for by its first column:

    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).

    path@demand(x) :- path@asked(x).
    path(x, y) :- path@demand(x), edge(x, y).
    path(x, z) :- path@demand(x), path(x, y), edge(y, z).

`path@asked` is an input relation: a question is a fact of it, inserted like any other.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.plan.magic import restrict_to_demand, restricted_relations
from tidelog.program import nodes
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import earlier_relations, keeps_state, relations_read, walk


@dataclass(frozen=True, slots=True)
class DemandSplit:
    """Which derived relations are evaluated on demand; `whole` has the reason for each that is not."""

    demanded: frozenset[str]
    whole: Mapping[str, str]


def split_by_demand(program: nodes.Program, evaluate: str) -> DemandSplit:
    """Return which relations questions derive: `on-demand` all of them, `magic` those declared so, or none.

    A relation is evaluated eagerly if its facts depend on when they are found, or if such a relation, or one
    that is not declared `magic`, reads it.
    """
    derived = {rule.head.relation for rule in program.rules}
    asked = {
        name
        for name, relation in program.relations.items()
        if name in derived
        and evaluate != "all"
        and (evaluate == "on-demand" or "magic" in relation.qualifiers)
    }
    whole: dict[str, str] = {}
    # Readers come after what they read.
    for stratum in reversed(program.strata):
        own = [name for name in stratum.relations if name in derived]
        reason = _reason(stratum, program)
        eager = [name for name in own if name not in asked]
        if reason is None and eager:
            reason = f"`{eager[0]}` is evaluated with it"
        for name in own:
            if reason is not None:
                whole.setdefault(name, reason)
        if own and any(name in whole for name in own):
            for name in own:
                whole.setdefault(name, f"`{own[0]}` is evaluated with it")
            for name in earlier_relations(stratum) & derived:
                whole.setdefault(name, f"`{own[0]}` reads it and is not evaluated on demand")
    reasons = {name: whole[name] for name in program.relations if name in whole and name in asked}
    return DemandSplit(frozenset(asked - whole.keys()), reasons)


def _reason(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why the facts of a stratum depend on when they are found, None if they do not."""
    for name in stratum.relations:
        relation = program.relations[name]
        if relation.choices or relation.size_limit is not None:
            return f"`{name}` {relation.law}"
    if any(keeps_state(node, program) for node in walk(stratum.rules)):
        return "a rule counts, or calls a functor that keeps a state"
    return None


def eager_part(program: nodes.Program, demanded: Collection[str]) -> nodes.Program:
    """Return the program without the rules of relations that questions derive."""
    strata: list[nodes.Stratum] = []
    for stratum in program.strata:
        if not any(name in demanded for name in stratum.relations):
            strata.append(stratum)
            continue
        strata += _inputs(stratum.relations)
    return replace(program, strata=tuple(strata))


@dataclass(frozen=True, slots=True)
class DemandProgram:
    """The program of questions about one relation that bind the same columns.

    Facts of `asked` are the values asked for; without bound columns there is no such relation. `eager` are
    the relations whose facts it takes over from the eager part, `own` those that it derives, of which `whole`
    are not restricted to what is asked for.
    """

    program: nodes.Program
    asked: str
    eager: tuple[str, ...]
    own: tuple[str, ...]
    whole: tuple[str, ...]


def demand_program(
    program: nodes.Program, demanded: Collection[str], relation: str, columns: tuple[int, ...]
) -> DemandProgram:
    """Return the program that derives the facts of a relation with certain values in some columns."""
    own = _needed(program, demanded, relation)
    strata = [stratum for stratum in program.strata if not own.isdisjoint(stratum.relations)]
    read = {name for stratum in strata for name in relations_read((stratum,))} - own
    relations = {
        name: each if name in own else each.without_law()
        for name, each in program.relations.items()
        if name in own or name in read
    }
    eager = tuple(name for name in relations if name not in own)
    directives = [nodes.Directive("input", name, {}) for name in relations]
    asked, answer = f"{relation}@asked", f"{relation}@answer"
    if columns:
        declared = program.relations[relation].columns
        key = tuple(nodes.Column(declared[place].name, declared[place].type) for place in columns)
        relations[asked] = nodes.Relation(asked, key)
        relations[answer] = nodes.Relation(answer, tuple(nodes.Column(x.name, x.type) for x in declared))
        directives.append(nodes.Directive("input", asked, {}))
        span = next(each.span for each in program.rules if each.head.relation == relation)
        terms = tuple(
            nodes.Variable(f"_{place}", each.type, span=span) for place, each in enumerate(declared)
        )
        key_terms = tuple(terms[place] for place in columns)
        body = (nodes.Atom(asked, key_terms, span=span), nodes.Atom(relation, terms, span=span))
        head = nodes.Atom(answer, terms, span=span)
        rule = nodes.Rule(RuleIds(program).take(), head, body, span=span)
        strata += [*_inputs([asked]), nodes.Stratum((answer,), (rule,), (), is_recursive=False)]
    made = replace(
        program,
        relations=relations,
        strata=(*_inputs(eager), *_asked_first(strata, asked)),
        directives=tuple(directives),
        pragmas={"magic-transform": "*"},
    )
    restricted: Collection[str] = ()
    if columns:
        restricted = restricted_relations(made, {answer})
        made = _without(restrict_to_demand(made, {answer}), answer)
    names = tuple(name for name in program.relations if name in own)
    return DemandProgram(
        made, asked if columns else "", eager, names, tuple(name for name in names if name not in restricted)
    )


def _needed(program: nodes.Program, demanded: Collection[str], relation: str) -> frozenset[str]:
    """Return the relations on demand that a relation depends on, itself included."""
    found = {relation}
    for stratum in reversed(program.strata):
        if not found.isdisjoint(stratum.relations):
            found.update(name for name in stratum.relations if name in demanded)
            found.update(name for name in relations_read((stratum,)) if name in demanded)
    return frozenset(found)


def _asked_first(strata: Iterable[nodes.Stratum], asked: str) -> list[nodes.Stratum]:
    return sorted(strata, key=lambda stratum: asked not in stratum.relations)


def _inputs(names: Iterable[str]) -> list[nodes.Stratum]:
    """Return strata of relations without rules."""
    return [nodes.Stratum((name,), (), (), is_recursive=False) for name in names]


def _without(program: nodes.Program, relation: str) -> nodes.Program:
    """Return the program without a relation that no other reads."""
    relations = {name: each for name, each in program.relations.items() if name != relation}
    strata = tuple(stratum for stratum in program.strata if relation not in stratum.relations)
    return replace(program, relations=relations, strata=strata)
