"""Chains that choose the next join for each binding, once its matches can be counted.

In a triangle such as

    p(x, z) :- c(y, w, z), p(x, w), p(x, y).

a new fact p(x, w) leads to all c(_, w, _) or to all p(x, _), and what the one has too many of the other
has few of, for some facts this way round and for others that way. No order of the atoms is right for all
of them. So the chain is split behind the first scan: one alternative for each atom that comes next, and
every binding goes where it matches the fewest facts; where it matches none in one of them, it ends. What is
left of the body behind that may be cyclic again, and is then split again.
"""

from collections.abc import Sequence
from dataclasses import replace

from tidelog.plan.body import Body, OperatorChain
from tidelog.plan.chain import ChainBuilder
from tidelog.plan.leapfrog_bounds import cyclic_part, is_cyclic
from tidelog.plan.operators import Choose, IndexJoin, Operator, View, all_operators
from tidelog.plan.search import EXHAUSTIVE_ATOMS, OrderSearch, is_connected

# Many atoms that could come next have many orders behind each; beyond this the cheapest have to do.
_MOST_ALTERNATIVES = 4
# Choices behind choices multiply what is planned. Delta rules choose once: more choices need more indexes, of
# relations that grow.
_MOST_CHOICES = 2
# With fewer bindings than this it does not matter how they go on.
_FEW_BINDINGS = 1000.0
# What an entry of an index that only alternatives need costs, in bindings of joins.
_ENTRY_COST = 1.0


def with_alternatives(best: OperatorChain, start: ChainBuilder, atoms: tuple[int, ...]) -> OperatorChain:
    """Return the best chain of a cyclic body with alternatives to the joins behind its start.

    `start` has scanned what the chain begins with, and `atoms` are left. In bodies that are not cyclic, the
    atoms that could come next have nothing new in common, and the order hardly matters. Chains that
    follow changes use the indexes there are, since one more costs memory for good; others build an
    index if the bindings expected are more than its entries.
    """
    body = start.body
    if not start.operators or not is_cyclic([*body.variables, frozenset(body.outer)]):
        return best
    if body.outer or View.DELTA in body.views:
        choosing = _choosing(start, atoms, 1)
    elif best.cost < _FEW_BINDINGS:
        return best
    else:
        choosing = _choosing(start, atoms, _MOST_CHOICES)
        if _index_cost(body, best, choosing) > best.cost:
            return best
    return choosing if isinstance(choosing.operators[-1], Choose) else best


def _choosing(start: ChainBuilder, atoms: tuple[int, ...], choices: int) -> OperatorChain:
    """Return a chain that joins these atoms next, with a choice wherever what is left of them is cyclic.

    At most `choices` of them are one behind the other.
    """
    start.settle()
    for number in atoms:
        if _only_checks(start, number):
            rest = tuple(other for other in atoms if other != number)
            return _choosing(start.extended(number), rest, choices)
    body = start.body
    if not choices:
        return _best(start, atoms)
    cycle = cyclic_part([*(body.variables[number] for number in atoms), frozenset(start.bound)])
    firsts = _firsts(start, [atoms[place] for place in cycle if place < len(atoms)])
    if len(firsts) < 2:
        return _best(start, atoms)
    chains = [
        _choosing(start.extended(first), tuple(x for x in atoms if x != first), choices - 1)
        for first in firsts[:_MOST_ALTERNATIVES]
    ]
    best, *others = sorted(chains, key=lambda chain: chain.work)
    if body.numbered:
        others = [chain for chain in others if not _indexes_needed(body, chain)]
    return merge_alternatives(best, others)


def _best(start: ChainBuilder, atoms: tuple[int, ...]) -> OperatorChain:
    """Return the cheapest chain found that joins these atoms next."""
    search = OrderSearch()
    if len(atoms) <= EXHAUSTIVE_ATOMS:
        search.try_all(start, atoms)
    else:
        search.try_greedily(start, atoms)
    return search.chain()


def _only_checks(start: ChainBuilder, number: int) -> bool:
    """Say whether joining an atom leaves at most one binding of each."""
    body = start.body
    is_whole = body.variables[number] <= start.bound
    return is_whole and (not body.counting or None not in body.operands[number])


def _firsts(start: ChainBuilder, atoms: Sequence[int]) -> list[int]:
    """Return the atoms that something leads to; of those that match the same facts, the cheapest."""
    body = start.body
    found: dict[object, int] = {}
    connected = (number for number in atoms if is_connected(start, number))
    for number in sorted(connected, key=lambda number: start.expect(number)[1]):
        operands = body.operands[number]
        key = tuple(x if not isinstance(x, str) or x in start.bound else None for x in operands)
        found.setdefault((body.atoms[number].relation, body.views[number], key), number)
    return list(found.values())


def _indexes_needed(body: Body, *chains: OperatorChain) -> set[tuple[str, tuple[int, ...]]]:
    """Return the indexes for joins of these chains that do not exist yet."""
    joins = (x for chain in chains for x in all_operators(chain.operators) if isinstance(x, IndexJoin))
    return {
        (x.relation, x.key)
        for x in joins
        if x.ordered is None and not body.statistics.is_indexed(x.relation, x.key)
    }


def _index_cost(body: Body, best: OperatorChain, choosing: OperatorChain) -> float:
    """Return what it costs to build the indexes that only alternatives need."""
    more = _indexes_needed(body, choosing) - _indexes_needed(body, best)
    return sum(_ENTRY_COST * (body.statistics.size(relation) or 0.0) for relation, _ in more)


def merge_alternatives(best: OperatorChain, others: Sequence[OperatorChain]) -> OperatorChain:
    """Return the best chain with the others as alternatives to it behind what they have in common.

    The best one is returned as it is unless all of them go on with a join there.
    """
    chains = [best, *(chain for chain in others if chain.operators != best.operators)]
    common = _common_length([chain.operators for chain in chains])
    rests = tuple(chain.operators[common:] for chain in chains)
    if len(rests) < 2 or not common or not all(_begins_with_join(rest) for rest in rests):
        return best
    outputs = best.operators[-1].outputs
    return replace(best, operators=(*best.operators[:common], Choose(rests, outputs)))


def _begins_with_join(operators: Sequence[Operator]) -> bool:
    first = operators[0] if operators else None
    return isinstance(first, IndexJoin) and bool(first.key) and first.ordered is None


def _common_length(chains: Sequence[Sequence[Operator]]) -> int:
    """Return how many operators all chains begin with."""
    length = 0
    for operators in zip(*chains, strict=False):
        if any(operator != operators[0] for operator in operators):
            break
        length += 1
    return length
