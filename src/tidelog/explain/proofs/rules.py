"""The rules that proofs quote: as written, whatever became of them on the way to an engine."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from itertools import count

from tidelog.dataclass import dataclass
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import UserFunctions
from tidelog.program import nodes
from tidelog.program.walk_nodes import (
    aggregates_in,
    deep_atoms,
    keeps_state,
    map_literal,
    map_parts,
    relations_read,
    subterms,
)
from tidelog.program.written_names import made_name
from tidelog.source import Span
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class QuotedRule:
    """A rule as a proof quotes it.

    `id` is that of the rule in `Session.rules` (0 where no such rule is known), `name` is the head's
    relation and the rule's place among those with this head: `path#2`. `text` is what the user wrote.
    A written rule with several heads or alternatives is quoted under several names.
    """

    id: int
    name: str
    text: str
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(self.text.split())}"


@dataclass(frozen=True)
class RuleBook:
    """A written program with what it takes to apply its rules one by one.

    `program` holds every relation and rule that was written. The relations of `checked`, the program
    that engines are given, have their facts there; all others are proved from their rules when they
    are asked for. `rule_ids` leads from the place of a rule in the text to its id; `numbering` has the
    numbers that `autoinc()` gave.
    """

    program: nodes.Program
    checked: nodes.Program
    codec: Codec
    functions: UserFunctions
    rule_ids: Callable[[Span], int] = field(default=lambda _span: 0)
    numbering: Numbering = field(default_factory=Numbering)

    @cached_property
    def rules(self) -> Mapping[str, tuple[nodes.Rule, ...]]:
        """Return the rules by the relation of their head, in the order of the text."""
        found: dict[str, list[nodes.Rule]] = {}
        for rule in sorted(self.program.rules, key=lambda rule: rule.id):
            found.setdefault(rule.head.relation, []).append(name_parts(rule, self.program))
        return {name: tuple(rules) for name, rules in found.items()}

    @cached_property
    def _quoted(self) -> Mapping[nodes.RuleId, QuotedRule]:
        return {
            rule.id: QuotedRule(self.rule_ids(rule.span), f"{name}#{place}", rule.span.text, rule.span)
            for name, rules in self.rules.items()
            for place, rule in enumerate(rules, start=1)
        }

    def quote(self, rule: nodes.Rule) -> QuotedRule:
        """Return the rule as the user wrote it."""
        return self._quoted[rule.id]

    @cached_property
    def _by_name(self) -> Mapping[str, nodes.Rule]:
        return {self.quote(rule).name: rule for rules in self.rules.values() for rule in rules}

    def find(self, name: str) -> nodes.Rule:
        """Return the rule that is quoted under a name such as `path#2`."""
        return self._by_name[name]

    def rules_of(self, relation: str) -> tuple[nodes.Rule, ...]:
        """Return the rules with this relation as head; every wildcard has a name of its own."""
        return self.rules.get(relation, ())

    def is_stored(self, relation: str) -> bool:
        """Say whether an engine holds the relation's facts."""
        return relation in self.checked.relations

    @cached_property
    def _reads(self) -> Mapping[str, set[str]]:
        """Return the relations that each relation's rules and subsumptions read."""
        found: dict[str, set[str]] = {}
        for name, rules in self.rules.items():
            for rule in rules:
                read = relations_read((*rule.head.terms, *rule.body))
                found.setdefault(name, set()).update(read)
        for each in self.program.subsumptions:
            read = relations_read((*each.less.terms, *each.greater.terms, *each.body))
            found.setdefault(each.less.relation, set()).update(read)
        return found

    def cone(self, relation: str) -> frozenset[str]:
        """Return the relation and all relations it depends on."""
        found = {relation}
        waiting = [relation]
        while waiting:
            for read in self._reads.get(waiting.pop(), ()):
                if read not in found:
                    found.add(read)
                    waiting.append(read)
        return frozenset(found)

    @cached_property
    def _lawful(self) -> frozenset[str]:
        """Return the relations whose facts do not simply add up."""
        subsumed = {each.less.relation for each in self.program.subsumptions}
        return frozenset(
            relation.name
            for relation in self.program.relations.values()
            if relation.name in subsumed
            or relation.choices
            or relation.lattice_columns
            or relation.size_limit is not None
        )

    def has_law(self, relation: str) -> bool:
        """Say whether a choice, a size limit, a lattice or subsumption decides which facts stay."""
        return relation in self._lawful

    def has_moving_bounds(self, relation: str) -> bool:
        """Say whether values of the relation's stratum are widened or narrowed, and not just joined."""
        return relation in self._moving

    @cached_property
    def _moving(self) -> frozenset[str]:
        program = self.checked
        return frozenset(name for each in program.strata if _moves(each, program) for name in each.relations)

    def may_lack_levels(self, relation: str) -> bool:
        """Say whether levels of the stratum may not tell in which order its facts were derived.

        That is so where a relation has a law.
        """
        return any(map(self.has_law, self.checked.strata[self.strata[relation]].relations))

    def aggregates_itself(self, relation: str) -> bool:
        """Say whether an aggregate of the relation's stratum reads that stratum."""
        return self.strata[relation] in self._aggregating

    @cached_property
    def _aggregating(self) -> frozenset[int]:
        return frozenset(
            number for number, stratum in enumerate(self.checked.strata) if reads_itself(stratum)
        )

    @cached_property
    def _grows(self) -> dict[str, bool]:
        return {}

    def only_grows(self, relation: str) -> bool:
        """Say whether more input facts can only mean more facts of the relation.

        That is so where no rule on the way negates, aggregates or chooses.
        """
        if relation not in self._grows:
            cone = self.cone(relation)
            self._grows[relation] = not (cone & self._lawful) and all(
                is_positive
                for name in cone
                for rule in self.rules_of(name)
                for atom, is_positive in deep_atoms((rule.head, *rule.body))
            )
        return self._grows[relation]

    @cached_property
    def strata(self) -> Mapping[str, int]:
        """Return the number of each stored relation's stratum."""
        return {name: number for number, each in enumerate(self.checked.strata) for name in each.relations}


