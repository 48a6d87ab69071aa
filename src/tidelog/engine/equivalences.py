"""Equivalence relations as rules.

The pairs that rules and inputs give are kept apart, in a relation `r/pairs` that nobody else sees, and
read both ways. The equivalence itself follows along it, one step at a time:

    r/pairs(y, x) :- r/pairs(x, y).
    r(x, x) :- r/pairs(x, _).
    r(x, z) :- r(x, y), r/pairs(y, z).
"""

from collections.abc import Iterator
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.program.nodes import Atom, Program, Relation, Rule, Stratum, Variable, Wildcard
from tidelog.program.rule_ids import RuleIds


@dataclass(frozen=True, slots=True)
class ClosedByRules:
    """A stratum whose equivalences are closed by rules, its program, and the relation of pairs for each."""

    stratum: Stratum
    program: Program
    pairs: dict[str, str]


def close_by_rules(stratum: Stratum, program: Program) -> ClosedByRules:
    """Return a stratum without equivalences that derives the same facts."""
    found = [program.relations[name] for name in stratum.relations if program.relations[name].is_equivalence]
    pairs = {relation.name: f"{relation.name}/pairs" for relation in found}
    if not pairs:
        return ClosedByRules(stratum, program, {})
    ids = RuleIds(program)
    rules = [
        replace(rule, head=replace(rule.head, relation=pairs.get(rule.head.relation, rule.head.relation)))
        for rule in stratum.rules
    ]
    for relation in found:
        rules += _closure(relation, pairs[relation.name], ids, stratum)
    relations = dict(program.relations)
    for relation in found:
        plain = relation.without_law()
        relations[relation.name] = plain
        relations[pairs[relation.name]] = replace(plain, name=pairs[relation.name])
    made = replace(
        stratum, relations=(*stratum.relations, *pairs.values()), rules=tuple(rules), is_recursive=True
    )
    return ClosedByRules(made, replace(program, relations=relations), pairs)


def _closure(relation: Relation, pairs: str, ids: RuleIds, stratum: Stratum) -> Iterator[Rule]:
    """Yield the rules that make an equivalence of pairs."""
    span = relation.span or stratum.rules[0].span
    of_type = relation.columns[0].type
    x, y, z = (Variable(name, of_type, span=span) for name in "xyz")
    name = relation.name
    forward = Atom(pairs, (x, y), span=span)
    yield Rule(ids.take(), Atom(pairs, (y, x), span=span), (forward,), span=span)
    any_one = Atom(pairs, (x, Wildcard(of_type, span=span)), span=span)
    yield Rule(ids.take(), Atom(name, (x, x), span=span), (any_one,), span=span)
    step = (Atom(name, (x, y), span=span), Atom(pairs, (y, z), span=span))
    yield Rule(ids.take(), Atom(name, (x, z), span=span), step, span=span)
