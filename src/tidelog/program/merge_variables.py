"""Variables made by a pass that equal another variable or a constant."""

from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.substitute import substitute, substitute_literal


def merge_variables(rule: TypedRule) -> TypedRule:
    """Return the rule without constraints that only give a made variable a second name.

    p(x) :- _y'1 = x, q(_y'1).

    p(x) :- q(x).
    """
    found = _redundant(rule.body)
    while found is not None:
        place, name, term = found
        by = {name: term}
        body = tuple(
            substitute_literal(literal, by) for other, literal in enumerate(rule.body) if other != place
        )
        head = replace(rule.head, terms=tuple(substitute(each, by) for each in rule.head.terms))
        rule = replace(rule, head=head, body=body)
        found = _redundant(rule.body)
    return rule


def _redundant(body: tuple[nodes.Literal, ...]) -> tuple[int, str, nodes.Variable | nodes.Constant] | None:
    """Return the place of such a constraint, the variable to replace and what to put for it."""
    for place, literal in enumerate(body):
        if not isinstance(literal, nodes.Constraint) or literal.op != "=":
            continue
        for mine, other in ((literal.left, literal.right), (literal.right, literal.left)):
            is_made = isinstance(mine, nodes.Variable) and "'" in mine.name
            if is_made and isinstance(other, nodes.Variable | nodes.Constant) and mine != other:
                assert isinstance(mine, nodes.Variable)
                return place, mine.name, other
    return None
