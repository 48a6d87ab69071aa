"""What functions do to values of lattices: joins, and what rules make of the values they read.

Values are tuples of codes, one for each lattice column. What a function returned is remembered, so it is
called once for each of its operands, and the laws of a join are checked for every pair it is called with.
"""

from collections.abc import Iterable, Sequence
from functools import reduce

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.solve import Solver
from tidelog.engine.user_functors import no_join
from tidelog.plan.lattice_arcs import ArcPlan
from tidelog.program import nodes
from tidelog.program.nodes import Program, Relation
from tidelog.values import Codec, NoValueError
from tidelog.values import Value as PythonValue
from tidelog.values.functors import canonical_value, order_key

Value = tuple[int, ...]
# So many results are remembered before all of them are forgotten.
_MOST_REMEMBERED = 1 << 20


class NotALattice(Exception):  # noqa: N818 - a finding about the user's functions, caught where it matters
    """A user's function breaks a law of lattices; the message says which, with an example."""


class LatticeCalls:
    """LatticeCalls functions of the user's with codes."""

    def __init__(self, program: Program, codec: Codec, functions: UserFunctions) -> None:
        self.program = program
        self.codec = codec
        self.solver = Solver(program, PythonFacts(program.relations), codec, functions)

    def call(self, functor: str, left: int, right: int, type_name: str) -> int:
        """Return what a functor makes of two values of a type."""
        operands = self.decoded(left, type_name), self.decoded(right, type_name)
        try:
            return self.codec.encode(self.solver.terms.call(functor, operands, None), type_name)
        except NoValueError:
            raise no_join(functor, operands) from None

    def decoded(self, code: int, type_name: str) -> PythonValue:
        """Return the value of a code."""
        return canonical_value(self.codec.decode(code, type_name))


class ColumnJoin:
    """The lattice of one column; every operator is checked on the values it meets."""

    def __init__(self, calls: LatticeCalls, lattice: nodes.Lattice) -> None:
        self.lattice = lattice
        self._calls = calls
        self._joined: dict[tuple[int, int], int] = {}
        self._orders: dict[int, object] = {}
        self._called: dict[tuple[str, int, int], int] = {}

    def order(self, code: int) -> object:
        """Return what values are sorted by."""
        if code not in self._orders:
            self._orders[code] = order_key(self._calls.decoded(code, self.lattice.type))
        return self._orders[code]

    def join_all(self, codes: Iterable[int]) -> int:
        """Return the least upper bound of values, taken in value order."""
        return reduce(self.join, sorted(codes, key=self.order))  # type: ignore[arg-type] # order keys compare

    def join(self, left: int, right: int) -> int:
        """Return the least upper bound of two values."""
        if left == right:
            return left
        found = self._joined.get((left, right))
        if found is None:
            found = self._ask(left, right)
            other = self._ask(right, left)
            if other != found:
                self._complain("is not commutative", left, right)
            self._joined[left, right] = self._joined[right, left] = found
            for each in (left, right):
                if each != found and self.join(each, found) != found:
                    self._complain("is not an upper bound", left, right)
            if len(self._joined) > _MOST_REMEMBERED:
                self._joined.clear()
        return found

    def widen(self, old: int, new: int) -> int:
        """Return a value above both, by the widening if there is one."""
        if self.lattice.widen is None or old == new:
            return new
        found = self._remembered(self.lattice.widen, old, new)
        if self.join(found, new) != found:
            self._complain("has a widening that is not an upper bound", old, new)
        return found

    def narrow(self, old: int, new: int) -> int:
        """Return a value between two, by the narrowing if there is one, otherwise the new one."""
        if self.lattice.narrow is None:
            return new
        found = self._remembered(self.lattice.narrow, old, new)
        if self._remembered(self.lattice.narrow, found, new) != found:
            self._complain("has a narrowing that does not come to rest", old, new)
        return found

    def _remembered(self, functor: str, old: int, new: int) -> int:
        key = functor, old, new
        if key not in self._called:
            if len(self._called) > _MOST_REMEMBERED:
                self._called.clear()
            self._called[key] = self._calls.call(functor, old, new, self.lattice.type)
        return self._called[key]

    def _ask(self, left: int, right: int) -> int:
        return self._calls.call(self.lattice.lub, left, right, self.lattice.type)

    def _complain(self, what: str, left: int, right: int) -> None:
        values = ", ".join(repr(self._calls.decoded(code, self.lattice.type)) for code in (left, right))
        raise NotALattice(f"the join `{self.lattice.lub}` {what} for {values}")


