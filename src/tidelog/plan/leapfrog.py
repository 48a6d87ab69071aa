"""Which bodies are joined at once by leapfrog, in which order of variables, and why.

Joins in pairs make every binding of the first atoms before they look at the last ones. If the body is
cyclic, or a few keys have most of the facts, that can be far more than the result: a graph of n edges has
at most n ** 1.5 triangles, but up to n ** 2 paths of length two. A leapfrog join never does more work than
the largest possible result, but each of its steps costs more than a binding of joins in pairs. So both are
estimated.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from tidelog.dataclass import dataclass
from tidelog.plan.body import Body, OperatorChain
from tidelog.plan.leapfrog_bounds import is_cyclic, most_bindings
from tidelog.plan.leapfrog_operator import AtomGroup, free_variables, operands_of
from tidelog.plan.operators import Choose, View
from tidelog.plan.statistics import UNKNOWN_SIZE
from tidelog.program.nodes import Atom, Program
from tidelog.program.walk_nodes import variables_of

# What a step of a leapfrog join costs, in bindings of joins in pairs (measured: `benchmarks joins`).
_STEP_COST = 1.5
# The same where each binding may choose how it goes on.
_STEP_COST_BY_CHOICE = 4.0
# How much better it must be for acyclic bodies, for bodies whose tries grow with every iteration, and for
# bodies that start from a few facts, all of which joins in pairs follow more quickly.
_CAUTIOUS_MARGIN = 8.0
# By what factor a relation of the stratum is assumed to grow beyond its present size.
_EXPECTED_GROWTH = 8.0
# With fewer facts than this, nothing is known about a relation that grows.
_SETTLED_SIZE = 1 << 12
# How the distinct values of columns are counted: `Statistics.values` or `Statistics.distinct`.
_Count = Callable[[str, tuple[int, ...]], float | None]
# The orders of this many variables are few enough to try them all.
_EXHAUSTIVE_VARIABLES = 6


class JoinRequest(Enum):
    """What the user wants for the rules of a relation."""

    AUTO = "auto"
    LEAPFROG = "leapfrog"
    PAIRS = "pairs"


def requested_join(program: Program, relation: str) -> JoinRequest:
    """Return what pragmas request.

    .pragma "leapfrog" "triangle, clique"     or "*" for all relations
    .pragma "leapfrog-exclude" "path"
    """
    if _is_named(relation, program.pragmas.get("leapfrog-exclude", "")):
        return JoinRequest.PAIRS
    return (
        JoinRequest.LEAPFROG if _is_named(relation, program.pragmas.get("leapfrog", "")) else JoinRequest.AUTO
    )


def _is_named(relation: str, text: str) -> bool:
    names = {name.strip() for name in text.split(",")}
    return relation in names or "*" in names


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts of a body to be joined one after the other, or None for joins in pairs; and why.

    `work` is what was expected of this choice where it was compared with others.
    """

    parts: tuple[int | AtomGroup, ...] | None
    reason: str
    work: float | None = None


def choose_leapfrog(body: Body, pairs: OperatorChain) -> Choice:
    """Return whether a body is joined by leapfrog rather than by this best chain of joins in pairs."""
    request = JoinRequest.LEAPFROG if body.is_leapfrog else requested_join(body.program, body.head)
    components = components_of(body)
    if not any(len(component) > 1 for component in components):
        return Choice(None, "")
    edges = body.variables
    cyclic = is_cyclic([*edges, frozenset(body.outer)])
    if request is JoinRequest.PAIRS:
        return Choice(None, "in pairs: a pragma excludes leapfrog" if cyclic else "")
    if request is JoinRequest.AUTO and not (cyclic or _is_measured(body)):
        return Choice(None, "")
    if request is JoinRequest.AUTO and not _has_sizes(body):
        return Choice(None, "in pairs: the body is cyclic, but not all sizes are known" if cyclic else "")
    is_plain = cyclic and not body.growing and not body.outer
    margin = _STEP_COST * (1.0 if is_plain else _CAUTIOUS_MARGIN)
    variables = frozenset().union(*edges).difference(body.outer)
    if request is JoinRequest.AUTO and pairs.cost <= margin * len(variables):
        # Each variable takes at least one step.
        return Choice(None, f"in pairs: {_shape(cyclic=cyclic)}, but has few bindings" if cyclic else "")
    parts, steps = _leaping(components, body)
    if request is JoinRequest.LEAPFROG:
        asking = "the rule" if body.is_leapfrog else "a pragma"
        return Choice(parts, f"leapfrog: {asking} asks for it", steps)
    way, bindings = "in pairs", pairs.cost
    if is_plain and isinstance(pairs.operators[-1], Choose):
        # A binding that goes where it matches the fewest facts never does more than a leapfrog join either,
        # except that it looks for all values where one is enough.
        way, margin = "by choice", _STEP_COST_BY_CHOICE
        bindings = min(bindings, _leaping(components, replace(body, counting=True))[1])
    compared = f"about {steps:,.0f} steps against {bindings:,.0f} bindings {way}"
    if margin * steps < bindings:
        return Choice(parts, f"leapfrog: {_shape(cyclic=cyclic)}, {compared}", steps)
    reason = f"{way}: {_shape(cyclic=cyclic)}, but leapfrog takes {compared}" if cyclic else ""
    return Choice(None, reason, bindings)


