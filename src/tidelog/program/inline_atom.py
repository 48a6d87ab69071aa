"""An atom of an inlined relation, replaced by what its rules say."""

from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.flatten_bodies import INVERSE
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.substitute import FreshNames, names_in, substitute, substitute_literal
from tidelog.program.type_environment import TypeEnvironment
from tidelog.program.walk_nodes import subterms, terms_of

Body = tuple[nodes.Literal, ...]


def inline_positive(atom: nodes.Atom, rule: TypedRule, fresh: FreshNames, types: TypeEnvironment) -> Body:
    """Return the rule's body with its head made equal to the atom.

    All variables of the rule get new names. With `small(x) :- num(x), x < 9.` the atom `small(y)`
    becomes `num(y), y < 9`.
    """
    renamed: dict[str, nodes.Term] = {
        name: replace(variable, name=fresh.like(name))
        for name, variable in names_in((rule.head, *rule.body)).items()
    }
    by: dict[str, nodes.Term] = dict(renamed)
    equations: list[tuple[nodes.Term, nodes.Term]] = []
    replaced: set[str] = set()
    for mine, theirs in zip(rule.head.terms, atom.terms, strict=True):
        if isinstance(mine, nodes.Variable) and mine.name not in replaced:
            replaced.add(mine.name)
            if isinstance(theirs, nodes.Variable | nodes.Constant):
                by[mine.name] = theirs
            elif not isinstance(theirs, nodes.Wildcard):
                equations.append((renamed[mine.name], theirs))
        else:
            equations.append((mine, theirs))
    literals: list[nodes.Literal] = []
    for mine, theirs in equations:
        literals.extend(_equal(substitute(mine, by), theirs, fresh, types))
    literals.extend(substitute_literal(literal, by) for literal in rule.body)
    return tuple(literals)


def _equal(
    left: nodes.Term, right: nodes.Term, fresh: FreshNames, types: TypeEnvironment
) -> list[nodes.Literal]:
    """Return constraints that say that two terms have one value, by part where both are patterns."""
    if isinstance(right, nodes.Wildcard):
        left, right = right, left
    if isinstance(left, nodes.Wildcard):
        if not any(isinstance(part, nodes.Application | nodes.UserApplication) for part in subterms(right)):
            return []
        # The term is still computed: where it has no value the rule derives nothing.
        left = nodes.Variable(fresh.like("any"), right.type, span=right.span)
    same_record = isinstance(left, nodes.RecordTerm) and isinstance(right, nodes.RecordTerm)
    same_branch = (
        isinstance(left, nodes.BranchTerm)
        and isinstance(right, nodes.BranchTerm)
        and left.name == right.name
        and left.terms
    )
    if same_record or same_branch:
        assert isinstance(left, nodes.RecordTerm | nodes.BranchTerm)
        assert isinstance(right, nodes.RecordTerm | nodes.BranchTerm)
        pairs = zip(left.terms, right.terms, strict=True)
        return [literal for one, other in pairs for literal in _equal(one, other, fresh, types)]
    return [nodes.Constraint("=", types.kind(left.type), left, right, span=right.span)]


class TooManyAlternativesError(Exception):
    """The negation of a relation's rules has more alternatives than allowed."""


def inline_negated(
    atom: nodes.Atom, rules: list[TypedRule], fresh: FreshNames, types: TypeEnvironment, limit: int
) -> list[Body] | None:
    """Return the alternatives for a negated atom, or None if negation does not pass inside.

    The rules may have no variables but those of their heads: `!r(y)` with `r(x) :- a(x), x < 9.`
    becomes `!a(y)` or `y >= 9`. One literal of each rule is false in an alternative, so rules multiply: with
    more than `limit` alternatives `TooManyAlternativesError` is raised, before more of them are made.
    """
    if not all(map(is_determined, rules)):
        return None
    named = _name_terms(atom, fresh, types)
    if named is None:
        return None
    simple, computed = named
    found: dict[frozenset[nodes.Literal], Body] = {frozenset(): computed}
    for rule in rules:
        refuted = [_negated(literal) for literal in inline_positive(simple, rule, fresh, types)]
        # An alternative that refutes the rule already covers those that say more. That is so if all
        # literals have a value: one without refutes nothing.
        is_plain = is_total(rule)
        longer: dict[frozenset[nodes.Literal], Body] = {}
        for chosen, before in found.items():
            if is_plain and not chosen.isdisjoint(refuted):
                longer.setdefault(chosen, before)
                continue
            for literal in refuted:
                longer.setdefault(chosen | {literal}, (*before, literal))
            if len(longer) > limit:
                raise TooManyAlternativesError
        found = longer
    return list(found.values())


def _name_terms(
    atom: nodes.Atom, fresh: FreshNames, types: TypeEnvironment
) -> tuple[nodes.Atom, Body] | None:
    """Return the atom with a variable for each term that is computed, and what binds these.

    A term without a value makes a negated atom false, whichever literal of a rule is refuted. None if a
    wildcard stands in the atom: no value takes its place.
    """
    if any(isinstance(part, nodes.Wildcard) for term in atom.terms for part in subterms(term)):
        return None
    terms: list[nodes.Term] = []
    computed: list[nodes.Literal] = []
    for term in atom.terms:
        if isinstance(term, nodes.Variable | nodes.Constant):
            terms.append(term)
            continue
        variable = nodes.Variable(fresh.like("value"), term.type, span=term.span)
        terms.append(variable)
        computed.append(nodes.Constraint("=", types.kind(term.type), variable, term, span=term.span))
    return replace(atom, terms=tuple(terms)), tuple(computed)


def is_determined(rule: TypedRule) -> bool:
    """Say whether the head's variables are all variables of the rule, and each stands for itself."""
    head = [term.name for term in rule.head.terms if isinstance(term, nodes.Variable)]
    if len(head) != len(set(head)) or any(
        not isinstance(term, nodes.Variable | nodes.Constant) for term in rule.head.terms
    ):
        return False
    if any(isinstance(literal, nodes.Generator) for literal in rule.body):
        return False
    return set(names_in(rule.body)) <= set(head)


def is_total(rule: TypedRule) -> bool:
    """Say whether every term of the rule always has a value."""
    partial = nodes.Application | nodes.UserApplication | nodes.Aggregate | nodes.Counter
    return not any(
        isinstance(part, partial)
        for literal in (rule.head, *rule.body)
        for term in terms_of(literal)
        for part in subterms(term)
    )


def has_wildcard(rule: TypedRule) -> bool:
    """Say whether a body atom has a wildcard, so that a fact may have several derivations."""
    return any(
        isinstance(part, nodes.Wildcard)
        for literal in rule.body
        for term in terms_of(literal)
        for part in subterms(term)
    )


def _negated(literal: nodes.Literal) -> nodes.Literal:
    match literal:
        case nodes.Atom():
            return nodes.NegatedAtom(literal, span=literal.span)
        case nodes.NegatedAtom():
            return literal.atom
        case nodes.Constraint():
            return replace(literal, op=INVERSE[literal.op])
        case nodes.Generator():
            raise AssertionError("a generator has a variable of its own")
