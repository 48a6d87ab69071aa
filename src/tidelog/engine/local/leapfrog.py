"""The leapfrog join made runnable: tries of the atoms, and the shape of the body in registers."""

from collections.abc import Callable

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.local.steps import KERNEL_OPS, ChainStep, first_buffer, next_buffer
from tidelog.plan.operators import Layout, Leapfrog, Operand, TrieAtom
from tidelog.program.nodes import Constant
from tidelog.storage.kernel import CodeArray
from tidelog.storage.leapfrog import leapfrog
from tidelog.storage.leapfrog_join import JoinShape, Records, make_join, with_tries
from tidelog.storage.trie import TrieBatch

# How much a step of the join adds to the work of maintenance, where a binding of another join adds 1.
_STEPS_PER_BINDING = 2


class LeapfrogStep(ChainStep):
    """Extends bindings by what all atoms agree on."""

    def __init__(
        self, operator: Leapfrog, layout: Layout, state: LocalState, expressions: Expressions
    ) -> None:
        self._state = state
        self._atoms = [_AtomTries(atom, state) for atom in operator.atoms]
        self._out = first_buffer(len(operator.outputs), state.dtype)
        shape = _shape(operator, layout, lambda constant: state.code_of(constant, expressions.codec))
        self._join = make_join(shape, self._out)

    def run(self, batch: CodeArray) -> None:
        """Push the bindings in which every atom has a fact in view."""
        batches: list[list[TrieBatch]] = []
        for number, atom in enumerate(self._atoms):
            found = atom.batches(self._join.atoms[number : number + 1])
            if not found:
                return
            batches.append(found)
        join = with_tries(self._join, batches)
        outer = np.ascontiguousarray(batch, self._state.dtype)
        progress = join.state[0]
        while progress["outer"] < outer.shape[0]:
            written = leapfrog(outer, join, self._out)
            self._state.count_bindings(written + int(progress["steps"]) // _STEPS_PER_BINDING)
            progress["steps"] = 0
            if written:
                self.next.run(self._out[:written])
            self._out = next_buffer(self._out, written)


class _AtomTries:
    """The batches of one atom's trie with the rows that the current iteration sees."""

    def __init__(self, atom: TrieAtom, state: LocalState) -> None:
        self._relation = state.relations[atom.relation]
        self._relation.restore_rows()
        self._visible = state.visible[atom.relation]
        self._view = atom.view
        self._columns = atom.columns
        self._is_numbered = atom.row is not None
        self._seen: tuple[int, int, int] | None = None
        self._batches: list[TrieBatch] = []

    def batches(self, record: Records) -> list[TrieBatch]:
        """Return the batches, none if no row is in view, and fill in which rows are."""
        relation = self._relation
        first, last = self._visible.rows(self._view)
        if first == last:
            return []
        trie = relation.trie(self._columns)
        trie.add_rows(relation.rows, self._visible.end)
        if self._seen != (first, last, trie.rows_indexed):
            self._batches = trie.view(relation.rows, first, last)
            self._seen = (first, last, trie.rows_indexed)
        is_whole = all(first <= batch.first and batch.last <= last for batch in self._batches)
        alive = relation.alive.ctypes.data if relation.deleted else 0
        record["lowest"], record["highest"], record["alive"] = first, last, alive
        record["needs_row"] = not is_whole or alive or self._is_numbered
        return self._batches


def _shape(operator: Leapfrog, layout: Layout, code_of: Callable[[Constant], int]) -> JoinShape:
    """Return the body of an operator in registers."""
    places: dict[Operand, int] = {}
    for place, operand in enumerate(layout):
        places.setdefault(operand, place)
    operands = [
        *(operand for atom in operator.atoms for operand in atom.operands),
        *(operand for check in operator.filters for operand in (check.left, check.right)),
        *operator.outputs,
    ]
    constants: list[int] = []
    for operand in operands:
        if not isinstance(operand, str) and operand not in places:
            places[operand] = len(layout) + len(constants)
            constants.append(code_of(operand))
    bound = (*operator.order, *(atom.row for atom in operator.atoms))
    places.update(
        (name, len(layout) + len(constants) + place) for place, name in enumerate(bound) if name is not None
    )
    return JoinShape(
        outer=len(layout),
        variables=len(operator.order),
        atoms=[[places[operand] for operand in atom.operands] for atom in operator.atoms],
        constants=constants,
        checks=[(KERNEL_OPS[each.op], places[each.left], places[each.right]) for each in operator.filters],
        outputs=[places[operand] for operand in operator.outputs],
        witness=operator.witness,
    )