def _moves(stratum: nodes.Stratum, program: nodes.Program) -> bool:
    columns = (column for name in stratum.relations for column in program.relations[name].columns)
    lattices = (program.lattices[column.type] for column in columns if column.is_lattice)
    return any(each.widen is not None or each.narrow is not None for each in lattices)


def reads_itself(stratum: nodes.Stratum) -> bool:
    """Say whether an aggregate of a stratum reads it."""
    return any(
        not relations_read((aggregate,)).isdisjoint(stratum.relations)
        for aggregate in aggregates_in(stratum.rules)
    )


def name_parts(rule: nodes.Rule, program: nodes.Program) -> nodes.Rule:
    """Return the rule with a variable for each wildcard of its positive atoms.

    A binding then tells which fact each atom stands for. What a stateful functor gives in the body's
    atoms gets a variable too, and an equality for it.
    """
    naming = _Naming(program)
    head = map_literal(rule.head, naming.inner)
    body = tuple(naming.literal(each, naming.outermost) for each in rule.body)
    return replace(rule, head=head, body=(*body, *naming.equalities))


class _Naming:
    """Gives names to what has none in one rule."""

    def __init__(self, program: nodes.Program) -> None:
        self.equalities: list[nodes.Literal] = []
        self._program = program
        self._numbers = count(1)

    def literal(self, literal: nodes.Literal, in_atom: Callable[[nodes.Term], nodes.Term]) -> nodes.Literal:
        return map_literal(literal, in_atom if isinstance(literal, nodes.Atom) else self.inner)

    def outermost(self, term: nodes.Term) -> nodes.Term:
        """Return a term of an atom of the rule's own body, where no functor has to be asked again."""
        if isinstance(term, nodes.RecordTerm | nodes.BranchTerm):
            return map_parts(term, self.outermost)
        if not any(keeps_state(part, self._program) for part in subterms(term)):
            return self._named(term)
        value = self._variable("value", term)
        kind = self._program.kind_of(term.type)
        self.equalities.append(nodes.Constraint("=", kind, value, self.inner(term), span=term.span))
        return value

    def inner(self, term: nodes.Term) -> nodes.Term:
        """Return the term with the bodies of its aggregates named."""
        if isinstance(term, nodes.Aggregate):
            return replace(
                term,
                target=None if term.target is None else self.inner(term.target),
                init=None if term.init is None else self.inner(term.init),
                body=tuple(self.literal(each, self._named) for each in term.body),
            )
        return map_parts(term, self.inner)

    def _named(self, term: nodes.Term) -> nodes.Term:
        match term:
            case nodes.Wildcard():
                return self._variable("wild", term)
            case nodes.RecordTerm() | nodes.BranchTerm():
                return map_parts(term, self._named)
            case _:
                return self.inner(term)

    def _variable(self, word: str, term: nodes.Term) -> nodes.Variable:
        return nodes.Variable(made_name(word, next(self._numbers)), term.type, span=term.span)
