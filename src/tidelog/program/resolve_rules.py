"""Flat rules as written become rules with types."""

import hashlib
from collections.abc import Sequence
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.binding import bound_variables
from tidelog.program.declare_relations import Declarations
from tidelog.program.flat_terms import bodies, inside, literals_of, terms_of
from tidelog.program.flatten_bodies import NONE, Alternative, FlatLiteral, direct_names
from tidelog.program.flatten_rules import PLAIN, ConjunctiveRule
from tidelog.program.infer_types import infer_types
from tidelog.program.resolve_terms import TermPlace, TermResolver
from tidelog.program.scope_aggregates import scope_aggregates
from tidelog.program.suggest import counted
from tidelog.program.type_environment import UNKNOWN
from tidelog.program.walk_nodes import aggregates_in, needed_variables, relations_read
from tidelog.program.written_names import made_name
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_variables
from tidelog.values import Kind

Orders = tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class TypedRule:
    """A rule with types; for a subsumption `greater` is set and `head` is `less`."""

    head: nodes.Atom
    body: tuple[nodes.Literal, ...]
    greater: nodes.Atom | None = None
    plan: tree.PlanOrder | None = None
    span: Span = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class TypedRules:
    """All rules of a program, and the relations made for aggregates over disjunctions."""

    rules: tuple[TypedRule, ...]
    made_relations: tuple[nodes.Relation, ...]


def resolve_rules(
    rules: Sequence[ConjunctiveRule], declarations: Declarations
) -> tuple[TypedRules, list[Diagnostic]]:
    """Return the rules with the type of every term, and what is wrong with names and types.

    A wrong term has the type UNKNOWN, so that later checks can still look at its rule.
    """
    typed: list[TypedRule] = []
    made: list[nodes.Relation] = []
    diagnostics: list[Diagnostic] = []
    constants: _RuleResolver | None = None
    for rule in rules:
        if _is_constant(rule):
            # Programs hold facts by the thousand, and constants need nothing to be inferred.
            constants = constants or _RuleResolver(rule, declarations, ())
            typed.append(TypedRule(constants.atom(rule.head, TermPlace.WRITTEN), (), span=rule.span))
            continue
        resolver = _RuleResolver(scope_aggregates(rule), declarations, made)
        typed.append(resolver.rule())
        typed.extend(resolver.made_rules())
        made.extend(resolver.made_relations)
        diagnostics.extend(resolver.inference.diagnostics)
        diagnostics.extend(resolver.diagnostics)
    if constants is not None:
        diagnostics.extend(constants.diagnostics)
    return TypedRules(tuple(typed), tuple(made)), diagnostics


@dataclass(frozen=True, slots=True)
class _Lifted:
    """An alternative of an aggregate's body that becomes a rule of a relation made for it.

    `around` are the bodies the aggregate stands in; they are complete once the rule is.
    """

    head: nodes.Atom
    body: tuple[nodes.Literal, ...]
    outer: tuple[str, ...]
    around: tuple[list[nodes.Literal], ...]