def _leaping(components: Sequence[Sequence[int]], body: Body) -> tuple[tuple[int | AtomGroup, ...], float]:
    """Return the parts of a body whose components are each joined at once, and the steps expected."""
    sizes = Sizes(body)
    parts: list[int | AtomGroup] = []
    steps = 0.0
    for component in components:
        if len(component) == 1:
            parts.append(component[0])
            continue
        order, expected = best_variable_order(component, body, sizes)
        steps += expected
        parts.append(AtomGroup(tuple(component), order))
    return tuple(parts), steps


def delta_first(body: Body, choice: Choice) -> Choice:
    """Return a choice that scans the atom that reads the delta and leaps over the others.

    The join can then be divided by dividing the rows of the delta; each part leaps over the values below
    its own rows.
    """
    delta = next((number for number, view in enumerate(body.views) if view is View.DELTA), None)
    if choice.parts is None or delta is None:
        return replace(choice, parts=None)
    parts: list[int | AtomGroup] = [delta]
    for part in choice.parts:
        if isinstance(part, AtomGroup):
            rest = tuple(number for number in part.atoms if number != delta)
            parts.append(AtomGroup(rest, part.variables) if len(rest) > 1 else rest[0])
        elif part != delta:
            parts.append(part)
    return replace(choice, parts=tuple(parts))


def _is_measured(body: Body) -> bool:
    """Say whether an acyclic body may be judged by its sizes.

    A leapfrog join of two atoms takes at least as many steps as joining them in pairs. And if facts are only
    looked up, not counted, joins in pairs do less than estimated.
    """
    is_long = len(body.atoms) + bool(body.outer) >= 3
    return is_long and body.counting


def _has_sizes(body: Body) -> bool:
    """Say whether the sizes of all atoms are known, that of the delta excepted.

    The size of a relation whose stratum just begins is unknown or says nothing yet; comparing estimates
    would then compare two guesses.
    """
    for atom, view in zip(body.atoms, body.views, strict=True):
        least = _SETTLED_SIZE if atom.relation in body.growing else 1
        if view is not View.DELTA and (body.statistics.size(atom.relation) or 0) < least:
            return False
    return True


def _shape(*, cyclic: bool) -> str:
    return "the body is cyclic" if cyclic else "few keys have most of the facts"


def components_of(body: Body) -> list[list[int]]:
    """Return the atoms in groups that share variables not bound yet, the one with the delta first."""
    groups: list[tuple[set[str], list[int]]] = []
    for number in range(len(body.atoms)):
        names = set(body.variables[number]) - set(body.outer)
        members = [number]
        rest = []
        for others, numbers in groups:
            if names & others:
                names |= others
                members = [*numbers, *members]
            else:
                rest.append((others, numbers))
        groups = [*rest, (names, members)]
    found = [sorted(members) for _, members in groups]
    return sorted(found, key=lambda members: (all(body.views[n] is not View.DELTA for n in members), members))


class Sizes:
    """The expected numbers of distinct values of an atom's columns."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._known: dict[tuple[int, frozenset[int], _Count], float] = {}

    def below(self, number: int, before: frozenset[int], columns: frozenset[int]) -> float:
        """Return how many distinct values columns of an atom have for one value of those `before`.

        If nothing is before, all values are met, each once; else those with the most facts most often.
        """
        if not before:
            return self._distinct(number, columns, self._body.statistics.values)
        weighted = self._body.statistics.distinct
        return self._distinct(number, columns, weighted) / self._distinct(number, before, weighted)

    def _distinct(self, number: int, columns: frozenset[int], count: _Count) -> float:
        known = self._known.get((number, columns, count))
        if known is None:
            known = self._known[number, columns, count] = self._expected(number, columns, count)
        return known

    def _expected(self, number: int, columns: frozenset[int], count: _Count) -> float:
        atom = self._body.atoms[number]
        if not columns or self._body.views[number] is View.DELTA:
            return 1.0
        statistics = self._body.statistics
        size = statistics.size(atom.relation)
        if size is None:
            size = UNKNOWN_SIZE
        if atom.relation in self._body.growing:
            size *= _EXPECTED_GROWTH
        if len(columns) == len(atom.terms):
            return size
        counted = count(atom.relation, tuple(sorted(columns)))
        evenly = float(size ** (len(columns) / len(atom.terms)))
        return min(size, evenly if counted is None else counted)


def best_variable_order(
    component: Sequence[int], body: Body, sizes: "Sizes | None" = None
) -> tuple[tuple[str, ...], float]:
    """Return the order of a group's variables that is expected to take the fewest steps, and these."""
    sizes = Sizes(body) if sizes is None else sizes
    atoms = {number: body.atoms[number] for number in component}
    free = free_variables(atoms, body.outer)
    named = tuple(name for name in free if not name.startswith("%any"))
    wildcards = tuple(name for name in free if name.startswith("%any"))
    search = _OrderSearch(atoms, body, sizes)
    if len(named) <= _EXHAUSTIVE_VARIABLES:
        search.try_all((), named, 1.0, 0.0)
    else:
        search.try_greedily(named)
    order = (*search.best, *wildcards)
    return order, search.bounded_steps(order)