class Joins:
    """The lattices of a relation's columns."""

    def __init__(self, relation: Relation, columns: dict[str, ColumnJoin]) -> None:
        self.columns = [columns[relation.columns[place].type] for place in relation.lattice_columns]

    def join(self, values: Sequence[Value]) -> Value:
        """Return the least upper bound of values, column by column."""
        if len(values) == 1:
            return values[0]
        return tuple(
            column.join_all({value[place] for value in values}) for place, column in enumerate(self.columns)
        )

    def widen(self, old: Value, new: Value) -> Value:
        """Return what a value becomes that was joined with others."""
        return tuple(column.widen(*pair) for column, *pair in zip(self.columns, old, new, strict=True))

    def narrow(self, old: Value, new: Value) -> Value:
        """Return what a value becomes that the rules make another one of."""
        return tuple(column.narrow(*pair) for column, *pair in zip(self.columns, old, new, strict=True))

    @property
    def widens(self) -> bool:
        """Say whether a column has a widening."""
        return any(column.lattice.widen is not None for column in self.columns)

    @property
    def narrows(self) -> bool:
        """Say whether a column has a narrowing."""
        return any(column.lattice.narrow is not None for column in self.columns)

    def is_above(self, value: Value, others: Iterable[Value]) -> bool:
        """Say whether a value is an upper bound of others."""
        return all(
            column.join(value[place], other[place]) == value[place]
            for other in others
            for place, column in enumerate(self.columns)
        )


class ArcFunction:
    """The function of a rule: from the values of an arc's sources to values for its target."""

    def __init__(self, plan: ArcPlan, calls: LatticeCalls) -> None:
        self._plan = plan
        self._calls = calls
        self._known: dict[tuple[tuple[int, ...], tuple[Value, ...]], tuple[Value, ...]] = {}
        self._result_types = [term.type for term in plan.results]
        names = [variable.name for source in plan.values for variable in source]
        self._passes = self._passed_on(names)

    def _passed_on(self, names: list[str]) -> list[int] | None:
        """Return which values a rule passes on unchanged, None if it does more than that."""
        if self._plan.conditions:
            return None
        results = [term.name if isinstance(term, nodes.Variable) else None for term in self._plan.results]
        return [names.index(name) for name in results] if all(name in names for name in results) else None  # type: ignore[arg-type] # checked

    def __call__(self, used: tuple[int, ...], values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the values for the target; none if the conditions do not hold."""
        if self._passes is not None:
            if len(values) == 1 and self._passes == [0] and len(values[0]) == 1:
                return values
            flat = [code for value in values for code in value]
            return (tuple(flat[place] for place in self._passes),)
        key = used, values
        found = self._known.get(key)
        if found is None:
            if len(self._known) > _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[key] = tuple(self._solve(used, values))
        return found

    def _solve(self, used: tuple[int, ...], values: tuple[Value, ...]) -> Iterable[Value]:
        plan, calls = self._plan, self._calls
        columns = [plan.columns[place] for place in plan.used]
        variables = (*columns, *(variable for source in plan.values for variable in source))
        codes = (*used, *(code for value in values for code in value))
        binding = {
            variable.name: calls.decoded(code, variable.type)
            for variable, code in zip(variables, codes, strict=True)
        }
        terms = calls.solver.terms
        found: dict[Value, None] = {}
        for solved in calls.solver.bindings(plan.conditions, binding):
            try:
                results = [terms.value(term, solved) for term in plan.results]
            except NoValueError:
                continue
            encoded = map(calls.codec.encode, results, self._result_types)
            found[tuple(encoded)] = None
        return found
