"""Which variables a term waits for, and what must happen once per derivation."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Final, assert_never

from tidelog.program import nodes
from tidelog.program.walk_nodes import map_literal, map_terms, subterms, terms_of

Names = frozenset[str]
NOTHING: Final[Names] = frozenset()

# A wildcard is a variable that nothing ever binds: a term that has one can match a value but never has a
# value of its own.
WILDCARD: Final = "_"


@lru_cache(maxsize=100_000)
def awaited(term: nodes.Term) -> Names:
    """Return the variables that must be bound before the term has a value.

    An aggregate waits for what it shares with the rest of the rule, not for its own variables.
    """
    match term:
        case nodes.Variable():
            return frozenset((term.name,))
        case nodes.Wildcard():
            return frozenset((WILDCARD,))
        case nodes.Constant() | nodes.Counter():
            return NOTHING
        case nodes.RecordTerm() | nodes.BranchTerm() | nodes.Application() | nodes.UserApplication():
            return _union(map(awaited, term.terms))
        case nodes.Aggregate():
            outer = frozenset(term.outer)
            own = _union(map(mentioned, term.body)) - outer
            around = _union(awaited(part) for part in (term.target, term.init) if part is not None)
            return outer | (around - own)
    assert_never(term)


@lru_cache(maxsize=100_000)
def mentioned(literal: nodes.Literal) -> Names:
    """Return the variables of the rule that the literal mentions."""
    return _union(map(awaited, terms_of(literal)))


@lru_cache(maxsize=100_000)
def counts(term: nodes.Term) -> bool:
    """Say whether the term holds an `autoinc()`, which gives one number per derivation."""
    return any(isinstance(part, nodes.Counter) for part in subterms(term))


def name_wildcards(rule: nodes.Rule) -> nodes.Rule:
    """Return the rule with a variable for each wildcard of its positive atoms.

    A binding then identifies a derivation:

        r(autoinc()) :- edge(x, _).
        r(autoinc()) :- edge(x, _1).
    """
    numbers = count(1)

    def named(term: nodes.Term) -> nodes.Term:
        match term:
            case nodes.Wildcard():
                return nodes.Variable(f"{WILDCARD}{next(numbers)}", term.type, span=term.span)
            case nodes.RecordTerm() | nodes.BranchTerm():
                return map_terms(term, named)
            case _:
                return term

    body = tuple(
        map_literal(literal, named) if isinstance(literal, nodes.Atom) else literal for literal in rule.body
    )
    return replace(rule, body=body)


def _union(sets: Iterable[Names]) -> Names:
    return frozenset().union(*sets)
