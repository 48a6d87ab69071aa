"""Pass: replace variables by the constants and variables that they equal.

    p(x, y) :- x = 5, edge(x, z), z = y.     p(5, y) :- edge(5, y).

Every variable has one name in its rule, those of aggregates included. An aggregate's own variables
are replaced inside it; an outer variable keeps its name there, because its value comes from outside.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from tidelog.plan.rules import has_part, map_body, map_rules
from tidelog.program.nodes import Aggregate, Constant, Constraint, Literal, Program, Rule, Term, Variable
from tidelog.program.substitute import Substitution, substitute, substitute_literal
from tidelog.program.walk_nodes import map_literal, map_parts
from tidelog.values import Kind


def propagate_equalities(program: Program) -> Program:
    """Return the program without equalities between a variable and a constant or another variable."""
    inside = partial(_inside, program=program)

    def propagate(rule: Rule) -> Rule:
        while (found := _redundant(rule.body, frozenset(), program)) is not None:
            place, by = found
            head = map_literal(rule.head, partial(substitute, by=by))
            rule = replace(rule, head=head, body=_without(rule.body, place, by))
        if not has_part((rule.head, *rule.body), (Aggregate,)):
            return rule
        return replace(rule, head=map_literal(rule.head, inside), body=map_body(rule.body, inside))

    return map_rules(program, propagate, lambda subsumption: subsumption)


def _redundant(
    body: tuple[Literal, ...], outer: Iterable[str], program: Program
) -> tuple[int, Substitution] | None:
    """Return the place of an equality to remove, and what replaces its variable."""
    fixed = frozenset(outer)
    for place, literal in enumerate(body):
        if not isinstance(literal, Constraint) or literal.op != "=":
            continue
        for mine, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if (
                isinstance(mine, Variable)
                and mine.name not in fixed
                and isinstance(other, Variable | Constant)
                and mine != other
                and _have_same_codes(mine, other, program)
            ):
                return place, {mine.name: other}
    return None


def _have_same_codes(left: Term, right: Term, program: Program) -> bool:
    """Say whether codes of one term's type can be read as codes of the other's."""
    if left.type == right.type:
        return True
    kind = program.kind_of(left.type)
    return kind is program.kind_of(right.type) and kind not in (Kind.RECORD, Kind.ADT)


def _without(body: tuple[Literal, ...], place: int, by: Substitution) -> tuple[Literal, ...]:
    return tuple(substitute_literal(literal, by) for other, literal in enumerate(body) if other != place)


# --- inside aggregates ---------------------------------------------------------------------


def _inside(term: Term, program: Program) -> Term:
    """Return the term with equalities propagated inside its aggregates."""
    if not isinstance(term, Aggregate):
        return map_parts(term, partial(_inside, program=program))
    # A body needs a literal: the last one stays.
    while len(term.body) > 1 and (found := _redundant(term.body, term.outer, program)) is not None:
        place, by = found
        target = None if term.target is None else substitute(term.target, by)
        term = replace(term, target=target, body=_without(term.body, place, by))
    return replace(term, body=map_body(term.body, partial(_inside, program=program)))
