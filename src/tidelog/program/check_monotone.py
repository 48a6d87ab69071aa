"""Values that move while their own stratum is evaluated may only be used where moving cannot hurt.

A lattice column of a recursive stratum holds a value that goes one way: down for `min`, up for
`max`. An aggregate over relations of its own stratum does so too: a count, a maximum and a sum of
values that are not negative only grow, a minimum only falls. Such a value may decide over a
constraint that can only become true by it, and may be written where values go the same way. Then
the answer is the least one, whatever the order in which facts are found.

    dist(y, d + w) :- dist(x, d), edge(x, y, w).                            // falls as the column does
    controls(x, y) :- owner(x, y), sum n : { share(x, y, n), n > 0 } > 50.  // can only become true
    far(x)         :- dist(x, d), d > 9, near(x).                           // no: may become false again
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.draft import Draft
from tidelog.program.printing import print_term
from tidelog.program.walk_nodes import (
    aggregates_in,
    children,
    deep_variables,
    relations_read,
    subterms,
    terms_of,
)
from tidelog.source import Span
from tidelog.values import Kind


class Way(Enum):
    """Where a value goes while its stratum is evaluated."""

    FIXED = "stays as it is"
    UP = "may grow"
    DOWN = "may become smaller"
    JOINED = "moves up its lattice"
    ANYWHERE = "may change either way"


_TURNED = {Way.UP: Way.DOWN, Way.DOWN: Way.UP}
_EXTREMES = {"min": Way.DOWN, "max": Way.UP}
_SMALLER_LEFT = frozenset({"<", "<="})
_SMALLER_RIGHT = frozenset({">", ">="})


def check_monotone(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each use of a lattice's value that its further moves could undo."""
    for stratum in draft.strata:
        if not stratum.is_recursive:
            continue
        for rule in stratum.rules:
            yield from misuses(rule, frozenset(stratum.relations), draft.relations, draft.lattices)


def is_monotone_aggregate(
    aggregate: nodes.Aggregate,
    inside: frozenset[str],
    relations: Mapping[str, nodes.Relation],
    lattices: Mapping[str, nodes.Lattice],
) -> bool:
    """Say whether an aggregate over its own stratum goes one way; how it is used is checked apart."""
    return _Moves(inside, relations, lattices).way(aggregate) in {Way.UP, Way.DOWN}


