"""Pass: give every aggregate of a rule a relation of its own, so that its groups can be maintained.

    total(d, s) :- dept(d), s = sum w : { emp(_, d, w) }.

    sum/1(d, w)  :- emp(_, d, w).                      // its groups: one fact for each d
    some/1(d)    :- emp(_, d, _).                      // the groups that are not empty
    total(d, s)  :- dept(d), sum/1(d, s).
    total(d, 0)  :- dept(d), !some/1(d).

The facts of `sum/1` are not the heads that its rules derive but one value for each group of them;
`maintain.groups` keeps them. Every binding of the rule as written has exactly one derivation by
the rules it becomes, so levels and counts stay the same. An aggregate whose outer variables
its own body does not bind reads a further relation with the outer bindings of its rule. Of a negated
conjunction only `some` is needed, and it is a relation like any other.

An aggregate over relations of its own stratum stays where it is, and so does one whose outer
bindings only that stratum knows; such a stratum is recomputed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.maintain.grouping_levels import Level, Levels
from tidelog.plan.flatten import flatten_rule
from tidelog.program.binding import bound_variables
from tidelog.program.content_digest import content_digest
from tidelog.program.nodes import (
    CONCAT,
    Aggregate,
    Atom,
    Column,
    Constant,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Program,
    Relation,
    Rule,
    Stratum,
    Term,
    Variable,
)
from tidelog.program.rule_ids import RuleIds
from tidelog.program.walk_nodes import deep_variables, relations_read, variables_of
from tidelog.values import Kind

# A rule with n aggregates that have a value for an empty group becomes 2 ** n rules.
_MOST_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class GroupedAggregate:
    """An aggregate whose values are the facts of a relation: the group's columns, then the value.

    `some` is the relation of the groups with at least one derivation, where it is needed. A rule of
    the relation has the group's columns in its head and then the target, except for `count`. If the body does
    not bind the group's columns, `outer` is the relation of the groups that are asked for.
    """

    relation: str
    some: str | None
    aggregate: Aggregate
    group_names: tuple[str, ...]
    group_types: tuple[str, ...]
    outer: str | None = None

    @property
    def types(self) -> tuple[str, str]:
        """Return the types of what a group's value is made of, and of that value."""
        target, result = self.aggregate.target, self.aggregate.type
        return result if target is None else target.type, result


def name_aggregates(program: Program) -> tuple[Program, Mapping[str, GroupedAggregate]]:
    """Return the program in which aggregates over earlier strata are relations, and these by relation."""
    namer = _Namer(program)
    namer.levels.add(_flat_aggregates(program))
    strata: list[Stratum] = []
    for stratum in program.strata:
        rules = tuple(made for rule in stratum.rules for made in namer.rules(rule, stratum))
        strata.extend(namer.take_strata())
        strata.append(replace(stratum, rules=rules))
    if not namer.relations:
        return program, {}
    relations = {**program.relations, **namer.relations}
    return replace(program, relations=relations, strata=tuple(strata)), namer.aggregates


