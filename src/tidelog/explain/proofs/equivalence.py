"""The shortest chain of asserted pairs between two values of an equivalence."""

from collections import deque
from collections.abc import Iterator

from tidelog.engine.reference.terms import same
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivations import Deriver
from tidelog.explain.proofs.source import Level
from tidelog.explain.proofs.steps import Equivalence
from tidelog.values import Value


def find_chain(deriver: Deriver, atom: GroundAtom, below: Level | None) -> Equivalence | None:
    """Return the shortest chain of pairs that were asserted before a level, None if there is none.

    Pairs are asserted by inputs and by rules; the chain is found breadth first, from the left value.
    """
    start, goal = atom.fact
    if same(start, goal):
        for _, pair, is_turned in _pairs_at(deriver, atom.relation, start, below):
            return Equivalence((pair,), (is_turned,))
        return None
    came: dict[Value, tuple[Value, GroundAtom, bool] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        value = waiting.popleft()
        for other, pair, is_turned in _pairs_at(deriver, atom.relation, value, below):
            if other in came:
                continue
            came[other] = (value, pair, is_turned)
            if same(other, goal):
                return _chain(came, goal)
            waiting.append(other)
    return None


def _chain(came: dict[Value, tuple[Value, GroundAtom, bool] | None], goal: Value) -> Equivalence:
    pairs: list[GroundAtom] = []
    turned: list[bool] = []
    step = came[goal]
    while step is not None:
        value, pair, is_turned = step
        pairs.append(pair)
        turned.append(is_turned)
        step = came[value]
    return Equivalence(tuple(reversed(pairs)), tuple(reversed(turned)))


def _pairs_at(
    deriver: Deriver, relation: str, value: Value, below: Level | None
) -> Iterator[tuple[Value, GroundAtom, bool]]:
    """Yield the asserted pairs that hold a value: the other value, the pair, whether it is turned."""
    solver = deriver.solver
    for column in (0, 1):
        for fact in solver.source.matches(relation, {column: value}):
            if solver.source.is_input(relation, fact):
                yield fact[1 - column], GroundAtom(relation, fact), column == 1
        for rule in deriver.book.rules_of(relation):
            for fact in deriver.heads(rule, {column: value}, below):
                yield fact[1 - column], GroundAtom(relation, fact), column == 1
