"""From a flat body and an order of its atoms to a chain of operators.

Between two atoms everything that has become possible is done at once: equalities bind,
constraints filter, negated atoms check. A constraint that merely compares codes becomes a
filter of the operator that binds its last variable.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tidelog.plan.flatten import variables_of
from tidelog.plan.leapfrog_operator import Group, leapfrog_operator
from tidelog.plan.operator_variables import variables_bound, variables_read
from tidelog.plan.operators import (
    Check,
    Comparison,
    Compute,
    Filter,
    Find,
    Generate,
    Join,
    Layout,
    Leapfrog,
    Operand,
    Operator,
    Project,
    Reduce,
    Scan,
    Start,
    TakeApart,
    View,
)
from tidelog.plan.statistics import Statistics, matches_per_key
from tidelog.program.nodes import (
    Aggregate,
    Application,
    Atom,
    BranchTerm,
    Constant,
    Constraint,
    Generator,
    Literal,
    NegatedAtom,
    Program,
    RecordTerm,
    Term,
    Variable,
    Wildcard,
)
from tidelog.values import Kind

# By how much a relation of the stratum is taken to grow beyond what the planner sees of it.
_EXPECTED_GROWTH = 8.0
# With so many facts to a key, those within bounds are found by an ordered index.
_FACTS_TO_ORDER = 64
# Changes are followed through indexes of whole relations. One more index costs memory for good, so it
# has to spare a binding for this many facts.
_FACTS_PER_BINDING = 20_000
# So few facts may be paired with every binding, if that is expected to pay.
_FEW_FACTS = 64
_FLIPPED = {">": "<", ">=": "<="}
_BOUNDS = frozenset({"<", "<=", ">", ">="})
_CODE_COMPARISONS = frozenset({"=", "!="})
_NUMBER_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})


class Work(NamedTuple):
    """What a chain is expected to do; the first of two is the one that does less.

    Estimates are rough, so a chain that pairs every binding with all facts of a relation is taken
    only where there is no other, however few bindings it is expected to touch.
    """

    cross_products: int
    bindings: float


@dataclass(frozen=True)
class Chain:
    """Operators with the work they are expected to do.

    `reason` says why atoms are joined at once, or why not although that was considered.
    """

    operators: tuple[Operator, ...]
    work: Work
    reason: str = ""

    @property
    def cost(self) -> float:
        """Return the number of bindings that all operators together are expected to touch."""
        return self.work.bindings


@dataclass(frozen=True)
class Body:
    """What is to be planned: a flat body, the view of each atom, and what must come out.

    `given` are variables bound from outside. With `counting`, every derivation must be found, so
    an atom that binds nothing needed is still joined and not only checked for existence.
    Relations in `growing` will hold more facts than they do now. With `numbered`, every atom binds
    its row number to `row_name(place)`; `places` are the places of the literals. A rule of `head` may ask
    for `is_leapfrog`. With `scans_delta` the chain begins with a scan, whose rows can be divided.
    """

    literals: tuple[Literal, ...]
    views: tuple[View, ...]
    outputs: Layout
    program: Program
    statistics: Statistics
    given: tuple[str, ...] = ()
    counting: bool = False
    growing: frozenset[str] = frozenset()
    numbered: bool = False
    places: tuple[int, ...] = ()
    head: str = ""
    is_leapfrog: bool = False
    scans_delta: bool = False

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Return the positive atoms, in the order written."""
        return tuple(literal for literal in self.literals if isinstance(literal, Atom))


def row_name(literal: int) -> str:
    """Return the variable that holds the row number of a body's literal."""
    return f"%row{literal}"


def _place(body: Body, wanted: Literal) -> int:
    """Return the place of this very literal; an equal one may stand elsewhere in the body."""
    return next(place for place, literal in zip(body.places, body.literals, strict=True) if literal is wanted)


PlanInner = Callable[[Body], Chain]


