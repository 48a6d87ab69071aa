"""Plans that follow a change through the rules of a stratum.

Every chain starts from some facts of one literal (forward) or of the head (backward) and joins
the rest of the body over all rows, facts of the old epoch as well as of the new one. It yields the
head's columns and the row number of every literal; which of these derivations count is decided
afterwards, by the annotations of those rows.
"""

from tidelog.plan.body import Body, row_name
from tidelog.plan.flatten import FlatRule, RuleLiteral, flatten_rule
from tidelog.plan.operators import Leapfrog, Operator, View
from tidelog.plan.order import best_chain, best_chain_in_pairs, best_choosing_chain, chains_by_first_atom
from tidelog.plan.statistics import Statistics
from tidelog.program import nodes
from tidelog.program.walk_nodes import walk

HEAD_ROW = "%head"


def derivation_chain(
    rule: FlatRule, literal: RuleLiteral | None, program: nodes.Program, statistics: Statistics
) -> tuple[Operator, ...]:
    """Return the best chain from facts of a literal, or of the head, to derivations."""
    body = _body(rule, literal, program, statistics)
    return best_choosing_chain(body).operators


def chain_variants(
    rule: FlatRule, literal: RuleLiteral | None, program: nodes.Program, statistics: Statistics
) -> tuple[tuple[Operator, ...], ...]:
    """Return chains from facts of a literal, or of the head, the one expected to be best first.

    Each of the others joins a different atom first; all yield the same derivations.
    """
    body = _body(rule, literal, program, statistics)
    best = best_chain(body).operators
    others = [chain.operators for chain in chains_by_first_atom(body)]
    if any(isinstance(operator, Leapfrog) for operator in best):
        # Kernels that work row by row join in pairs only.
        others.insert(0, best_chain_in_pairs(body).operators)
    return (best, *(operators for operators in others if operators != best))


def _body(
    rule: FlatRule, literal: RuleLiteral | None, program: nodes.Program, statistics: Statistics
) -> Body:
    """Return the body to be joined to facts of one literal, or of the head.

    Its batch has the columns of these facts and then their row numbers. The outputs are the
    head's columns, or its row number, and then the row numbers of the rule's literals. It sees all rows.
    Conditions between columns of the facts are literals without a place.
    """
    rest = dict(enumerate(rule.body))
    start: nodes.Literal = rule.head if literal is None else rest.pop(literal.place)
    row = HEAD_ROW if literal is None else row_name(literal.place)
    atom = start.atom if isinstance(start, nodes.NegatedAtom) else start
    assert isinstance(atom, nodes.Atom)
    names, equalities = _name_columns(atom, program)
    return Body(
        (*rest.values(), *equalities),
        tuple(View.FULL for other in rest.values() if isinstance(other, nodes.Atom)),
        (*((row,) if literal is None else rule.outputs), *(row_name(x.place) for x in rule.literals)),
        program,
        statistics,
        (*names, row),
        counting=True,
        numbered=True,
        places=(*rest, *(-1 for _ in equalities)),
        head=rule.relation,
        is_leapfrog=rule.is_leapfrog,
    )


def _name_columns(
    atom: nodes.Atom, program: nodes.Program
) -> tuple[tuple[str, ...], tuple[nodes.Literal, ...]]:
    """Return a variable for each column of an atom, and what must hold between them."""
    names: list[str] = []
    equalities: list[nodes.Literal] = []
    for column, term in enumerate(atom.terms):
        if isinstance(term, nodes.Variable) and term.name not in names:
            names.append(term.name)
            continue
        name = f"%column{column}"
        names.append(name)
        if not isinstance(term, nodes.Wildcard):
            made = nodes.Variable(name, term.type, span=term.span)
            equalities.append(nodes.Constraint("=", program.kind_of(term.type), made, term, span=term.span))
    return tuple(names), tuple(equalities)


def reason_to_recompute(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum can only be recomputed, or None if its rules can be followed."""
    reason = program.law_of(stratum)
    if reason is not None:
        return reason
    return next(filter(None, (reason_in_rule(rule, program) for rule in stratum.rules)), None)


def reason_in_rule(rule: nodes.Rule, program: nodes.Program) -> str | None:
    """Return why the derivations of a rule cannot be followed one by one, or None."""
    for node in walk((rule,), into_aggregates=False):
        match node:
            case nodes.Aggregate():
                return f"a rule of `{rule.head.relation}` has an aggregate"
            case nodes.Counter():
                return f"a rule of `{rule.head.relation}` counts with autoinc()"
            case nodes.UserApplication(name=name) if program.functors[name].is_stateful:
                return f"the functor `{name}` is stateful"
            case _:
                continue
    for literal in flatten_rule(rule, program).body:
        if isinstance(literal, nodes.NegatedAtom) and any(
            isinstance(t, nodes.Wildcard) for t in literal.atom.terms
        ):
            return f"a rule of `{rule.head.relation}` negates an atom with a wildcard"
        if isinstance(literal, nodes.Constraint) and isinstance(literal.right, nodes.Aggregate):
            return f"a rule of `{rule.head.relation}` negates an atom with a wildcard inside a record"
    return None
