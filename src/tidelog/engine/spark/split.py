"""Pass: cut rules whose atoms of their own stratum share no variable.

    alias(x, y) :- flow(z, x), memory(z, w), flow(w, y).

    alias/3f0a(x, w) :- flow(z, x), memory(z, w).
    alias(x, y) :- alias/3f0a(x, w), flow(w, y).

Each half is then divided by one variable, and nothing is sent in the middle of a rule. The new
relations belong to the stratum, and only partners see them. Their names say what derives them: rules with
the same half share it, and other rules of the program do not change it.

Rules of a stratum with a law stay whole: it decides by iterations, and halves take one more.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import combinations

from tidelog.engine.spark.routes import variable_columns
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program.content_digest import content_digest
from tidelog.program.nodes import Atom, Column, Program, Relation, Rule, Stratum, Variable
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import needed_variables


def split_rules(program: Program) -> Program:
    """Return the program in which one variable divides each rule, wherever its atoms share one."""
    ids = RuleIds(program)
    relations = dict(program.relations)
    strata: list[Stratum] = []
    for stratum in program.strata:
        names = set(stratum.relations)
        may_split = stratum.is_recursive and program.law_of(stratum) is None
        rules: list[Rule] = []
        waiting = list(stratum.rules)
        while waiting:
            rule = waiting.pop(0)
            halves = _halves(rule, names, program, ids) if may_split else None
            if halves is None:
                rules.append(rule)
                continue
            made, first, second = halves
            if made.name not in names:
                rules.append(first)
            relations[made.name] = made
            names.add(made.name)
            waiting.insert(0, second)
        added = tuple(sorted(names - set(stratum.relations)))
        strata.append(replace(stratum, relations=(*stratum.relations, *added), rules=tuple(rules)))
    return replace(program, relations=relations, strata=tuple(strata))


def _halves(
    rule: Rule, stratum: Collection[str], program: Program, ids: RuleIds
) -> tuple[Relation, Rule, Rule] | None:
    """Return a relation, the rule that derives it and the rule that reads it, or None if not needed."""
    flat = flatten_rule(rule, program)
    inside = [atom for atom in flat.atoms if atom.relation in stratum]
    if len(inside) < 3 or set.intersection(*(set(variable_columns(atom)) for atom in inside)):
        return None
    pairs = [
        (left, right)
        for left, right in combinations(inside, 2)
        if variable_columns(left).keys() & variable_columns(right).keys()
    ]
    if not pairs:
        return None
    left, right = min(pairs, key=lambda pair: len(_kept(flat, pair)))
    kept = _kept(flat, (left, right))
    name = f"{rule.head.relation}/{content_digest((left, right, kept))}"
    columns = tuple(Column(f"c{place}", variable.type) for place, variable in enumerate(kept))
    atom = Atom(name, kept, span=rule.span)
    rest = tuple(atom if x is left else x for x in flat.body if x is not right)
    relation = Relation(name, columns, span=program.relations[rule.head.relation].span)
    first = Rule(ids.take(), atom, (left, right), span=rule.span)
    return relation, first, replace(rule, head=flat.head, body=rest, plan=())


def _kept(rule: FlatRule, pair: tuple[Atom, Atom]) -> tuple[Variable, ...]:
    """Return the variables of a pair of atoms that the rest of the rule needs, each once."""
    rest = [x for x in rule.body if x is not pair[0] and x is not pair[1]]
    needed = {variable.name for variable in needed_variables((*rest, rule.head))}
    kept = {variable.name: variable for variable in needed_variables(pair) if variable.name in needed}
    return tuple(kept.values())