class _RuleResolver(TermResolver):
    """Resolves one rule: its literals, aggregates and generators."""

    def __init__(
        self, rule: ConjunctiveRule, declarations: Declarations, made_before: Sequence[nodes.Relation]
    ) -> None:
        super().__init__(declarations, infer_types(rule, declarations))
        self.flat = rule
        self.made_before = made_before
        self.made_relations: list[nodes.Relation] = []
        self.lifted: list[_Lifted] = []
        self.bodies: list[list[nodes.Literal]] = [[]]
        direct = [term for literal in literals_of(rule) for term in terms_of(literal)]
        self.visible = direct_names(direct)

    def rule(self) -> TypedRule:
        """Return the rule."""
        flat = self.flat
        place = TermPlace.WRITTEN if flat.greater is None else TermPlace.READ
        head = self.atom(flat.head, place)
        greater = None if flat.greater is None else self.atom(flat.greater, TermPlace.READ)
        for literal in flat.body:
            self.literal_into_body(literal)
        return TypedRule(head, tuple(self.bodies[0]), greater, flat.plan, span=flat.span)

    # --- literals ---

    def atom(self, atom: tree.Atom, place: TermPlace) -> nodes.Atom:
        """Return an atom; of an undeclared relation or wrong arity nothing is known of its terms."""
        relation = self.declarations.relations.get(atom.relation)
        wanted: list[str | None] = [UNKNOWN] * len(atom.terms)
        if relation is not None and relation.arity == len(atom.terms):
            wanted = [column.type for column in relation.columns]
        terms = tuple(self.term(part, want, place) for part, want in zip(atom.terms, wanted, strict=True))
        return nodes.Atom(atom.relation, terms, span=atom.span)

    def literal_into_body(self, literal: FlatLiteral) -> None:
        """Add a literal, after the generators that its terms need, to the current body."""
        body = self.bodies[-1]
        match literal:
            case tree.Atom():
                body.append(self.atom(literal, TermPlace.READ))
            case tree.Negation(element=tree.Atom() as atom):
                body.append(nodes.NegatedAtom(self.atom(atom, TermPlace.TESTED), span=literal.span))
            case tree.Constraint():
                self.constraint(literal.op, literal.left, literal.right, literal.span)
            case _:
                raise AssertionError(literal)

    def constraint(self, op: str, left: tree.Term, right: tree.Term, span: Span) -> None:
        """Add a constraint to the current body; equal records and branches are compared by part."""
        if op == "=" and self.split_equality(left, right, span):
            return
        if op in ("match", "contains", "!match", "!contains"):
            expected: str | None = Kind.SYMBOL.value
        else:
            known = self.inference.type_of(left) or self.inference.type_of(right)
            expected = None if known is None else known.type
            if expected is None and not any(_needs_type(side) for side in (left, right)):
                expected = Kind.NUMBER.value
        if op == "=":
            for target, source in ((left, right), (right, left)):
                if isinstance(source, tree.Application) and source.functor == "range":
                    self.generator(target, source, expected, span)
                    return
                if isinstance(source, tree.Aggregate) and isinstance(target, tree.Wildcard):
                    self.any_value(source, expected, span)
                    return
        typed_left = self.term(left, expected, TermPlace.COMPARED)
        typed_right = self.term(right, expected, TermPlace.COMPARED)
        kind = self.env.kind(typed_left.type if typed_left.type != UNKNOWN else typed_right.type)
        if op in ("<", "<=", ">", ">=") and kind in (Kind.RECORD, Kind.ADT):
            message = f"`{op}` does not order values of `{typed_left.type}`"
            self.report("type-clash", message, span, "compare their members; `=` and `!=` compare all values")
        self.bodies[-1].append(nodes.Constraint(op, kind, typed_left, typed_right, span=span))

    def any_value(self, source: tree.Aggregate, expected: str | None, span: Span) -> None:
        """Add `_ = aggregate` to the current body: the aggregate has a value, whichever."""
        self.made += 1
        value = self.aggregate(source, expected)
        variable = nodes.Variable(made_name("_", self.made), value.type, span=span)
        self.bodies[-1].append(nodes.Constraint("=", self.env.kind(value.type), variable, value, span=span))

    def split_equality(self, left: tree.Term, right: tree.Term, span: Span) -> bool:
        """Add `a = c, b = d` for `[a, b] = [c, d]`, so that each side binds parts of the other."""
        if isinstance(left, tree.RecordTerm) and isinstance(right, tree.RecordTerm):
            same = len(left.terms) == len(right.terms)
        elif isinstance(left, tree.BranchTerm) and isinstance(right, tree.BranchTerm):
            same = left.name == right.name and len(left.terms) == len(right.terms) > 0
        else:
            return False
        if not same or any(isinstance(part, tree.Wildcard) for part in (*left.terms, *right.terms)):
            return False
        for one, other in zip(left.terms, right.terms, strict=True):
            self.constraint("=", one, other, span)
        return True

    def generator(
        self, target: tree.Term, source: tree.Application, expected: str | None, span: Span
    ) -> None:
        """Add `target = range(...)` to the current body."""
        functor = self.application(source, expected)
        assert isinstance(functor, nodes.Application)
        if functor.type == UNKNOWN:
            self.term(target, expected, TermPlace.COMPARED)
            return
        start, stop, *step = functor.terms
        typed = self.term(target, functor.type, TermPlace.COMPARED)
        self.bodies[-1].append(
            nodes.Generator(typed, functor.kind, start, stop, step[0] if step else None, span=span)
        )

    def generated(self, term: tree.Application, expected: str | None) -> nodes.Term:
        """Return the variable that takes the values of a `range` inside another term."""
        self.made += 1
        functor = self.application(term, expected)
        variable = nodes.Variable(made_name("range", self.made), functor.type, span=term.span)
        if functor.type != UNKNOWN:
            assert isinstance(functor, nodes.Application)
            start, stop, *step = functor.terms
            self.bodies[-1].append(
                nodes.Generator(
                    variable, functor.kind, start, stop, step[0] if step else None, span=term.span
                )
            )
        return variable

    # --- aggregates ---

    def aggregate(self, term: tree.Aggregate, expected: str | None) -> nodes.Term:
        """Return an aggregate with its body; of several alternatives a relation is made."""
        direct = list(inside(term))
        deep = list(dict.fromkeys(v.name for v in deep_variables(direct)))
        outer = tuple(name for name in deep if name in self.visible)
        around = self.visible
        self.visible |= direct_names(direct)
        alternatives = bodies(term)
        if len(alternatives) == 1:
            self.bodies.append([])
            for literal in alternatives[0]:
                self.literal_into_body(literal)
        elif not alternatives:
            one, zero = (nodes.Constant(value, Kind.NUMBER.value, span=term.span) for value in (1, 0))
            self.bodies.append([nodes.Constraint("=", Kind.NUMBER, one, zero, span=term.span)])
        else:
            atom = self.lift(term, alternatives, outer)
            self.bodies.append([atom])
        target, init = self.aimed(term)
        body = tuple(self.bodies.pop())
        self.visible = around
        kind = Kind.NUMBER if target is None else self.env.kind(target.type)
        result = self.aggregate_type(term, target)
        self.fit(result, expected, term.span)
        functor = nodes.CONCAT if self.is_concat(term) else term.functor
        negates = functor == NONE
        if negates:
            functor = "count"
        settled = self.settled(result, expected)
        return nodes.Aggregate(
            functor, kind, target, body, outer, settled, init, negates=negates, span=term.span
        )

    def is_concat(self, term: tree.Aggregate) -> bool:
        """Say whether an aggregate joins texts; a functor of that name goes before it."""
        is_named = term.functor == f"@{nodes.CONCAT}" and nodes.CONCAT not in self.declarations.functors
        return is_named and term.init is not None

    def aimed(self, term: tree.Aggregate) -> tuple[nodes.Term | None, nodes.Term | None]:
        """Return the target and the init of an aggregate."""
        if term.functor.startswith("@"):
            return self.user_aimed(term)
        if term.functor in ("count", NONE):
            return None, None
        assert term.target is not None, "the parser asks for a target"
        known = self.inference.type_of(term.target)
        if known is None and term.functor == "mean":
            return self.term(term.target, Kind.FLOAT.value, TermPlace.COMPUTED), None
        target = self.term(term.target, None if known is None else known.type, TermPlace.COMPUTED)
        kind = self.env.kind(target.type)
        fits = kind.is_numeric or (kind is Kind.SYMBOL and term.functor in ("min", "max"))
        if target.type != UNKNOWN and not fits:
            self.report(
                "type-clash",
                f"`{term.functor}` does not apply to `{target.type}`",
                target.span,
                "aggregate a number; `min` and `max` also take symbols",
            )
        return target, None

    def user_aimed(self, term: tree.Aggregate) -> tuple[nodes.Term | None, nodes.Term | None]:
        """Return the target and the init of a user aggregate, whose functor takes (so far, next)."""
        name = term.functor.removeprefix("@")
        declared = self.declarations.functors.get(name)
        wanted: tuple[str, ...] = (UNKNOWN, UNKNOWN)
        if self.is_concat(term):
            wanted = (Kind.SYMBOL.value, Kind.SYMBOL.value)
        elif declared is not None and term.init is None and len(declared.parameters) == 1:
            wanted = (UNKNOWN, *declared.parameters)
        elif declared is None:
            self.undeclared_functor(name, term.span)
        elif len(declared.parameters) != 2 or term.init is None:
            self.report(
                "wrong-operand-count",
                f"`@{name}` takes {counted(len(declared.parameters), 'operand')};"
                " an aggregate needs one that takes two",
                term.span,
                "it gets the value so far and the next target; without an init it is a class and takes one",
            )
        else:
            wanted = declared.parameters
        init = None if term.init is None else self.term(term.init, wanted[0], TermPlace.COMPUTED)
        target = None if term.target is None else self.term(term.target, wanted[1], TermPlace.COMPUTED)
        return target, init

    def aggregate_type(self, term: tree.Aggregate, target: nodes.Term | None) -> str:
        """Return the type of the aggregate's value."""
        if term.functor in ("count", NONE):
            return Kind.NUMBER.value
        if term.functor == "mean":
            return Kind.FLOAT.value
        if self.is_concat(term):
            return Kind.SYMBOL.value
        if term.functor.startswith("@"):
            declared = self.declarations.functors.get(term.functor.removeprefix("@"))
            return UNKNOWN if declared is None else declared.result
        if target is None or target.type == UNKNOWN:
            return UNKNOWN
        return self.env.kind(target.type).value if term.functor == "sum" else target.type

    def lift(
        self, term: tree.Aggregate, alternatives: list[Alternative], outer: tuple[str, ...]
    ) -> nodes.Atom:
        """Return an atom of a new relation that holds the bindings of all alternatives."""
        variables: dict[str, tree.Variable] = {}
        for literal in (literal for alternative in alternatives for literal in alternative):
            own = direct_names(list(terms_of(literal)))
            for part in terms_of(literal):
                for variable in deep_variables((part,)):
                    if variable.name in own or variable.name in outer:
                        variables.setdefault(variable.name, variable)
        name = self.name_of_made()
        terms = tuple(self.variable(variable, None, TermPlace.READ) for variable in variables.values())
        columns = tuple(nodes.Column(name, term.type) for name, term in zip(variables, terms, strict=True))
        self.made_relations.append(nodes.Relation(name, columns, span=term.span))
        atom = nodes.Atom(name, terms, span=term.span)
        needed = tuple(variable for variable in outer if variable in variables)
        around = tuple(self.bodies)
        for alternative in alternatives:
            self.bodies.append([])
            for literal in alternative:
                self.literal_into_body(literal)
            self.lifted.append(_Lifted(atom, tuple(self.bodies.pop()), needed, around))
        return atom

    def name_of_made(self) -> str:
        """Return a name that is the same for the same rule in every program, so that rules come and go."""
        place = len(self.made_relations)
        digest = hashlib.blake2b(repr((self.flat.head, self.flat.body, place)).encode(), digest_size=4)
        name = f"_aggregate_{digest.hexdigest()}"
        taken = {relation.name for relation in (*self.made_before, *self.made_relations)}
        while name in taken or name in self.declarations.relations:
            name += "_"
        return name

    def made_rules(self) -> list[TypedRule]:
        """Return the rules of the relations made for aggregates.

        A variable from outside that an alternative only tests is bound by what stands around the
        aggregate: for `r(z) :- p(z), 2 = count : { a(x), x < z ; b(x) }` the first rule is
        `_aggregate_1f(x, z) :- a(x), x < z, p(z)`. Other aggregates are read for that only if nothing else
        binds the variable.
        """
        rules = []
        for lifted in self.lifted:
            body = lifted.body
            around = [each for part in lifted.around for each in part]
            plain = [each for each in around if not any(True for _ in aggregates_in((each,)))]
            others = [each for each in around if lifted.head.relation not in relations_read((each,))]
            for candidates in (plain, others):
                if not bound_variables(body).issuperset(lifted.outer):
                    body = (*lifted.body, *_binding_part(candidates))
            rules.append(TypedRule(lifted.head, body, span=self.flat.span))
        return rules


def _is_constant(rule: ConjunctiveRule) -> bool:
    """Say whether a rule is a fact of plain constants."""
    is_fact = not rule.body and rule.greater is None
    return is_fact and all(isinstance(term, PLAIN) for term in rule.head.terms)


def _binding_part(body: list[nodes.Literal]) -> list[nodes.Literal]:
    """Return the positive atoms of a body, and what can be evaluated with them."""
    plain = [literal for literal in body if not isinstance(literal, nodes.NegatedAtom)]
    bound = bound_variables(plain)
    return [
        literal
        for literal in plain
        if isinstance(literal, nodes.Atom)
        or all(variable.name in bound for variable in needed_variables((literal,)))
    ]


def _needs_type(term: tree.Term) -> bool:
    return isinstance(term, tree.RecordTerm | tree.NilLiteral | tree.Variable | tree.Wildcard)