def misuses(
    rule: nodes.Rule,
    inside: frozenset[str],
    relations: Mapping[str, nodes.Relation],
    lattices: Mapping[str, nodes.Lattice],
) -> Iterator[Diagnostic]:
    """Yield what a rule does with values of its own stratum that it may not do."""
    moves = _Moves(inside, relations, lattices)
    moves.read_body(rule.body)
    if any(moves.way(aggregate) is Way.ANYWHERE for aggregate in aggregates_in((rule,))):
        # That is told by the check of strata.
        return
    yield from moves.check_body(rule.body)
    yield from moves.check_head(rule.head)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A use that is not allowed: what moves, and why it must not be there."""

    term: nodes.Term
    way: Way
    reason: str
    span: Span


class _Moves:
    """Where the variables of one body go."""

    def __init__(
        self,
        inside: frozenset[str],
        relations: Mapping[str, nodes.Relation],
        lattices: Mapping[str, nodes.Lattice],
        around: "_Moves | None" = None,
    ) -> None:
        self.inside = inside
        self.relations = relations
        self.lattices = lattices
        self.ways: dict[str, Way] = {} if around is None else dict(around.ways)
        self.times: dict[str, int] = {}
        self.bound: set[str] = set()
        self.positive: set[str] = set()

    # --- reading -------------------------------------------------------------------------------

    def read_body(self, body: tuple[nodes.Literal, ...]) -> None:
        """Learn where the variables of a body go."""
        for literal in body:
            if isinstance(literal, nodes.Atom):
                self.read_atom(literal)
            if isinstance(literal, nodes.Constraint):
                self.read_bound(literal)
        is_changed = True
        while is_changed:
            before = dict(self.ways)
            for literal in body:
                if isinstance(literal, nodes.Constraint) and literal.op == "=":
                    self.read_equality(literal.left, literal.right)
                    self.read_equality(literal.right, literal.left)
            is_changed = self.ways != before

    def columns(self, atom: nodes.Atom) -> Iterator[tuple[nodes.Term, nodes.Column]]:
        """Yield an atom's terms with their columns; nothing if they do not fit, which is told elsewhere."""
        relation = self.relations.get(atom.relation)
        if relation is not None and relation.arity == len(atom.terms):
            yield from zip(atom.terms, relation.columns, strict=True)

    def read_atom(self, atom: nodes.Atom) -> None:
        """Learn from the columns of an atom."""
        for term, column in self.columns(atom):
            for variable in deep_variables((term,)):
                self.times[variable.name] = self.times.get(variable.name, 0) + 1
                self.bound.add(variable.name)
            if isinstance(term, nodes.Variable) and atom.relation in self.inside and column.is_lattice:
                self.ways[term.name] = self.way_of_lattice(column.type)

    def read_bound(self, constraint: nodes.Constraint) -> None:
        """Learn which variables a constraint keeps from being negative."""
        for variable, other, ops in (
            (constraint.left, constraint.right, _SMALLER_RIGHT),
            (constraint.right, constraint.left, _SMALLER_LEFT),
        ):
            is_bound = isinstance(other, nodes.Constant) and isinstance(other.value, int | float)
            if isinstance(variable, nodes.Variable) and constraint.op in ops and is_bound:
                assert isinstance(other, nodes.Constant)
                assert isinstance(other.value, int | float)
                if other.value >= 0:
                    self.positive.add(variable.name)

    def read_equality(self, left: nodes.Term, right: nodes.Term) -> None:
        """Learn where a variable goes that an equality binds."""
        if isinstance(left, nodes.Variable) and left.name not in self.bound:
            way = self.way(right)
            if way is not Way.FIXED:
                self.ways[left.name] = way

    def way_of_lattice(self, type_name: str) -> Way:
        """Return where values of a lattice column go."""
        lattice = self.lattices.get(type_name)
        extreme = None if lattice is None else lattice.extreme
        return Way.JOINED if extreme is None else _EXTREMES[extreme]

    # --- terms ---------------------------------------------------------------------------------

    def way(self, term: nodes.Term) -> Way:
        """Return where a term's value goes."""
        match term:
            case nodes.Variable():
                return self.ways.get(term.name, Way.FIXED)
            case nodes.Aggregate():
                return self.way_of_aggregate(term)
            case nodes.Application():
                return self.way_of_application(term)
            case nodes.UserApplication():
                # A functor of the user's over moving values is taken to be monotone.
                return _together(*(self.way(part) for part in term.terms))
            case nodes.RecordTerm() | nodes.BranchTerm():
                ways = {self.way(part) for part in term.terms}
                return Way.FIXED if ways <= {Way.FIXED} else Way.ANYWHERE
            case _:
                return Way.FIXED

    def way_of_application(self, term: nodes.Application) -> Way:
        """Return where the value of a functor goes."""
        ways = [self.way(part) for part in term.terms]
        if all(way is Way.FIXED for way in ways):
            return Way.FIXED
        match term.functor:
            case "+" | "min" | "max":
                return _together(*ways)
            case "neg":
                return _TURNED.get(ways[0], ways[0])
            case "-":
                return _together(ways[0], _TURNED.get(ways[1], ways[1]))
            case "*":
                left, right = term.terms
                if self.is_positive(left) or self.is_positive(right):
                    moving = [way for way in ways if way is not Way.FIXED]
                    fixed_sign = all(
                        self.is_positive(part)
                        for part, way in zip(term.terms, ways, strict=True)
                        if way is Way.FIXED
                    )
                    return moving[0] if len(moving) == 1 and fixed_sign else Way.ANYWHERE
                return Way.ANYWHERE
            case "/" if ways[1] is Way.FIXED and self.is_positive(term.terms[1]):
                return ways[0]
            case _:
                return Way.ANYWHERE

    def is_positive(self, term: nodes.Term) -> bool:
        """Say whether a term is known not to be negative."""
        match term:
            case nodes.Constant(value=int() | float() as value):
                return value >= 0
            case nodes.Variable():
                return term.name in self.positive or term.type == "unsigned"
            case nodes.Application(kind=Kind.UNSIGNED):
                return True
            case nodes.Application(functor="+" | "*" | "min" | "max"):
                return all(self.is_positive(part) for part in term.terms)
            case _:
                return False

    def way_of_aggregate(self, aggregate: nodes.Aggregate) -> Way:
        """Return where an aggregate goes; ANYWHERE if it, or what its body does, is not monotone."""
        outer = {self.ways.get(name, Way.FIXED) for name in aggregate.outer}
        if relations_read((aggregate,)).isdisjoint(self.inside):
            # What it is grouped by is checked apart.
            return Way.FIXED
        if aggregate.negates:
            return Way.ANYWHERE
        moves = _Moves(self.inside, self.relations, self.lattices, self)
        moves.read_body(aggregate.body)
        nested = aggregates_in(children(aggregate))
        negated = (x.atom.relation for x in aggregate.body if isinstance(x, nodes.NegatedAtom))
        is_doubtful = (
            not outer <= {Way.FIXED}
            or any(name in self.inside for name in negated)
            or not relations_read(nested).isdisjoint(self.inside)
        )
        if is_doubtful or next(moves.check_body(aggregate.body), None) is not None:
            return Way.ANYWHERE
        target = Way.FIXED if aggregate.target is None else moves.way(aggregate.target)
        match aggregate.functor:
            case "count":
                return Way.UP
            case "max" if target in {Way.FIXED, Way.UP}:
                return Way.UP
            case "min" if target in {Way.FIXED, Way.DOWN}:
                return Way.DOWN
            case "sum" if target in {Way.FIXED, Way.UP} and aggregate.target is not None:
                is_growing = aggregate.kind is Kind.UNSIGNED or moves.is_positive(aggregate.target)
                return Way.UP if is_growing else Way.ANYWHERE
            case _:
                return Way.ANYWHERE

    # --- uses ----------------------------------------------------------------------------------

    def check_body(self, body: tuple[nodes.Literal, ...]) -> Iterator[Diagnostic]:
        """Yield what a body does with moving values that it may not do."""
        for literal in body:
            match literal:
                case nodes.Atom():
                    yield from self.check_atom(literal)
                case nodes.NegatedAtom():
                    yield from self.must_stay(literal.atom.terms, "a negated atom asks for one value of it")
                case nodes.Constraint():
                    yield from self.check_constraint(literal)
                case nodes.Generator():
                    yield from self.must_stay(terms_of(literal)[1:], "a range is made of it")
            yield from self.check_groups(literal)

    def check_groups(self, literal: nodes.Literal) -> Iterator[Diagnostic]:
        """Yield moving values that aggregates in a literal are grouped by."""
        for aggregate in aggregates_in((literal,)):
            variables = [nodes.Variable(name, "", span=aggregate.span) for name in aggregate.outer]
            reason = "a negated conjunction asks for one value of it"
            yield from self.must_stay(
                variables, reason if aggregate.negates else "an aggregate is grouped by it"
            )

    def check_atom(self, atom: nodes.Atom) -> Iterator[Diagnostic]:
        """Yield moving values that an atom asks for; in a lattice column it only reads one."""
        for term, column in self.columns(atom):
            is_read = (
                isinstance(term, nodes.Variable)
                and atom.relation in self.inside
                and column.is_lattice
                and self.times[term.name] == 1
            )
            if is_read or isinstance(term, nodes.Wildcard):
                continue
            if atom.relation in self.inside and column.is_lattice:
                way = self.way_of_lattice(column.type)
                yield _diagnostic(
                    _Fault(term, way, f"`{atom.relation}` must have one value of it here", term.span)
                )
            else:
                yield from self.must_stay((term,), f"`{atom.relation}` is joined by it")

    def check_constraint(self, constraint: nodes.Constraint) -> Iterator[Diagnostic]:
        """Yield a constraint that a further move could make false."""
        left, right = self.way(constraint.left), self.way(constraint.right)
        if left is Way.FIXED and right is Way.FIXED:
            return
        if constraint.op == "=" and self.is_binding(constraint):
            return
        if constraint.op in _SMALLER_LEFT | _SMALLER_RIGHT:
            small, large = (left, right) if constraint.op in _SMALLER_LEFT else (right, left)
            if small in {Way.FIXED, Way.DOWN} and large in {Way.FIXED, Way.UP}:
                return
        if constraint.op == "!=" and {left, right} == {Way.JOINED, Way.FIXED}:
            # A value that has left the least one does not come back to it.
            return
        term, way = (constraint.left, left) if left is not Way.FIXED else (constraint.right, right)
        yield _diagnostic(_Fault(term, way, f"`{constraint.op}` may turn false again", constraint.span))

    def is_binding(self, constraint: nodes.Constraint) -> bool:
        """Say whether an equality gives a variable its value."""
        return any(
            isinstance(side, nodes.Variable) and side.name not in self.bound
            for side in (constraint.left, constraint.right)
        )

    def check_head(self, head: nodes.Atom) -> Iterator[Diagnostic]:
        """Yield moving values written to a column that does not move with them."""
        yield from self.check_groups(head)
        for term, column in self.columns(head):
            way = self.way(term)
            wanted = self.way_of_lattice(column.type) if column.is_lattice else Way.FIXED
            if way is Way.FIXED or way is wanted:
                continue
            where = f"column `{column.name}` of `{head.relation}`"
            does = "keeps what is written to it" if wanted is Way.FIXED else wanted.value
            yield _diagnostic(_Fault(term, way, f"{where} {does}", term.span))

    def must_stay(self, terms: Iterable[nodes.Term], reason: str) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each term whose value moves."""
        for term in terms:
            moving = [part for part in subterms(term) if self.way(part) is not Way.FIXED]
            if moving:
                yield _diagnostic(_Fault(moving[-1], self.way(moving[-1]), reason, term.span))


def _together(*ways: Way) -> Way:
    """Return where a value goes that grows with each of the given ones."""
    moving = {way for way in ways if way is not Way.FIXED}
    if not moving:
        return Way.FIXED
    return moving.pop() if len(moving) == 1 else Way.ANYWHERE


def _diagnostic(fault: _Fault) -> Diagnostic:
    is_aggregate = any(isinstance(part, nodes.Aggregate) for part in subterms(fault.term))
    name = "the aggregate" if is_aggregate else f"`{print_term(fault.term)}`"
    return Diagnostic(
        code="not-monotone",
        message=f"{name} {fault.way.value} while its own stratum is evaluated, but {fault.reason}",
        span=fault.span,
        hint="compare it only in the direction in which it moves, write it to a lattice column that moves "
        "the same way, or use it in a relation outside the recursion",
    )