@dataclass
class _Namer:
    program: Program
    relations: dict[str, Relation] = field(default_factory=dict)
    aggregates: dict[str, GroupedAggregate] = field(default_factory=dict)
    waiting: list[Stratum] = field(default_factory=list)
    levels: Levels = field(default_factory=Levels)
    ids: RuleIds = field(init=False)

    def __post_init__(self) -> None:
        self.ids = RuleIds(self.program)

    def take_strata(self) -> list[Stratum]:
        """Remove and return the strata made since the last call, in their order."""
        made, self.waiting = self.waiting, []
        return made

    def rules(self, rule: Rule, stratum: Stratum) -> list[Rule]:
        """Return the rules that a rule becomes; the first of them keeps its id."""
        flat = flatten_rule(rule, self.program)
        found = [literal for literal in flat.body if _aggregate(literal) is not None]
        alternatives = sum(_has_two_cases(_aggregate_of(literal)) for literal in found)
        if not found or alternatives > _MOST_ALTERNATIVES or _reads_own(found, stratum):
            return [rule]
        done: list[Rule] = []
        open_rules = [replace(rule, head=flat.head, body=flat.body)]
        while open_rules:
            current = open_rules.pop()
            place = self.next_aggregate(current, stratum)
            if place is None:
                if any(_aggregate(literal) is not None for literal in current.body):
                    return [rule]
                done.append(current)
            else:
                open_rules.extend(self.alternatives(current, place, stratum))
        return [
            replace(made, id=made.id if not number else self.ids.take()) for number, made in enumerate(done)
        ]

    def next_aggregate(self, rule: Rule, stratum: Stratum) -> int | None:
        """Return the place of an aggregate whose groups are known, or None."""
        for place, literal in enumerate(rule.body):
            aggregate = _aggregate(literal)
            if aggregate is None or not aggregate.body:
                continue
            is_grouped = variables_of(aggregate) <= bound_variables(aggregate.body)
            if is_grouped or self.outside(rule, aggregate, stratum) is not None:
                return place
        return None

    def outside(self, rule: Rule, aggregate: Aggregate, stratum: Stratum) -> tuple[Literal, ...] | None:
        """Return literals of earlier strata that bind the outer variables of an aggregate, or None."""
        earlier = [x for x in rule.body if isinstance(x, Atom) and x.relation not in stratum.relations]
        plain = [x for x in rule.body if isinstance(x, Constraint | Generator) and _aggregate(x) is None]
        bound = bound_variables((*earlier, *plain))
        if not variables_of(aggregate) <= bound:
            return None
        usable = [x for x in plain if variables_of(x) <= bound]
        return (*earlier, *usable)

    def alternatives(self, rule: Rule, place: int, stratum: Stratum) -> Iterator[Rule]:
        """Yield the rule that reads an aggregate from its relation, and one for empty groups with a value."""
        literal = rule.body[place]
        assert isinstance(literal, Constraint)
        aggregate = _aggregate_of(literal)
        assert isinstance(literal.left, Variable)
        if aggregate.negates:
            none = NegatedAtom(self.nonempty(rule, aggregate, stratum), span=aggregate.span)
            yield replace(
                rule,
                body=(
                    *rule.body[:place],
                    none,
                    replace(literal, right=_empty_value(aggregate)),
                    *rule.body[place + 1 :],
                ),
            )
            return
        grouped = self.grouped(rule, aggregate, stratum)
        types = dict(zip(grouped.group_names, grouped.group_types, strict=True))
        group = tuple(Variable(name, type_, span=aggregate.span) for name, type_ in types.items())
        before, after = rule.body[:place], rule.body[place + 1 :]
        read = Atom(grouped.relation, (*group, literal.left), span=aggregate.span)
        yield replace(rule, body=(*before, read, *after), plan=_plan_with(rule, before))
        if grouped.some is not None:
            empty = Atom(grouped.some, group, span=aggregate.span)
            value = replace(literal, right=_empty_value(aggregate))
            none = NegatedAtom(empty, span=aggregate.span)
            asked = _ask_separator(aggregate)
            yield replace(rule, body=(*before, none, *asked, value, *after))

    def grouped(self, rule: Rule, aggregate: Aggregate, stratum: Stratum) -> GroupedAggregate:
        """Return the relation of an aggregate; it is made, with its stratum, on first use."""
        finer = self.levels.finer(aggregate)
        if finer is not None:
            aggregate = self.on_finer(rule, *finer, stratum)
        types, body = self.bound_body(rule, aggregate, stratum)
        names = tuple(types)
        digest = content_digest((aggregate, body))
        relation = f"{aggregate.functor}/{digest}"
        known = self.aggregates.get(relation)
        if known is not None:
            return known
        some = f"some/{digest}" if _has_empty_value(aggregate) else None
        is_asked = len(body) > len(aggregate.body)
        outer = body[0].relation if is_asked and isinstance(body[0], Atom) else None
        grouped = GroupedAggregate(relation, some, aggregate, names, tuple(types.values()), outer)
        self.aggregates[relation] = grouped
        columns = tuple(Column(name, type_) for name, type_ in types.items())
        self.relations[relation] = Relation(
            relation, (*columns, Column("value", aggregate.type)), span=aggregate.span
        )
        if some is not None:
            self.relations[some] = Relation(some, columns, span=aggregate.span)
        group = tuple(Variable(name, type_, span=aggregate.span) for name, type_ in types.items())
        targets = () if aggregate.target is None else (aggregate.target,)
        head = Atom(relation, (*group, *targets), span=aggregate.span)
        internal = Stratum((relation,) if some is None else (relation, some), (), (), is_recursive=False)
        # An aggregate inside the body becomes a relation too; its stratum comes before this one.
        rules = tuple(self.rules(Rule(self.ids.take(), head, body, span=rule.span), internal))
        self.waiting.append(replace(internal, rules=rules))
        return grouped

    def bound_body(
        self, rule: Rule, aggregate: Aggregate, stratum: Stratum
    ) -> tuple[dict[str, str], tuple[Literal, ...]]:
        """Return the group's variables with their types, and the aggregate's body, which binds them."""
        names = sorted(variables_of(aggregate))
        body = aggregate.body
        types = {v.name: v.type for v in deep_variables((*rule.body, *body))}
        if not bound_variables(body).issuperset(names):
            outside = self.outside(rule, aggregate, stratum)
            assert outside is not None
            body = (self.demand(names, types, outside, aggregate), *body)
        return {name: types[name] for name in names}, body

    def nonempty(self, rule: Rule, aggregate: Aggregate, stratum: Stratum) -> Atom:
        """Return an atom of the relation of the groups for which a negated conjunction fails."""
        types, body = self.bound_body(rule, aggregate, stratum)
        relation = f"some/{content_digest(body)}"
        group = tuple(Variable(name, type_, span=aggregate.span) for name, type_ in types.items())
        head = Atom(relation, group, span=aggregate.span)
        if relation not in self.relations:
            columns = tuple(Column(name, type_) for name, type_ in types.items())
            self.relations[relation] = Relation(relation, columns, span=aggregate.span)
            internal = Stratum((relation,), (), (), is_recursive=False)
            rules = tuple(self.rules(Rule(self.ids.take(), head, body, span=rule.span), internal))
            self.waiting.append(replace(internal, rules=rules))
        return head

    def on_finer(self, rule: Rule, own: Level, finer: Level, stratum: Stratum) -> Aggregate:
        """Return an aggregate over the values of finer groups."""
        grouped = self.grouped(rule, finer.aggregate, stratum)
        names = {place: name for name, place in own.places.items()}
        aggregate = own.aggregate
        group = tuple(
            Variable(names[finer.places[name]], type_, span=aggregate.span)
            for name, type_ in zip(grouped.group_names, grouped.group_types, strict=True)
        )
        value = Variable("%finer", aggregate.type, span=aggregate.span)
        body = (Atom(grouped.relation, (*group, value), span=aggregate.span),)
        kind = self.program.kind_of(aggregate.type)
        return replace(aggregate, functor=own.functor, kind=kind, target=value, body=body)

    def demand(
        self,
        names: Sequence[str],
        types: Mapping[str, str],
        outside: tuple[Literal, ...],
        aggregate: Aggregate,
    ) -> Atom:
        """Return an atom of the relation with the outer bindings of an aggregate."""
        relation = f"outer/{content_digest((names, outside))}"
        group = tuple(Variable(name, types[name], span=aggregate.span) for name in names)
        head = Atom(relation, group, span=aggregate.span)
        if relation not in self.relations:
            columns = tuple(Column(name, types[name]) for name in names)
            self.relations[relation] = Relation(relation, columns, span=aggregate.span)
            rule = Rule(self.ids.take(), head, outside, span=aggregate.span)
            self.waiting.append(Stratum((relation,), (rule,), (), is_recursive=False))
        return head