def build_chain(body: Body, order: Sequence[int | Group], plan_inner: PlanInner) -> Chain:
    """Return the operators that join the body's atoms in the given order, those of a group at once.

    `plan_inner` plans the bodies of aggregates.
    """
    builder = _joined(body, order, plan_inner)
    builder.settle()
    assert not builder.pending, f"a checked body binds everything: {builder.pending}"
    return builder.finish()


def work_of_prefix(body: Body, order: Sequence[int], plan_inner: PlanInner) -> Work:
    """Return the expected work of joining only the atoms of `order`."""
    return _joined(body, order, plan_inner).work()


def _joined(body: Body, order: Sequence[int | Group], plan_inner: PlanInner) -> "_Builder":
    builder = _Builder(body, plan_inner)
    for atom in order:
        builder.settle()
        if isinstance(atom, Group):
            builder.leap(atom)
        else:
            builder.join(atom)
    return builder


@dataclass
class _Match:
    """The columns of an atom: those looked up by key, and those that bind a variable.

    A variable that occurs again binds a copy, which a filter compares with the first.
    """

    key: list[int] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)
    binds: list[tuple[int, str]] = field(default_factory=list)
    filters: list[Comparison] = field(default_factory=list)
    copies: set[str] = field(default_factory=set)


@dataclass
class _Builder:
    body: Body
    plan_inner: PlanInner
    bound: set[str] = field(init=False)
    pending: list[Literal] = field(init=False)
    operators: list[Operator] = field(default_factory=list)
    bindings: float = 1.0
    cost: float = 0.0
    cross_products: int = 0

    def __post_init__(self) -> None:
        self.bound = set(self.body.given)
        self.pending = [x for x in self.body.literals if not isinstance(x, Atom)]
        if self.body.given:
            self.operators.append(Start(self.body.given))

    # Layouts hold everything bound until `finish` trims them to what later operators read.

    def layout(self) -> Layout:
        return tuple(sorted(self.bound))

    def work(self) -> Work:
        return Work(self.cross_products, self.cost)

    def row_of(self, atom: Atom) -> str | None:
        return row_name(_place(self.body, atom)) if self.body.numbered else None

    def join(self, number: int) -> None:
        """Add the operator for an atom: a scan, a join or a check of existence."""
        atom = self.body.atoms[number]
        view = self.body.views[number]
        arity = len(atom.terms)
        self.compute_bounds(atom)
        found = self.match(atom)
        row = self.row_of(atom)
        if row is not None:
            found.binds.append((arity, row))
        self.expect(atom, view, found.key)
        self.bound.update(name for _, name in found.binds if name not in found.copies)
        fused = self.take_comparisons()
        self.bindings *= 0.5 ** len(fused)
        filters = (*found.filters, *fused)
        key, operands, outputs = tuple(found.key), tuple(found.operands), self.layout()
        operator: Operator
        if not self.operators:
            filters = (*self._key_filters(found), *filters)
            operator = Scan(atom.relation, view, tuple(found.binds), filters, outputs)
        elif len(key) == arity and row is not None:
            operator = Find(atom.relation, operands, row, False, outputs)
        elif len(key) == arity:
            operator = Check(atom.relation, view, key, operands, False, outputs)
        else:
            operator = Join(
                atom.relation, view, key, operands, tuple(found.binds), filters, outputs,
                self.ordering(atom, found, filters),
            )  # fmt: skip
        self.operators.append(operator)

    def leap(self, group: Group) -> None:
        """Add the operator that joins a group of atoms at once."""
        self.ensure_start()
        rows = [self.row_of(self.body.atoms[number]) for number in group.atoms]
        parts = zip(group.atoms, rows, strict=True)
        atoms = [(n, self.body.atoms[n], self.body.views[n], row) for n, row in parts]
        self.bound.update(row for row in rows if row is not None)
        order = tuple(name for name in group.variables if name not in self.bound)
        self.bound.update(order)
        self.operators.append(leapfrog_operator(atoms, order, self.take_comparisons(), self.layout()))

    def compute_bounds(self, atom: Atom) -> None:
        """Compute, before an atom is joined, the terms that its columns are compared with.

        A bound is then computed once per binding, not once per pair, and an ordered index can use it.
        """
        names = {term.name for term in atom.terms if isinstance(term, Variable)} - self.bound
        if not self.operators:
            return
        for place, literal in enumerate(self.pending):
            if not isinstance(literal, Constraint) or literal.op not in _BOUNDS:
                continue
            if literal.kind is not Kind.NUMBER:
                continue
            for column, term in ((literal.left, literal.right), (literal.right, literal.left)):
                is_column = isinstance(column, Variable) and column.name in names
                if is_column and isinstance(term, Application) and self.has_all(variables_of(term)):
                    made = Variable(f"%bound{len(self.operators)}", term.type, span=term.span)
                    self.operators.append(self.compute(made.name, term))
                    left, right = (column, made) if column is literal.left else (made, column)
                    self.pending[place] = replace(literal, left=left, right=right)
                    break

    def ordering(self, atom: Atom, found: "_Match", filters: Sequence[Comparison]) -> int | None:
        """Return the column whose bounds leave few of the facts that a key has, if there is one."""
        columns = {name: column for column, name in found.binds if column < len(atom.terms)}
        bounded = [
            columns[side]
            for comparison in filters
            if comparison.op in {"<", "<="}
            for side, other in ((comparison.left, comparison.right), (comparison.right, comparison.left))
            if isinstance(side, str) and side in columns and other not in columns
        ]
        if not bounded or self.body.statistics.size(atom.relation) is None:
            return None
        matches = matches_per_key(self.body.statistics, atom.relation, len(atom.terms), found.key)
        # Bounded from both sides is better than from one.
        return max(bounded, key=bounded.count) if matches >= _FACTS_TO_ORDER else None

    def match(self, atom: Atom) -> "_Match":
        """Return what the bound variables make of an atom's columns."""
        found = _Match()
        new: set[str] = set()
        for column, term in enumerate(atom.terms):
            match term:
                case Constant():
                    found.key.append(column)
                    found.operands.append(term)
                case Variable(name=name) if name in self.bound:
                    found.key.append(column)
                    found.operands.append(name)
                case Variable(name=name) if name in new:
                    copy = f"{name}%{column}"
                    found.copies.add(copy)
                    found.binds.append((column, copy))
                    found.filters.append(Comparison("=", copy, name))
                case Variable(name=name):
                    new.add(name)
                    found.binds.append((column, name))
                case Wildcard():
                    pass
                case _:
                    raise AssertionError(f"flat atoms hold no {term}")
        return found

    def expect(self, atom: Atom, view: View, key: list[int]) -> None:
        """Multiply the bindings by the facts that each of them is expected to match."""
        arity = len(atom.terms)
        if self.operators and not key and arity:
            size = self.body.statistics.size(atom.relation)
            self.cross_products += size is None or size > _FEW_FACTS
        matches = matches_per_key(self.body.statistics, atom.relation, arity, key)
        if view is View.DELTA and not self.operators:
            matches = 1.0
        elif atom.relation in self.body.growing and len(key) < arity:
            matches *= _EXPECTED_GROWTH
        self.bindings *= max(matches, 1e-3)
        self.cost += self.bindings
        if self.body.numbered and 0 < len(key) < arity:
            statistics = self.body.statistics
            if not statistics.is_indexed(atom.relation, tuple(key)):
                self.cost += (statistics.size(atom.relation) or 0.0) / _FACTS_PER_BINDING

    def _key_filters(self, found: "_Match") -> list[Comparison]:
        """Turn the constants of a scanned atom into filters on its columns."""
        filters = []
        for column, operand in zip(found.key, found.operands, strict=True):
            name = f"%column{column}"
            found.binds.append((column, name))
            filters.append(Comparison("=", name, operand))
        return filters

    def take_comparisons(self) -> list[Comparison]:
        """Remove and return the pending constraints on bound variables that compare codes."""
        taken = []
        for literal in list(self.pending):
            comparison = self.as_comparison(literal)
            if comparison is not None:
                self.pending.remove(literal)
                taken.append(comparison)
        return taken

    def as_comparison(self, literal: Literal) -> Comparison | None:
        """Return the literal as a comparison of codes if it is one over bound variables."""
        if not isinstance(literal, Constraint):
            return None
        allowed = _NUMBER_COMPARISONS if literal.kind is Kind.NUMBER else _CODE_COMPARISONS
        left, right = self.operand(literal.left), self.operand(literal.right)
        if literal.op not in allowed or left is None or right is None:
            return None
        if literal.op in _FLIPPED:
            return Comparison(_FLIPPED[literal.op], right, left)
        return Comparison(literal.op, left, right)

    def operand(self, term: Term) -> Operand | None:
        """Return the term as an operand if it is a constant or a bound variable."""
        if isinstance(term, Constant):
            return term
        if isinstance(term, Variable) and term.name in self.bound:
            return term.name
        return None

    # --- everything that is not a positive atom ---------------------------------------------

    def settle(self) -> None:
        """Add every pending literal that the bound variables allow, until none is left to add."""
        if not self.operators and self.body.atoms:
            # The first atom is scanned; what can be done before it is done right after it.
            return
        place = 0
        while place < len(self.pending):
            literal = self.pending.pop(place)
            operator = self.possible(literal)
            if operator is None:
                self.pending.insert(place, literal)
                place += 1
                continue
            self.ensure_start()
            self.operators.append(operator)
            # What is bound now may allow a literal that was passed over.
            place = 0

    def ensure_start(self) -> None:
        """Begin with a single empty binding when nothing was scanned yet."""
        if not self.operators:
            self.operators.append(Start(()))

    def possible(self, literal: Literal) -> Operator | None:
        """Return the operator for a literal whose inputs are bound, None for others."""
        match literal:
            case NegatedAtom():
                return self.negated(literal)
            case Constraint():
                return self.constraint(literal)
            case Generator():
                return self.generator(literal)
            case Atom():
                raise AssertionError("atoms are joined in their order")

    def has_all(self, names: Iterable[str]) -> bool:
        return all(name in self.bound for name in names)

    def negated(self, literal: NegatedAtom) -> Operator | None:
        atom = literal.atom
        key: list[int] = []
        operands: list[Operand] = []
        for column, term in enumerate(atom.terms):
            if isinstance(term, Wildcard):
                continue
            operand = self.operand(term)
            if operand is None:
                return None
            key.append(column)
            operands.append(operand)
        if self.body.numbered:
            assert len(key) == len(atom.terms), "a negated atom with wildcards is projected before"
            row = row_name(_place(self.body, literal))
            self.bound.add(row)
            return Find(atom.relation, tuple(operands), row, True, self.layout())
        return Check(atom.relation, View.FULL, tuple(key), tuple(operands), True, self.layout())

    def constraint(self, literal: Constraint) -> Operator | None:
        left, right = literal.left, literal.right
        if isinstance(right, Aggregate):
            assert isinstance(left, Variable)
            return self.reduce(left, right, literal) if self.has_all(variables_of(right)) else None
        if isinstance(right, RecordTerm | BranchTerm):
            assert isinstance(left, Variable)
            return self.pattern(left, right)
        if self.has_all(variables_of(left) | variables_of(right)):
            self.bindings *= 0.5
            return Filter(literal, self.layout())
        if literal.op == "=":
            for free, term in ((left, right), (right, left)):
                if not isinstance(free, Variable) or free.name in self.bound:
                    continue
                if self.has_all(variables_of(term)):
                    return self.compute(free.name, term)
        return None

    def compute(self, name: str, term: Term) -> Compute:
        self.bound.add(name)
        return Compute(name, term, tuple(self.take_comparisons()), self.layout())

    def pattern(self, variable: Variable, pattern: RecordTerm | BranchTerm) -> Operator | None:
        parts = [part for part in pattern.terms if isinstance(part, Variable)]
        if variable.name in self.bound:
            return self.take_apart(variable.name, pattern)
        if len(parts) == len(pattern.terms) and self.has_all(part.name for part in parts):
            return self.compute(variable.name, pattern)
        return None

    def take_apart(self, name: str, pattern: RecordTerm | BranchTerm) -> TakeApart:
        binds: list[tuple[int, str]] = []
        filters: list[Comparison] = []
        new: set[str] = set()
        for position, part in enumerate(pattern.terms):
            if not isinstance(part, Variable):
                continue
            if part.name in self.bound or part.name in new:
                copy = f"{part.name}%{position}"
                binds.append((position, copy))
                filters.append(Comparison("=", copy, part.name))
            else:
                new.add(part.name)
                binds.append((position, part.name))
        self.bound.update(new)
        filters.extend(self.take_comparisons())
        return TakeApart(name, pattern, tuple(binds), tuple(filters), self.layout())

    def generator(self, literal: Generator) -> Operator | None:
        assert isinstance(literal.target, Variable)
        needed = variables_of(literal.start) | variables_of(literal.stop)
        if literal.step is not None:
            needed |= variables_of(literal.step)
        if not self.has_all(needed):
            return None
        name = literal.target.name
        if name in self.bound:
            made = Variable(f"{name}%range{len(self.operators)}", literal.target.type, span=literal.span)
            self.pending.append(Constraint("=", literal.kind, literal.target, made, span=literal.span))
            name = made.name
        self.bindings *= 10
        self.bound.add(name)
        return Generate(literal, name, self.layout())

    def reduce(self, variable: Variable, aggregate: Aggregate, literal: Constraint) -> Operator:
        name = variable.name
        if name in self.bound:
            made = Variable(f"{name}%aggregate{len(self.operators)}", variable.type, span=variable.span)
            self.pending.append(Constraint("=", literal.kind, variable, made, span=literal.span))
            name = made.name
        target = aggregate.target
        outputs: Layout = () if target is None else (_as_operand(target),)
        inner = Body(
            aggregate.body,
            tuple(View.FULL for x in aggregate.body if isinstance(x, Atom)),
            outputs,
            self.body.program,
            self.body.statistics,
            tuple(sorted(variables_of(aggregate))),
            counting=True,
        )
        chain = self.plan_inner(inner)
        self.cost += self.bindings * chain.cost
        self.bound.add(name)
        return Reduce(
            name, aggregate.functor, aggregate.kind, aggregate.type if target is None else target.type,
            aggregate.type, inner.given, chain.operators, aggregate.init, self.layout(),
        )  # fmt: skip

    # --- layouts ----------------------------------------------------------------------------

    def finish(self) -> Chain:
        """Trim every layout to what later operators read; the last one is the outputs."""
        self.ensure_start()
        trimmed: list[Operator] = []
        needed = {operand for operand in self.body.outputs if isinstance(operand, str)}
        outputs: Layout = self.body.outputs
        for operator in reversed(self.operators):
            if isinstance(operator, Start):
                if outputs != operator.outputs:
                    trimmed.append(Project(outputs))
                trimmed.append(operator)
                break
            reading = variables_read(operator)
            trimmed.append(_with_outputs(operator, outputs, needed, counting=self.body.counting))
            needed = (needed - variables_bound(operator)) | reading
            outputs = tuple(sorted(needed))
        trimmed.reverse()
        return Chain(tuple(trimmed), self.work())


def _as_operand(term: Term) -> Operand:
    assert isinstance(term, Variable | Constant)
    return term.name if isinstance(term, Variable) else term


def _with_outputs(operator: Operator, outputs: Layout, needed: set[str], *, counting: bool) -> Operator:
    """Return the operator yielding `outputs`; a join that binds nothing needed becomes a check."""
    if isinstance(operator, Join) and not counting and not operator.filters:
        binds_needed = any(name in needed for _, name in operator.binds)
        if not binds_needed:
            return Check(operator.relation, operator.view, operator.key, operator.operands, False, outputs)
    if isinstance(operator, Leapfrog) and not counting:
        needed_places = [place for place, name in enumerate(operator.order) if name in needed]
        return replace(operator, witness=max(needed_places, default=-1) + 1, outputs=outputs)
    return replace(operator, outputs=outputs)
