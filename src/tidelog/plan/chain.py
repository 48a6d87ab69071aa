"""From a flat body and an order of its atoms to a chain of operators.

After each atom everything that has become possible is done at once: equalities bind, constraints
filter, negated atoms check. A constraint that merely compares codes becomes a
filter of the operator that binds its last variable.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace

from tidelog.dataclass import dataclass
from tidelog.plan import operators as ops
from tidelog.plan.body import Body, OperatorChain, Work
from tidelog.plan.expected import ExpectedMatches, expected_matches
from tidelog.plan.flatten import as_operand
from tidelog.plan.layouts import with_layouts
from tidelog.plan.leapfrog_operator import AtomGroup, leapfrog_operator
from tidelog.plan.range_scan import range_scan
from tidelog.plan.solve import solve
from tidelog.plan.statistics import matches_per_key
from tidelog.program import nodes
from tidelog.program.walk_nodes import terms_of, variables_of
from tidelog.values import Kind

# With this many facts per key, those within bounds are found by an ordered index.
_FACTS_TO_ORDER = 64
# How many bindings take as long as a question to a scan tree.
_SCAN_COST = 20.0
_FLIPPED = {">": "<", ">=": "<="}
_BOUNDS = frozenset({"<", "<=", ">", ">="})
_CODE_COMPARISONS = frozenset({"=", "!="})
_NUMBER_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})


PlanInner = Callable[[Body], OperatorChain]


def build_chain(body: Body, order: Sequence[int | AtomGroup], plan_inner: PlanInner) -> OperatorChain:
    """Return the operators that join the body's atoms in this order, those of a group at once.

    `plan_inner` plans the bodies of aggregates.
    """
    builder = ChainBuilder(body, plan_inner)
    for atom in order:
        builder.settle()
        if isinstance(atom, AtomGroup):
            builder.leap(atom)
        else:
            builder.join(atom)
    return builder.chain()


@dataclass
class _Binds:
    """Columns, or parts of a record, that bind variables.

    If a variable already has a value, a copy is bound, and a filter compares the two.
    """

    known: AbstractSet[str] = frozenset()
    new: set[str] = field(default_factory=set)
    binds: list[tuple[int, str]] = field(default_factory=list)
    filters: list[ops.Comparison] = field(default_factory=list)

    def add(self, place: int, name: str) -> None:
        """Bind a variable to the column or part at a place."""
        if name in self.known or name in self.new:
            copy = f"{name}%{place}"
            self.filters.append(ops.Comparison("=", copy, name))
            name = copy
        else:
            self.new.add(name)
        self.binds.append((place, name))


@dataclass
class _Match(_Binds):
    """The columns of an atom: those looked up by key, and those that bind a variable."""

    key: list[int] = field(default_factory=list)
    operands: list[ops.Operand] = field(default_factory=list)


@dataclass(frozen=True)
class _Shared:
    """What is the same in all orders of a body, found once."""

    plan_inner: PlanInner
    inner_chains: dict[int, OperatorChain] = field(default_factory=dict)
    matches: dict[tuple[int, tuple[int, ...]], ExpectedMatches] = field(default_factory=dict)


class ChainBuilder:
    """The first operators of a chain, and what they are expected to do.

    Orders with a common beginning share its builder: `extended` does not change a builder, so that each atom
    that could come next can be tried. Extending never lowers `work`.
    """

    # Layouts stay empty until `chain` fills in what later operators read.
    __slots__ = ("bindings", "body", "bound", "operators", "pending", "shared", "work")

    def __init__(self, body: Body, plan_inner: PlanInner) -> None:
        self.body = body
        self.shared = _Shared(plan_inner)
        self.bound = set(body.outer)
        self.pending = [x for x in body.literals if not isinstance(x, nodes.Atom)]
        self.operators: list[ops.Operator] = [ops.Start(body.outer)] if body.outer else []
        self.bindings = 1.0
        self.work = Work(0, 0.0)

    def extended(self, number: int) -> "ChainBuilder":
        """Return a builder that joins one more atom."""
        self.settle()
        made = ChainBuilder.__new__(ChainBuilder)
        made.body, made.shared = self.body, self.shared
        made.bound, made.pending, made.operators = set(self.bound), list(self.pending), list(self.operators)
        made.bindings, made.work = self.bindings, self.work
        made.join(number)
        return made

    def chain(self) -> OperatorChain:
        """Return the chain of a builder that has joined all atoms."""
        self.settle()
        assert not self.pending, f"a checked body binds everything: {self.pending}"
        self._ensure_start()
        body = self.body
        return OperatorChain(with_layouts(self.operators, body.outputs, counting=body.counting), self.work)

    def _row_of(self, atom: nodes.Atom) -> str | None:
        return self.body.rows[id(atom)] if self.body.numbered else None

    def join(self, number: int) -> None:
        """Add the operator for an atom: a scan, a join or a check of existence."""
        atom = self.body.atoms[number]
        view = self.body.views[number]
        arity = len(atom.terms)
        expected = self.expect(number)
        self._compute_bounds(atom)
        found = self._match(number)
        row = self._row_of(atom)
        if row is not None:
            found.add(arity, row)
        self.bindings, self.work = expected
        self.bound |= found.new
        fused = self._take_comparisons()
        self.bindings *= 0.5 ** len(fused)
        filters = (*found.filters, *fused)
        key, operands = tuple(found.key), tuple(found.operands)
        operator: ops.Operator
        if not self.operators:
            filters = (*self._key_filters(found), *filters)
            operator = ops.ScanView(atom.relation, view, tuple(found.binds), filters, ())
        elif len(key) == arity and row is not None:
            operator = ops.Find(atom.relation, operands, row, False, ())
        elif len(key) == arity:
            operator = ops.Check(atom.relation, view, key, operands, False, ())
        else:
            ordered = self._ordering(atom, found, filters)
            binds = tuple(found.binds)
            operator = ops.IndexJoin(atom.relation, view, key, operands, binds, filters, (), ordered)
        self.operators.append(operator)

    def leap(self, group: AtomGroup) -> None:
        """Add the operator that joins a group of atoms at once."""
        self._ensure_start()
        rows = [self._row_of(self.body.atoms[number]) for number in group.atoms]
        parts = zip(group.atoms, rows, strict=True)
        atoms = [(n, self.body.atoms[n], self.body.views[n], row) for n, row in parts]
        self.bound.update(row for row in rows if row is not None)
        order = tuple(name for name in group.variables if name not in self.bound)
        self.bound.update(order)
        self.operators.append(leapfrog_operator(atoms, order, self._take_comparisons(), ()))

    def _compute_bounds(self, atom: nodes.Atom) -> None:
        """Compute, before an atom is joined, the terms that its columns are compared with.

        A bound is then computed once per binding, not once per pair, and an ordered index can use it.
        """
        names = {term.name for term in atom.terms if isinstance(term, nodes.Variable)} - self.bound
        if not self.operators:
            return
        for place, literal in enumerate(self.pending):
            if not isinstance(literal, nodes.Constraint) or literal.op not in _BOUNDS:
                continue
            if literal.kind is not Kind.NUMBER:
                continue
            for column, term in ((literal.left, literal.right), (literal.right, literal.left)):
                is_column = isinstance(column, nodes.Variable) and column.name in names
                if (
                    is_column
                    and isinstance(term, nodes.Application)
                    and self._has_all(self.body.needed(term))
                ):
                    made = nodes.Variable(f"%bound{len(self.operators)}", term.type, span=term.span)
                    self.operators.append(self._compute(made.name, term))
                    left, right = (column, made) if column is literal.left else (made, column)
                    self.pending[place] = replace(literal, left=left, right=right)
                    break

    def _ordering(self, atom: nodes.Atom, found: "_Match", filters: Sequence[ops.Comparison]) -> int | None:
        """Return the column whose bounds leave few of the facts of a key, if there is one."""
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
        # A bound on both sides is better than one on one side.
        return max(bounded, key=bounded.count) if matches >= _FACTS_TO_ORDER else None

    def _match(self, number: int) -> "_Match":
        """Return the columns of an atom that bound variables look up, and those that bind variables."""
        found = _Match()
        for column, operand in enumerate(self.body.operands[number]):
            if operand is None:
                continue
            if not isinstance(operand, str) or operand in self.bound:
                found.key.append(column)
                found.operands.append(operand)
            else:
                found.add(column, operand)
        return found

    def expect(self, number: int) -> tuple[float, Work]:
        """Return the expected bindings and work once an atom is joined.

        The bindings are multiplied by the facts that each of them is expected to match.
        """
        bound = self.bound
        operands = self.body.operands[number]
        key = tuple([c for c, x in enumerate(operands) if isinstance(x, nodes.Constant) or x in bound])
        found = self.shared.matches.get((number, key))
        if found is None:
            found = self.shared.matches[number, key] = expected_matches(self.body, number, key)
        matches, is_cross_product = found.facts, found.is_cross_product
        if not self.operators:
            is_cross_product = False
            if self.body.views[number] is ops.View.DELTA:
                matches = 1.0
        bindings = self.bindings * max(matches, 1e-3)
        cross_products, cost = self.work
        return bindings, Work(cross_products + is_cross_product, cost + bindings + found.index_cost)

    def _key_filters(self, found: "_Match") -> list[ops.Comparison]:
        """Turn the constants of a scanned atom into filters on its columns."""
        filters = []
        for column, operand in zip(found.key, found.operands, strict=True):
            name = f"%column{column}"
            found.binds.append((column, name))
            filters.append(ops.Comparison("=", name, operand))
        return filters

    def _take_comparisons(self) -> list[ops.Comparison]:
        """Remove and return the pending constraints on bound variables that compare codes."""
        taken = []
        for literal in list(self.pending):
            comparison = self._as_comparison(literal)
            if comparison is not None:
                self.pending.remove(literal)
                taken.append(comparison)
        return taken

    def _as_comparison(self, literal: nodes.Literal) -> ops.Comparison | None:
        """Return the literal as a comparison of codes if it is one over bound variables."""
        if not isinstance(literal, nodes.Constraint):
            return None
        allowed = _NUMBER_COMPARISONS if literal.kind is Kind.NUMBER else _CODE_COMPARISONS
        left, right = self._operand(literal.left), self._operand(literal.right)
        if literal.op not in allowed or left is None or right is None:
            return None
        if literal.op in _FLIPPED:
            return ops.Comparison(_FLIPPED[literal.op], right, left)
        return ops.Comparison(literal.op, left, right)

    def _operand(self, term: nodes.Term) -> ops.Operand | None:
        """Return the term as an operand if it is a constant or a bound variable."""
        if isinstance(term, nodes.Constant):
            return term
        if isinstance(term, nodes.Variable) and term.name in self.bound:
            return term.name
        return None

    # --- everything that is not a positive atom ---------------------------------------------

    def settle(self) -> None:
        """Add every pending literal that the bound variables allow, until no more can be added."""
        if not self.operators and self.body.atoms:
            # The first atom is scanned; what could be done before it is done right after it.
            return
        place = 0
        while place < len(self.pending):
            literal = self.pending.pop(place)
            operator = self._possible(literal)
            if operator is None:
                self.pending.insert(place, literal)
                place += 1
                continue
            self._ensure_start()
            self.operators.append(operator)
            # A literal that was skipped may be possible with what is bound now.
            place = 0

    def _ensure_start(self) -> None:
        """Start with a single empty binding if nothing was scanned yet."""
        if not self.operators:
            self.operators.append(ops.Start(()))

    def _possible(self, literal: nodes.Literal) -> ops.Operator | None:
        """Return the operator for a literal whose inputs are bound, or None for others."""
        match literal:
            case nodes.NegatedAtom():
                return self._negated(literal)
            case nodes.Constraint():
                return self._constraint(literal)
            case nodes.Generator():
                return self._generator(literal)
            case nodes.Atom():
                raise AssertionError("atoms are joined in their order")

    def _has_all(self, names: Iterable[str]) -> bool:
        return all(name in self.bound for name in names)

    def _negated(self, literal: nodes.NegatedAtom) -> ops.Operator | None:
        atom = literal.atom
        key: list[int] = []
        operands: list[ops.Operand] = []
        for column, term in enumerate(atom.terms):
            if isinstance(term, nodes.Wildcard):
                continue
            operand = self._operand(term)
            if operand is None:
                return None
            key.append(column)
            operands.append(operand)
        if self.body.numbered:
            assert len(key) == len(atom.terms), "a negated atom with wildcards is projected before"
            row = self.body.rows[id(literal)]
            self.bound.add(row)
            return ops.Find(atom.relation, tuple(operands), row, True, ())
        return ops.Check(atom.relation, ops.View.FULL, tuple(key), tuple(operands), True, ())

    def _constraint(self, literal: nodes.Constraint) -> ops.Operator | None:
        left, right = literal.left, literal.right
        if isinstance(right, nodes.Aggregate):
            assert isinstance(left, nodes.Variable)
            return self._reduce(left, right, literal) if self._has_all(self.body.needed(right)) else None
        if isinstance(right, nodes.RecordTerm | nodes.BranchTerm):
            assert isinstance(left, nodes.Variable)
            return self._pattern(left, right)
        if self._has_all(self.body.needed(left)) and self._has_all(self.body.needed(right)):
            self.bindings *= 0.5
            return ops.Filter(literal, ())
        if literal.op == "=":
            for free, term in ((left, right), (right, left)):
                if not isinstance(free, nodes.Variable) or free.name in self.bound:
                    continue
                if self._has_all(self.body.needed(term)):
                    return self._compute(free.name, term)
            return self._solved(left, right) or self._solved(right, left)
        return None

    def _solved(self, side: nodes.Term, value: nodes.Term) -> ops.Operator | None:
        """Return the operator that computes the variable of one side from the other, if that can be done."""
        found = solve(side, value, self.bound) if self._has_all(self.body.needed(value)) else None
        return None if found is None else self._compute(*found)

    def _compute(self, name: str, term: nodes.Term) -> ops.Compute:
        self.bound.add(name)
        return ops.Compute(name, term, tuple(self._take_comparisons()), ())

    def _pattern(
        self, variable: nodes.Variable, pattern: nodes.RecordTerm | nodes.BranchTerm
    ) -> ops.Operator | None:
        parts = [part for part in pattern.terms if isinstance(part, nodes.Variable)]
        if variable.name in self.bound:
            return self._take_apart(variable.name, pattern)
        if len(parts) == len(pattern.terms) and self._has_all(part.name for part in parts):
            return self._compute(variable.name, pattern)
        return None

    def _take_apart(self, name: str, pattern: nodes.RecordTerm | nodes.BranchTerm) -> ops.Unpack:
        found = _Binds(frozenset(self.bound))
        for position, part in enumerate(pattern.terms):
            if isinstance(part, nodes.Variable):
                found.add(position, part.name)
        self.bound |= found.new
        filters = (*found.filters, *self._take_comparisons())
        return ops.Unpack(name, pattern, tuple(found.binds), filters, ())

    def _generator(self, literal: nodes.Generator) -> ops.Operator | None:
        assert isinstance(literal.target, nodes.Variable)
        if not self._has_all(variables_of(*terms_of(literal)[1:])):
            return None
        self.bindings *= 10
        return ops.Generate(literal, self._bind(literal.target, "range", literal), ())

    def _bind(self, variable: nodes.Variable, by: str, literal: nodes.Constraint | nodes.Generator) -> str:
        """Return the variable that an operator binds: a new one, compared later, if this one has a value."""
        name = variable.name
        if name in self.bound:
            made = replace(variable, name=f"{name}%{by}{len(self.operators)}")
            self.pending.append(nodes.Constraint("=", literal.kind, variable, made, span=literal.span))
            name = made.name
        self.bound.add(name)
        return name

    def _reduce(
        self, variable: nodes.Variable, aggregate: nodes.Aggregate, literal: nodes.Constraint
    ) -> ops.Operator:
        chain, scan = self._inner_chain(aggregate), self._scan(aggregate)
        cost = chain.cost if scan is None else min(chain.cost, _SCAN_COST)
        self.work = Work(self.work.cross_products, self.work.bindings + self.bindings * cost)
        name = self._bind(variable, "aggregate", literal)
        outer = tuple(sorted(variables_of(aggregate)))
        return ops.Reduce(name, aggregate, outer, chain.operators, (), scan)

    def _scan(self, aggregate: nodes.Aggregate) -> ops.RangeScan | None:
        """Return the range of an earlier relation that an aggregate is over, if many facts share a key."""
        scan, body = range_scan(aggregate), self.body
        own = next((x.relations for x in body.program.strata if body.head in x.relations), None)
        if scan is None or own is None or scan.relation in own or body.statistics.size(scan.relation) is None:
            return None
        arity = body.program.relations[scan.relation].arity
        matches = matches_per_key(body.statistics, scan.relation, arity, scan.key)
        return scan if matches >= _FACTS_TO_ORDER else None

    def _inner_chain(self, aggregate: nodes.Aggregate) -> OperatorChain:
        """Return the chain of an aggregate's body, which is the same in every order."""
        known = self.shared.inner_chains.get(id(aggregate))
        if known is not None:
            return known
        inner = Body(
            aggregate.body,
            tuple(ops.View.FULL for x in aggregate.body if isinstance(x, nodes.Atom)),
            () if aggregate.target is None else (as_operand(aggregate.target),),
            self.body.program,
            self.body.statistics,
            tuple(sorted(variables_of(aggregate))),
            counting=True,
        )
        chain = self.shared.inner_chains[id(aggregate)] = self.shared.plan_inner(inner)
        return chain