def _plan_with(rule: Rule, before: Sequence[Literal]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the orders of `.plan` for a rule with one more atom after these literals, to be joined last.

    `.plan` numbers the atoms from 1, in the order of the text.
    """
    made = 1 + sum(isinstance(literal, Atom) for literal in before)
    return tuple((number, (*(atom + (atom >= made) for atom in order), made)) for number, order in rule.plan)


def _flat_aggregates(program: Program) -> Iterator[Aggregate]:
    """Yield the aggregates of all rules over earlier strata, with flat bodies."""
    for stratum in program.strata:
        for rule in stratum.rules:
            for literal in flatten_rule(rule, program).body:
                aggregate = _aggregate(literal)
                if aggregate is not None and not aggregate.negates and not _reads_own([literal], stratum):
                    yield aggregate


def _aggregate(literal: Literal) -> Aggregate | None:
    """Return the aggregate of a flat equality, None for other literals."""
    if isinstance(literal, Constraint) and isinstance(literal.right, Aggregate):
        return literal.right
    return None


def _aggregate_of(literal: Literal) -> Aggregate:
    aggregate = _aggregate(literal)
    assert aggregate is not None
    return aggregate


def _reads_own(literals: Sequence[Literal], stratum: Stratum) -> bool:
    return not relations_read(literals).isdisjoint(stratum.relations)


def _has_empty_value(aggregate: Aggregate) -> bool:
    return aggregate.functor in ("count", "sum") or aggregate.init is not None


def _has_two_cases(aggregate: Aggregate) -> bool:
    """Say whether a rule with the aggregate becomes two: with an empty group, and with another."""
    return _has_empty_value(aggregate) and not aggregate.negates


def _ask_separator(aggregate: Aggregate) -> tuple[Literal, ...]:
    """Return a literal that fails where the separator of an empty concatenation has no value."""
    separator = aggregate.init
    if aggregate.functor != CONCAT or separator is None or isinstance(separator, Constant):
        return ()
    asked = Variable(f"%separator/{content_digest(aggregate)}", separator.type, span=separator.span)
    return (Constraint("=", Kind.SYMBOL, asked, separator, span=separator.span),)


def _empty_value(aggregate: Aggregate) -> Term:
    """Return the value of an aggregate over an empty group."""
    if aggregate.functor == CONCAT:
        return Constant("", aggregate.type, span=aggregate.span)
    if aggregate.init is not None:
        return aggregate.init
    is_float = aggregate.functor == "sum" and aggregate.kind is Kind.FLOAT
    return Constant(0.0 if is_float else 0, aggregate.type, span=aggregate.span)
