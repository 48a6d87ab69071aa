"""From a rule to relational algebra."""
# ruff: noqa: RUF002 - the symbols of relational algebra

from dataclasses import field

from tidelog.algebra.nodes import (
    Antijoin,
    Expand,
    Expression,
    Extend,
    Group,
    NaturalJoin,
    Outer,
    Project,
    Rename,
    Scan,
    Select,
    TakeApart,
    Unit,
    schema_of,
)
from tidelog.dataclass import dataclass
from tidelog.plan.flatten import flatten_body, flatten_rule
from tidelog.program.binding import bound_variables
from tidelog.program.nodes import (
    Aggregate,
    Atom,
    BranchTerm,
    Constant,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Program,
    RecordTerm,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from tidelog.program.walk_nodes import aggregates_in, terms_of, variables_of


def translate_rule(rule: Rule, program: Program) -> Project:
    """Return an expression for the facts that the rule derives, under the head's columns.

    r(x, 1) :- edge(x, x), !edge(x, 5).     π[x, 1](π[x](σ[x = y](edge)) ▷ π[x](σ[y = 5](edge)))
    """
    head, body = rule.head, rule.body
    if any(True for _ in aggregates_in((head,))):
        flat = flatten_rule(rule, program)
        head, body = flat.head, flat.body
    names = (column.name for column in program.relations[head.relation].columns)
    terms = tuple(zip(names, head.terms, strict=True))
    translator = _Translator(program, current=Unit(program.types))
    return Project(terms, translator.body(flatten_body(body, program)))


@dataclass
class _Translator:
    """Translates one body; `keeps_all` keeps a column for every wildcard, so that rows stay apart."""

    program: Program
    current: Expression
    keeps_all: bool = False
    bound: set[str] = field(default_factory=set)
    pending: list[Literal] = field(default_factory=list)
    made: int = 0

    def body(self, body: tuple[Literal, ...]) -> Expression:
        """Return the expression of a flat body that begins with `current`."""
        self.bound = set(self.current.columns)
        atoms = [literal for literal in body if isinstance(literal, Atom)]
        self.pending = [literal for literal in body if not isinstance(literal, Atom)]
        while atoms:
            if self.bound:
                self.settle()
            shared = [atom for atom in atoms if not self.bound.isdisjoint(variables_of(atom))]
            atom = (shared or atoms)[0]
            atoms = [other for other in atoms if other is not atom]
            self.join(atom)
        self.settle()
        assert not self.pending, f"a checked body binds everything: {self.pending}"
        return self.current

    def join(self, atom: Atom) -> None:
        """Join the facts of an atom, with the constraints on its variables alone applied first."""
        facts = self.facts(atom, keeps_all=self.keeps_all)
        inside = variables_of(atom)
        for literal in list(self.pending):
            if _is_test(literal) and variables_of(literal) <= inside:
                self.pending.remove(literal)
                assert isinstance(literal, Constraint)
                facts = _select(literal, facts)
        self.bound |= inside
        self.current = facts if isinstance(self.current, Unit) else NaturalJoin(self.current, facts)

    def facts(self, atom: Atom, *, keeps_all: bool) -> Expression:
        """Return the facts that an atom matches, under the names of its variables."""
        relation = self.program.relations[atom.relation]
        columns = [column.name for column in relation.columns]
        constraints: list[Constraint] = []
        first: dict[str, str] = {}
        for column, term in zip(columns, atom.terms, strict=True):
            here = Variable(column, term.type, span=term.span)
            match term:
                case Constant():
                    constraints.append(self.equality(here, term))
                case Variable(name=name) if name in first:
                    constraints.append(self.equality(Variable(first[name], term.type, span=term.span), here))
                case Variable(name=name):
                    first[name] = column
                case Wildcard() if keeps_all:
                    first[self.fresh("_")] = column
                case _:
                    assert isinstance(term, Wildcard), f"flat atoms hold no {term}"
        facts: Expression = Scan(relation, self.program.types)
        if constraints:
            facts = Select(tuple(constraints), facts)
        kept = list(first.values())
        if kept != columns:
            types = dict(zip(columns, (term.type for term in atom.terms), strict=True))
            facts = Project(
                tuple((name, Variable(name, types[name], span=atom.span)) for name in kept), facts
            )
        renamed = tuple((column, name) for name, column in first.items())
        return facts if all(old == new for old, new in renamed) else Rename(renamed, facts)

    def settle(self) -> None:
        """Apply every pending literal that the bound variables allow, until none is left to apply."""
        place = 0
        while place < len(self.pending):
            literal = self.pending.pop(place)
            if self.apply(literal):
                # What is bound now may allow a literal that was passed over.
                place = 0
            else:
                self.pending.insert(place, literal)
                place += 1

    def apply(self, literal: Literal) -> bool:
        """Apply a literal if all it needs is bound; say whether it was."""
        match literal:
            case NegatedAtom():
                if not variables_of(literal.atom) <= self.bound:
                    return False
                self.current = Antijoin(self.current, self.facts(literal.atom, keeps_all=False))
                return True
            case Generator():
                return self.expand(literal)
            case Constraint(right=Aggregate() as aggregate):
                return self.group(literal, aggregate)
            case Constraint(right=RecordTerm() | BranchTerm() as pattern):
                return self.pattern(literal, pattern)
            case Constraint():
                return self.constrain(literal)
            case Atom():
                raise AssertionError("atoms are joined")

    def constrain(self, literal: Constraint) -> bool:
        if variables_of(literal) <= self.bound:
            self.current = _select(literal, self.current)
            return True
        for free, term in ((literal.left, literal.right), (literal.right, literal.left)):
            if literal.op == "=" and isinstance(free, Variable) and variables_of(term) <= self.bound:
                self.extend(free.name, term)
                return True
        return False

    def extend(self, name: str, term: Term) -> None:
        self.current = Extend(name, term, self.current)
        self.bound.add(name)

    def pattern(self, literal: Constraint, pattern: RecordTerm | BranchTerm) -> bool:
        variable = literal.left
        assert isinstance(variable, Variable)
        if variable.name in self.bound:
            self.current = TakeApart(variable.name, pattern, self.current)
            self.bound |= variables_of(pattern)
            return True
        has_value = variables_of(pattern) <= self.bound and not any(
            isinstance(part, Wildcard) for part in pattern.terms
        )
        if has_value:
            self.extend(variable.name, pattern)
        return has_value

    def expand(self, literal: Generator) -> bool:
        if not variables_of(*terms_of(literal)[1:]) <= self.bound:
            return False
        name = self.free_name(literal.target)
        self.current = Expand(name, literal, self.current)
        self.compare_if_bound(literal.target, name)
        return True

    def group(self, literal: Constraint, aggregate: Aggregate) -> bool:
        outer = variables_of(aggregate)
        if not outer <= self.bound:
            return False
        start: Expression = Unit(self.program.types)
        if not outer <= bound_variables(aggregate.body):
            types = schema_of(self.current)
            start = Outer(tuple((name, types[name]) for name in sorted(outer)))
        body = _Translator(self.program, start, keeps_all=True).body(aggregate.body)
        name = self.free_name(literal.left)
        self.current = Group(name, aggregate, tuple(sorted(outer)), body, self.current)
        self.compare_if_bound(literal.left, name)
        return True

    def free_name(self, target: Term) -> str:
        """Return the variable to bind for a target: its own unless that is bound already."""
        assert isinstance(target, Variable)
        return self.fresh(target.name) if target.name in self.bound else target.name

    def compare_if_bound(self, target: Term, name: str) -> None:
        """Note that `name` is bound; if it stands in for a bound target, both must be equal."""
        assert isinstance(target, Variable)
        self.bound.add(name)
        if name != target.name:
            made = Variable(name, target.type, span=target.span)
            self.current = _select(self.equality(target, made), self.current)

    def fresh(self, name: str) -> str:
        self.made += 1
        return f"{name}%{self.made}"

    def equality(self, left: Term, right: Term) -> Constraint:
        return Constraint("=", self.program.kind_of(left.type), left, right, span=right.span)


def _is_test(literal: Literal) -> bool:
    """Say whether a literal is a constraint that a selection can apply once its variables are bound."""
    if not isinstance(literal, Constraint):
        return False
    return not any(
        isinstance(term, Aggregate | RecordTerm | BranchTerm) for term in (literal.left, literal.right)
    )


def _select(constraint: Constraint, source: Expression) -> Select:
    if isinstance(source, Select):
        return Select((*source.constraints, constraint), source.source)
    return Select((constraint,), source)
