"""Pass: cut rules that would need all facts of a large relation of earlier strata at every partner.

    memory(x, w) :- deref(y, x), alias(y, z), deref(z, w).

`alias` belongs to the stratum, and `y` or `z` divides the rule: one of the two `deref` lacks it. Cut in two,
each half is divided by a variable that all its large relations have:

    memory/9b0c(x, z) :- deref(y, x), alias(y, z).
    memory(x, w) :- memory/9b0c(x, z), deref(z, w).

What the first half finds is sent to where the key of the other relation is kept, instead of the relation
to all. It takes memory of its own, so relations below a size are still copied to every partner.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.spark.routes import variable_columns
from tidelog.plan.flatten import FlatRule, flatten_rule, is_fact
from tidelog.program.content_digest import content_digest
from tidelog.program.nodes import (
    Atom,
    Column,
    Constraint,
    Literal,
    NegatedAtom,
    Program,
    Relation,
    Rule,
    RuleId,
    Stratum,
    Variable,
)
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import deep_variables, needed_variables


@dataclass(frozen=True, slots=True)
class CutStratum:
    """A stratum after the pass, in its program; `made` are its new relations, which only partners see.

    `dividing` has the variables of each rule that divide all large relations it reads.
    """

    program: Program
    stratum: Stratum
    made: tuple[str, ...]
    dividing: Mapping[RuleId, frozenset[str]]


def cut_rules(program: Program, number: int, large: Collection[str]) -> CutStratum:
    """Return a stratum whose rules read each of these relations by the variable that divides the rule.

    Rules with aggregates stay as they are, and so do those that share no variable with a large relation, and
    those of a stratum with a law: it decides by iterations, and halves take one more.
    """
    may_cut = program.law_of(program.strata[number]) is None
    stratum, ids = program.strata[number], RuleIds(program)
    own = set(stratum.relations)
    made: dict[str, Relation] = {}
    rules: list[Rule] = []
    dividing: dict[RuleId, frozenset[str]] = {}
    waiting = list(stratum.rules)
    while waiting:
        rule = waiting.pop(0)
        flat = None if is_fact(rule) else flatten_rule(rule, program)
        if flat is None or flat.aggregates:
            rules.append(rule)
            continue
        large_here = own | set(large)
        common = _common(flat.body, large_here)
        last = None if common or not may_cut else _to_cut_off(flat, own, large_here)
        if last is None:
            rules.append(rule)
            dividing[rule.id] = common
            continue
        relation, first, second = _halves(rule, flat, last, ids)
        # Rules with the same half share it.
        waiting[:0] = [second] if relation.name in own else [first, second]
        made[relation.name] = relation
        own.add(relation.name)
    # What a half derives is read in the next iteration, even if the stratum had only one.
    cut = replace(
        stratum,
        relations=(*stratum.relations, *made),
        rules=tuple(rules),
        is_recursive=stratum.is_recursive or bool(made),
    )
    strata = tuple(cut if place == number else each for place, each in enumerate(program.strata))
    changed = replace(program, relations={**program.relations, **made}, strata=strata)
    return CutStratum(changed, cut, tuple(made), dividing)


def _relation(literal: Literal) -> str | None:
    match literal:
        case Atom():
            return literal.relation
        case NegatedAtom():
            return literal.atom.relation
        case _:
            return None


def _variables(literal: Literal) -> frozenset[str]:
    atom = literal.atom if isinstance(literal, NegatedAtom) else literal
    return frozenset(variable_columns(atom)) if isinstance(atom, Atom) else frozenset()


def _large(literals: Iterable[Literal], large: Collection[str]) -> list[frozenset[str]]:
    """Return the variables of each atom of a large relation that has any."""
    found = (_variables(literal) for literal in literals if _relation(literal) in large)
    return [names for names in found if names]


def _common(literals: Iterable[Literal], large: Collection[str]) -> frozenset[str]:
    """Return the variables that all atoms of large relations have."""
    found = _large(literals, large)
    return frozenset.intersection(*found) if found else frozenset()


def _to_cut_off(flat: FlatRule, own: Collection[str], large: Collection[str]) -> Literal | None:
    """Return the atom of a large relation that the second half joins, or None if no cut helps."""

    def suits(last: Literal) -> bool:
        atoms = [atom for atom in flat.atoms if atom is not last]
        if not any(_variables(last) & _variables(atom) for atom in atoms):
            return False
        # Without an atom in the middle, the first half would combine everything with everything.
        if _pieces(atoms) > _pieces(flat.atoms):
            return False
        first, rest = _parted(flat, last)
        middle = frozenset(variable.name for variable in _kept(flat, first, rest))
        # The second half is divided by a variable, or has fewer atoms of large relations to cut off.
        is_divided = bool(frozenset.intersection(middle, *_large(rest, large)))
        return is_divided or len(_large(first, large)) > 1

    candidates = [x for x in flat.body if _relation(x) in large and _relation(x) not in own]
    return next((literal for literal in reversed(candidates) if suits(literal)), None)


def _pieces(atoms: Sequence[Atom]) -> int:
    """Return into how many parts atoms fall that share no variable."""
    groups: list[frozenset[str]] = []
    for atom in atoms:
        names = _variables(atom)
        near = [group for group in groups if group & names]
        groups = [group for group in groups if not group & names]
        groups.append(names.union(*near))
    return len(groups)


def _halves(rule: Rule, flat: FlatRule, last: Literal, ids: RuleIds) -> tuple[Relation, Rule, Rule]:
    """Return a relation, the rule that derives it from all but the last atom, and the rule that reads it."""
    first, rest = _parted(flat, last)
    kept = _kept(flat, first, rest)
    name = f"{flat.relation}/{content_digest((first, kept))}"
    columns = tuple(Column(f"c{place}", variable.type) for place, variable in enumerate(kept))
    relation = Relation(name, columns, span=rule.span)
    atom = Atom(name, kept, span=rule.span)
    return (
        relation,
        Rule(ids.take(), atom, first, span=rule.span),
        replace(rule, head=flat.head, body=(atom, *rest), plan=()),
    )


def _parted(flat: FlatRule, last: Literal) -> tuple[tuple[Literal, ...], tuple[Literal, ...]]:
    """Return the atoms but the last one with what can be decided from them, and the rest of the body."""
    bound = frozenset().union(*(_variables(atom) for atom in flat.atoms if atom is not last))

    def is_first(literal: Literal) -> bool:
        if literal is last or isinstance(literal, Atom):
            return literal is not last
        names = {variable.name for variable in deep_variables([literal])}
        return isinstance(literal, (Constraint, NegatedAtom)) and names <= bound

    first = tuple(literal for literal in flat.body if is_first(literal))
    return first, tuple(literal for literal in flat.body if not is_first(literal))


def _kept(flat: FlatRule, first: Sequence[Literal], rest: Sequence[Literal]) -> tuple[Variable, ...]:
    """Return the variables of the first half that the second one needs, each once."""
    needed = {variable.name for variable in needed_variables((*rest, flat.head))}
    found = {variable.name: variable for variable in needed_variables(first) if variable.name in needed}
    return tuple(found.values())
