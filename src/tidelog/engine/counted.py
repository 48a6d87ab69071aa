"""Pass: give the derivations of a rule with `autoinc()` a relation of their own.

    row(autoinc(), x) :- line(x, _), x != "".

    derivation/1(x, y)  :- line(x, y), x != "".
    row(n, x)           :- derivation/1(x, y), n = @number/1(0, x, y).

A derivation is a binding of all that can be bound without the number: by the atoms, with a variable for
each wildcard, and by the constraints and generators that do not need the number. Those that do, such as
`n > 3`, are checked once the derivation has its number. An engine assigns the numbers when it reaches the
rule's stratum, and from then on `@number/1` is a function like any other: numbers never change.
"""

import hashlib
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.engine.numbering import CountedRule
from tidelog.program import nodes
from tidelog.program.binding import bound_variables
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import (
    counts,
    map_literal,
    map_parts,
    needed_variables,
    subterms,
    variables_of,
)
from tidelog.values import Kind

_NUMBER = Kind.NUMBER.value


@dataclass(frozen=True, slots=True)
class CountedProgram:
    """A program without `autoinc()`, and the rules that had it, in the order in which they count."""

    program: nodes.Program
    rules: tuple[CountedRule, ...]


def number_derivations(program: nodes.Program) -> CountedProgram:
    """Return the program in which the derivations that are counted are facts."""
    if not any(counts(rule) for rule in program.rules):
        return CountedProgram(program, ())
    splitter = _Splitter(program)
    strata: list[nodes.Stratum] = []
    for stratum in program.strata:
        rules = tuple(splitter.split(rule) if counts(rule) else rule for rule in stratum.rules)
        strata.extend(splitter.take_strata())
        strata.append(replace(stratum, rules=rules))
    relations = {**program.relations, **splitter.relations}
    functors = {**program.functors, **splitter.functors}
    made = replace(program, relations=relations, functors=functors, strata=tuple(strata))
    return CountedProgram(made, tuple(splitter.rules))


@dataclass
class _Splitter:
    program: nodes.Program
    relations: dict[str, nodes.Relation] = field(default_factory=dict)
    functors: dict[str, nodes.UserFunctor] = field(default_factory=dict)
    rules: list[CountedRule] = field(default_factory=list)
    waiting: list[nodes.Stratum] = field(default_factory=list)
    seen: Tally[str] = field(default_factory=Tally)
    ids: RuleIds = field(init=False)

    def __post_init__(self) -> None:
        self.ids = RuleIds(self.program)

    def take_strata(self) -> list[nodes.Stratum]:
        """Remove and return the strata made since the last call."""
        made, self.waiting = self.waiting, []
        return made

    def split(self, rule: nodes.Rule) -> nodes.Rule:
        """Return the rule over its derivations, and keep the stratum that finds them."""
        body = _Body(self.program)
        literals = [made for literal in rule.body for made in body.literal(literal)]
        head = replace(rule.head, terms=tuple(map(body.numbered, rule.head.terms)))
        before, after = _divided(literals, body.numbers)
        keys = tuple({variable.name: variable for variable in needed_variables(before)}.values())
        name = self.name_of(rule)
        relation, functor = f"derivation/{name}", f"number/{name}"
        types = tuple(variable.type for variable in keys)
        self.relations[relation] = nodes.Relation(
            relation, tuple(nodes.Column(variable.name, variable.type) for variable in keys), span=rule.span
        )
        self.functors[functor] = nodes.UserFunctor(functor, (_NUMBER, *types), _NUMBER)
        self.rules.append(CountedRule(name, head.relation, relation, functor, types, len(body.numbers)))
        derivation = nodes.Atom(relation, keys, span=rule.span)
        found = replace(rule, id=self.ids.take(), head=derivation, body=before)
        self.waiting.append(nodes.Stratum((relation,), (found,), (), is_recursive=False))
        numbers = tuple(
            _equal_to_number(number, functor, place, keys) for place, number in enumerate(body.numbers)
        )
        return replace(rule, head=head, body=(derivation, *numbers, *after), plan=(), is_leapfrog=False)

    def name_of(self, rule: nodes.Rule) -> str:
        """Return a name for the rule; equal rules are numbered."""
        # `repr` has no spans.
        digest = hashlib.blake2b(repr((rule.head, rule.body)).encode(), digest_size=8).hexdigest()
        self.seen[digest] += 1
        return f"{digest}.{self.seen[digest]}"


def _equal_to_number(
    number: nodes.Variable, functor: str, place: int, keys: tuple[nodes.Variable, ...]
) -> nodes.Constraint:
    """Return the constraint that a variable is the number of a derivation."""
    operands: tuple[nodes.Term, ...] = (nodes.Constant(place, _NUMBER, span=number.span), *keys)
    found = nodes.UserApplication(functor, operands, _NUMBER, span=number.span)
    return nodes.Constraint("=", Kind.NUMBER, number, found, span=number.span)


class _Body:
    """Takes the counters out of literals, and wildcards out of atoms."""

    def __init__(self, program: nodes.Program) -> None:
        self._program = program
        self._made = 0
        self.numbers: list[nodes.Variable] = []

    def literal(self, literal: nodes.Literal) -> Iterator[nodes.Literal]:
        """Yield a literal without counters; terms that an atom computes become constraints."""
        if not isinstance(literal, nodes.Atom):
            yield map_literal(literal, self.numbered)
            return
        terms: list[nodes.Term] = []
        apart: list[nodes.Literal] = []
        for term in literal.terms:
            if _is_pattern(term):
                terms.append(self._named(term))
                continue
            made = self._fresh(term)
            terms.append(made)
            kind = self._program.kind_of(term.type)
            apart.append(nodes.Constraint("=", kind, made, self.numbered(term), span=term.span))
        yield replace(literal, terms=tuple(terms))
        yield from apart

    def numbered(self, term: nodes.Term) -> nodes.Term:
        """Return the term with a variable for each counter."""
        if not isinstance(term, nodes.Counter):
            return map_parts(term, self.numbered)
        number = nodes.Variable(f"%number{len(self.numbers)}", term.type, span=term.span)
        self.numbers.append(number)
        return number

    def _named(self, term: nodes.Term) -> nodes.Term:
        """Return the term with a variable for each wildcard."""
        match term:
            case nodes.Wildcard():
                return self._fresh(term)
            case nodes.RecordTerm() | nodes.BranchTerm():
                return map_parts(term, self._named)
            case _:
                return term

    def _fresh(self, term: nodes.Term) -> nodes.Variable:
        self._made += 1
        return nodes.Variable(f"%any{self._made}", term.type, span=term.span)


def _is_pattern(term: nodes.Term) -> bool:
    """Say whether a term computes nothing: it has a value, or can be matched, whatever else is bound."""
    plain = nodes.Variable | nodes.Wildcard | nodes.Constant | nodes.RecordTerm | nodes.BranchTerm
    return all(isinstance(part, plain) for part in subterms(term))


def _divided(
    literals: Sequence[nodes.Literal], numbers: Sequence[nodes.Variable]
) -> tuple[tuple[nodes.Literal, ...], tuple[nodes.Literal, ...]]:
    """Return the literals that do not need the number, and those that do, both in their order."""
    names = {number.name for number in numbers}
    early = [literal for literal in literals if names.isdisjoint(variables_of(literal))]
    while True:
        bound = bound_variables(early)
        kept = [each for each in early if isinstance(each, nodes.Atom) or variables_of(each) <= bound]
        if len(kept) == len(early):
            return tuple(kept), tuple(literal for literal in literals if literal not in kept)
        early = kept
