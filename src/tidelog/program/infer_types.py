"""Types of the variables of a rule."""

from collections.abc import Iterator
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program import flatten_bodies
from tidelog.program.conversion_hints import conversion_hint
from tidelog.program.declare_relations import Declarations
from tidelog.program.flat_terms import bodies, inside, terms_of
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.functor_types import FUNCTORS, Conversion, Fixed, Overloaded
from tidelog.program.type_environment import UNKNOWN
from tidelog.program.written_names import written_name
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import subterms
from tidelog.values import PRIMITIVES, Kind


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a term's type.

    A weak type comes from a constant or a functor's result: it says the kind, and fits every type
    of that kind.
    """

    type: str
    is_weak: bool
    span: Span = field(compare=False)


def infer_types(rule: ConjunctiveRule, declarations: Declarations) -> "Inference":
    """Return the types of the rule's variables and terms, with the clashes found.

    A variable's type is the meet of the columns it is read from and of what it equals. Where
    nothing but constants and functors says more, the columns it is written to decide, and a plain
    number literal is a number at last.
    """
    inference = Inference(rule, declarations)
    inference.run()
    return inference


class Inference:
    """The fixpoint over everything a rule says about types.

    Afterwards `types` has the variables, `type_of` reads any term (plain number literals say
    nothing) and `diagnostics` has the clashes; a variable that clashed has the type UNKNOWN.
    """

    def __init__(self, rule: ConjunctiveRule, declarations: Declarations) -> None:
        self.declarations = declarations
        self.env = declarations.types
        self.types: dict[str, Known] = {}
        self.diagnostics: list[Diagnostic] = []
        self.clashed: set[str] = set()
        self.changed = False
        self.sources: list[tree.Atom] = [rule.greater, rule.head] if rule.greater is not None else []
        self.sinks: list[tree.Atom] = [] if rule.greater is not None else [rule.head]
        self.constraints: list[tree.Constraint] = []
        self.terms: list[tree.Term] = []
        for atom in (*self.sources, *self.sinks):
            self.terms.extend(atom.terms)
        self.collect(rule.body)
        for aggregate in self.find_aggregates():
            for body in bodies(aggregate):
                self.collect(body)
        self.variables = {
            part.name for term in self.terms for part in subterms(term) if isinstance(part, tree.Variable)
        }
        self.literals_are_numbers = False

    def collect(self, body: tuple[tree.Atom | tree.Negation | tree.Constraint, ...]) -> None:
        """Sort the literals of a body by what they say about types."""
        for literal in body:
            self.terms.extend(terms_of(literal))
            match literal:
                case tree.Atom():
                    self.sources.append(literal)
                case tree.Negation(element=tree.Atom() as atom):
                    self.sinks.append(atom)
                case tree.Constraint():
                    self.constraints.append(literal)
                case _:
                    raise AssertionError(literal)

    def find_aggregates(self) -> Iterator[tree.Aggregate]:
        """Yield all aggregates, outer ones before those inside them."""
        waiting = list(self.terms)
        while waiting:
            for part in subterms(waiting.pop()):
                if isinstance(part, tree.Aggregate):
                    yield part
                    self.terms.extend(t for t in (part.target, part.init) if t is not None)
                    waiting.extend(inside(part))

    def run(self) -> None:
        """Let each group of sayings act only when the stronger ones have said all."""
        if not self.variables:
            return
        self.settle()
        if not self.clashed and self.variables == {n for n, known in self.types.items() if not known.is_weak}:
            return
        self.push_operands()
        self.settle()
        self.push_sinks()
        self.settle()
        self.compare()
        self.settle()
        self.literals_are_numbers = True
        self.settle()
        self.push_operands()
        self.settle()
        self.literals_are_numbers = False
        for name in self.clashed:
            self.types[name] = Known(UNKNOWN, is_weak=True, span=self.types[name].span)

    def settle(self) -> None:
        """Repeat reading columns and equalities until nothing changes."""
        self.changed = True
        while self.changed:
            self.changed = False
            for atom in self.sources:
                self.push_atom(atom, weak=False)
            for constraint in self.constraints:
                if constraint.op == "=":
                    self.equate(constraint.left, constraint.right)

    def push_atom(self, atom: tree.Atom, *, weak: bool) -> None:
        """Push the columns of a relation into the terms of an atom."""
        relation = self.declarations.relations.get(atom.relation)
        if relation is None or relation.arity != len(atom.terms):
            return
        for term, column in zip(atom.terms, relation.columns, strict=True):
            self.push(term, Known(column.type, weak, term.span))

    def push(self, term: tree.Term, known: Known) -> None:
        """Make a term, and what is inside a pattern, have the type."""
        if known.type == UNKNOWN:
            return
        match term:
            case tree.Variable():
                self.meet(term, known)
            case tree.RecordTerm():
                record = self.env.record(known.type)
                if record is not None and len(record.fields) == len(term.terms):
                    for part, member in zip(term.terms, record.fields, strict=True):
                        self.push(part, Known(member.type, known.is_weak, part.span))
            case tree.BranchTerm():
                self.push_branch(term, known)
            case _:
                pass

    def push_branch(self, term: tree.BranchTerm, known: Known) -> None:
        """Push the members of a branch into the terms it holds."""
        declared = self.env.table[known.type]
        for branch in declared.branches:
            if branch.name == term.name and len(branch.fields) == len(term.terms):
                for part, member in zip(term.terms, branch.fields, strict=True):
                    self.push(part, Known(member.type, known.is_weak, part.span))

    def meet(self, variable: tree.Variable, known: Known) -> None:
        """Narrow the type of a variable."""
        name = variable.name
        before = self.types.get(name)
        if before is None:
            self.types[name] = known
            self.changed = True
            return
        if self.literals_are_numbers:
            # By now only variables nothing else speaks of are left for plain literals to decide.
            return
        after = self.combine(before, known)
        if after is None:
            self.clash(variable, before, known)
        elif after != before:
            self.types[name] = after
            self.changed = True

    def combine(self, one: Known, other: Known) -> Known | None:
        """Return what two sayings amount to, or None if they contradict."""
        if one.is_weak or other.is_weak:
            if not self.env.same_root(one.type, other.type):
                return None
            return other if one.is_weak and not other.is_weak else one
        met = self.env.meet(one.type, other.type)
        if met is None:
            return None
        return one if met == one.type else Known(met, is_weak=False, span=other.span)

    def clash(self, variable: tree.Variable, before: Known, known: Known) -> None:
        """Report, once per variable, that it cannot have both types."""
        if variable.name in self.clashed:
            return
        self.clashed.add(variable.name)
        name = written_name(variable.name)
        hint = conversion_hint(self.env, known.type, before.type)
        self.diagnostics.append(
            Diagnostic(
                code="type-clash",
                message=f"`{name}` is used as `{before.type}` and as `{known.type}`",
                span=known.span,
                hint=f"the types have no common subtype; {hint}",
                related=((f"used as `{before.type}` here", before.span),),
            )
        )

    def equate(self, left: tree.Term, right: tree.Term) -> None:
        """Let the two sides of `=` tell each other their types."""
        known = self.type_of(left)
        if known is not None:
            self.push(right, Known(known.type, known.is_weak, right.span))
        known = self.type_of(right)
        if known is not None:
            self.push(left, Known(known.type, known.is_weak, left.span))
        if isinstance(left, tree.RecordTerm) and isinstance(right, tree.RecordTerm):
            for one, other in zip(left.terms, right.terms, strict=False):
                self.equate(one, other)

    def push_sinks(self) -> None:
        """Give variables without a type of their own the columns they are written to."""
        for atom in self.sinks:
            relation = self.declarations.relations.get(atom.relation)
            if relation is None or relation.arity != len(atom.terms):
                continue
            for term, column in zip(atom.terms, relation.columns, strict=True):
                self.push_sink(term, column.type)
        for term in self.terms:
            for part in subterms(term):
                if isinstance(part, tree.UserApplication) and part.name in self.declarations.functors:
                    declared = self.declarations.functors[part.name]
                    for operand, wanted in zip(part.terms, declared.parameters, strict=False):
                        self.push_sink(operand, wanted)

    def push_sink(self, term: tree.Term, wanted: str) -> None:
        """Give the free variables in a written term the wanted type."""
        if wanted == UNKNOWN:
            return
        if isinstance(term, tree.Variable):
            before = self.types.get(term.name)
            if before is None or (before.is_weak and self.env.same_root(before.type, wanted)):
                self.types[term.name] = Known(wanted, is_weak=True, span=term.span)
        elif isinstance(term, tree.RecordTerm):
            record = self.env.record(wanted)
            for part, member in zip(term.terms, record.fields if record else (), strict=False):
                self.push_sink(part, member.type)
        elif isinstance(term, tree.BranchTerm):
            for branch in self.env.table[wanted].branches:
                if branch.name == term.name:
                    for part, member in zip(term.terms, branch.fields, strict=False):
                        self.push_sink(part, member.type)

    def push_operands(self) -> None:
        """Give free variables under a functor the kind its other operands have."""
        for term in self.terms:
            for part in subterms(term):
                if isinstance(part, tree.Application):
                    self.push_functor(part)

    def push_functor(self, term: tree.Application) -> None:
        """Give the free variables among the operands the kind the functor must have."""
        functor = FUNCTORS.get(term.functor)
        if isinstance(functor, Fixed):
            for operand, kind in zip(term.terms, functor.operands, strict=False):
                self.push_free(operand, kind)
        elif isinstance(functor, Overloaded):
            known = self.type_of(term)
            if known is not None:
                for operand in term.terms:
                    self.push_free(operand, self.env.kind(known.type))

    def push_free(self, term: tree.Term, kind: Kind) -> None:
        """Give a variable nothing is known of a kind."""
        if isinstance(term, tree.Variable) and term.name not in self.types and kind.value in PRIMITIVES:
            self.types[term.name] = Known(kind.value, is_weak=True, span=term.span)

    def compare(self) -> None:
        """Let the two sides of an ordering tell each other their kinds."""
        for constraint in self.constraints:
            if constraint.op in ("match", "contains", "!match", "!contains"):
                self.push_free(constraint.left, Kind.SYMBOL)
                self.push_free(constraint.right, Kind.SYMBOL)
                continue
            pair = (constraint.left, constraint.right)
            for one, other in (pair, pair[::-1]):
                known = self.type_of(one)
                if known is not None and isinstance(other, tree.Variable) and other.name not in self.types:
                    self.types[other.name] = Known(known.type, is_weak=True, span=other.span)

    def type_of(self, term: tree.Term) -> Known | None:  # noqa: C901, PLR0912 - one case per node
        """Return what is known of a term's type so far."""
        match term:
            case tree.Variable():
                return self.types.get(term.name)
            case tree.NumberLiteral():
                return self.weak(Kind.NUMBER, term) if self.literals_are_numbers else None
            case tree.UnsignedLiteral():
                return self.weak(Kind.UNSIGNED, term)
            case tree.FloatLiteral():
                return self.weak(Kind.FLOAT, term)
            case tree.StringLiteral():
                return self.weak(Kind.SYMBOL, term)
            case tree.Counter():
                return self.weak(Kind.NUMBER, term)
            case tree.BranchTerm():
                owners = self.env.branches.get(term.name, ())
                return Known(owners[0], is_weak=True, span=term.span) if len(owners) == 1 else None
            case tree.Cast():
                target = self.env.resolve(term.type)
                return None if target == UNKNOWN else Known(target, is_weak=False, span=term.span)
            case tree.UserApplication():
                declared = self.declarations.functors.get(term.name)
                if declared is None or declared.result == UNKNOWN:
                    return None
                return Known(declared.result, is_weak=False, span=term.span)
            case tree.Application():
                return self.type_of_application(term)
            case tree.Aggregate():
                return self.type_of_aggregate(term)
            case _:
                return None

    def weak(self, kind: Kind, term: tree.Term) -> Known | None:
        """Return the weak type of a primitive kind; a functor never gives another one."""
        return Known(kind.value, is_weak=True, span=term.span) if kind.value in PRIMITIVES else None

    def type_of_application(self, term: tree.Application) -> Known | None:
        """Return the kind of a functor's result."""
        functor = FUNCTORS.get(term.functor)
        if isinstance(functor, Fixed | Conversion):
            return self.weak(functor.result, term)
        if functor is None:
            return None
        if len(functor.kinds) == 1:
            return self.weak(functor.kinds[0], term)
        for operand in term.terms:
            known = self.type_of(operand)
            if known is not None:
                return self.weak(self.env.kind(known.type), term)
        return None

    def type_of_aggregate(self, term: tree.Aggregate) -> Known | None:
        """Return the type of an aggregate's value."""
        match term.functor:
            case "count" | flatten_bodies.NONE:
                return self.weak(Kind.NUMBER, term)
            case "mean":
                return self.weak(Kind.FLOAT, term)
            case "min" | "max":
                return None if term.target is None else self.type_of(term.target)
            case "sum":
                known = None if term.target is None else self.type_of(term.target)
                return None if known is None else self.weak(self.env.kind(known.type), term)
            case "@concat" if "concat" not in self.declarations.functors:
                return self.weak(Kind.SYMBOL, term)
            case _:
                declared = self.declarations.functors.get(term.functor.removeprefix("@"))
                if declared is None or declared.result == UNKNOWN:
                    return None
                return Known(declared.result, is_weak=False, span=term.span)
