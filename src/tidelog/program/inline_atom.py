"""An atom of an inlined relation, replaced by what its rules say."""

from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.flatten_rules import INVERSE
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
    for mine, given in zip(rule.head.terms, atom.terms, strict=True):
        if isinstance(mine, nodes.Variable) and mine.name not in replaced:
            replaced.add(mine.name)
            if isinstance(given, nodes.Variable | nodes.Constant):
                by[mine.name] = given
            elif not isinstance(given, nodes.Wildcard):
                equations.append((renamed[mine.name], given))
        else:
            equations.append((mine, given))
    literals: list[nodes.Literal] = []
    for mine, given in equations:
        literals.extend(_equal(substitute(mine, by), given, fresh, types))
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


def inline_negated(
    atom: nodes.Atom, rules: list[TypedRule], fresh: FreshNames, types: TypeEnvironment
) -> list[Body] | None:
    """Return the alternatives for a negated atom, or None if negation does not pass inside.

    The rules may have no variables but those of their heads: `!r(y)` with `r(x) :- a(x), x < 9.`
    becomes `!a(y)` or `y >= 9`.
    """
    alternatives: list[Body] = [()]
    for rule in rules:
        if not is_determined(rule) or any(isinstance(term, nodes.Wildcard) for term in atom.terms):
            return None
        body = inline_positive(atom, rule, fresh, types)
        alternatives = [(*before, _negated(literal)) for before in alternatives for literal in body]
    return alternatives


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