class _OrderSearch:
    """Tries orders of variables, and drops those that are already worse than the best."""

    def __init__(self, atoms: dict[int, Atom], body: Body, sizes: Sizes) -> None:
        self._sizes = sizes
        self._outer = frozenset(body.outer)
        self._operands = {number: operands_of(number, atom) for number, atom in atoms.items()}
        # Without counting, one value is enough for variables at the end that are not needed.
        needed = {operand for operand in body.outputs if isinstance(operand, str)}
        for literal in body.literals:
            if not isinstance(literal, Atom):
                needed |= variables_of(literal)
        self._needed = None if body.counting else frozenset(needed)
        self.best: tuple[str, ...] = ()
        self._least = float("inf")
        self._known: dict[tuple[frozenset[str], str], tuple[float, int]] = {}

    def try_all(self, order: tuple[str, ...], left: tuple[str, ...], bindings: float, steps: float) -> None:
        if steps >= self._least:
            return
        if not left:
            self.best, self._least = order, steps
            return
        is_witness = self._needed is not None and self._needed.isdisjoint(left)
        for place, name in enumerate(left):
            values, participants = self._values(order, name)
            met = bindings * values
            rest = left[:place] + left[place + 1 :]
            added = self._steps(met, bindings, participants, is_witness=is_witness)
            self.try_all((*order, name), rest, bindings if is_witness else met, steps + added)

    def _steps(self, met: float, bindings: float, participants: int, *, is_witness: bool) -> float:
        """Return the steps on one level that has this many values below this many bindings.

        A witness that several atoms must agree on may be the last value met; in a single atom it is
        the first.
        """
        if is_witness and participants == 1:
            return bindings
        return max(participants - 1, 1) * max(met, bindings)

    def try_greedily(self, names: tuple[str, ...]) -> None:
        order: tuple[str, ...] = ()
        left = list(names)
        while left:
            best = min(left, key=lambda name: self._values(order, name)[0])
            order = (*order, best)
            left.remove(best)
        self.best = order

    def _values(self, order: tuple[str, ...], name: str) -> tuple[float, int]:
        """Return how many values a variable has for each binding of those before, and its atoms.

        That does not depend on their order, so it is a lookup for most of the orders.
        """
        before = frozenset(order)
        known = self._known.get((before, name))
        if known is None:
            known = self._known[before, name] = self._count_values(self._outer | before, name)
        return known

    def _count_values(self, bound: frozenset[str], name: str) -> tuple[float, int]:
        fewest = float("inf")
        participants = 0
        for number, operands in self._operands.items():
            if name not in operands:
                continue
            participants += 1
            before = frozenset(c for c, x in enumerate(operands) if not isinstance(x, str) or x in bound)
            with_name = before.union(c for c, x in enumerate(operands) if x == name)
            fewest = min(fewest, self._sizes.below(number, before, with_name))
        return max(fewest, 1e-3), participants

    def bounded_steps(self, order: tuple[str, ...]) -> float:
        """Return the expected steps of an order, on each level at most what the sizes allow."""
        steps, bindings = 1.0, 1.0
        for place, name in enumerate(order):
            values, participants = self._values(order[:place], name)
            is_witness = self._needed is not None and self._needed.isdisjoint(order[place:])
            met = min(bindings * values, self._most(order[: place + 1]))
            steps += self._steps(met, bindings, participants, is_witness=is_witness)
            bindings = bindings if is_witness else met
        return steps

    def _most(self, prefix: tuple[str, ...]) -> float:
        """Return the largest number of bindings that the first variables of an order can have."""
        edges, sizes = [], []
        for number, operands in self._operands.items():
            inside = frozenset(x for x in operands if isinstance(x, str) and x in prefix)
            if not inside:
                continue
            bound = frozenset(c for c, x in enumerate(operands) if not isinstance(x, str) or x in self._outer)
            columns = bound.union(c for c, x in enumerate(operands) if x in inside)
            edges.append(inside)
            sizes.append(max(self._sizes.below(number, bound, columns), 1.0))
        return most_bindings(edges, sizes)
