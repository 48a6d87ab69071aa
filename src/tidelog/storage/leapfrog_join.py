"""A leapfrog join as its kernels read it: records with names, made from a shape.

Values are in *registers*: the columns of the outer binding, the constants, the variables, and the row
numbers of the atoms, in this order.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.storage.kernel import CodeArray, Int32s, Int64s
from tidelog.storage.trie import CURSOR, TrieBatch

LOWEST: Final = np.int64(-(2**63))
HIGHEST: Final = np.int64(2**63 - 1)

Records = npt.NDArray[np.void]


def _record(*names: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in names])


# An atom: its batches among all cursors, its number of levels, and which rows are in view. These are the
# rows from `lowest` to `highest - 1`; `alive` is the address of one byte for each row, `levels` that of
# one level, 0 where it does not matter; with the address `before` it is the level before the epoch in
# progress. `needs_row` says whether the row must be found at all.
ATOM: Final = _record(
    "first_batch", "last_batch", "depth", "lowest", "highest", "alive", "levels", "before", "needs_row"
)
# A level of an atom: the least value that any of its batches is at; the register whose value it must have,
# or -1 if a variable is searched; and the index that its intervals go to, or -1.
LEVEL: Final = _record("key", "fixed", "index")
# A variable: its first part and its first check, each up to those of the next one, and what it may be.
VARIABLE: Final = _record("first_part", "first_check", "low", "high")
# A level of an atom that has a variable, and a comparison between two registers.
PART: Final = _record("atom", "level")
CHECK: Final = _record("comparison", "left", "right")
# Where the join is: the outer binding, the variable whose value is next (-1 before the first one), whether
# its level is yet to be opened, the steps made; and what does not change: the registers of the first
# variable and of the first row, from which variable on one value is enough, and which one is swept.
STATE: Final = _record(
    "outer", "variable", "is_fresh", "steps", "first_variable", "first_row", "witness", "sweeps_at"
)


class Join(NamedTuple):
    """The atoms, cursors and registers of one join; `like` is any array of the codes' width.

    `levels[atom, level]` describes an atom's trie, `cursors[batch, level]` the place of each of its
    batches. A last record of `variables` closes the parts and checks. `sources` names the register of each
    output column. `state` is a single record.
    """

    atoms: Records
    levels: Records
    cursors: Records
    variables: Records
    parts: Records
    checks: Records
    registers: Int64s
    sources: Int32s
    state: Records
    like: CodeArray


@dataclass(frozen=True, slots=True)
class JoinShape:
    """A body in registers: each level of each atom, comparisons as (comparison, left, right), outputs.

    a(x, 7, y), b(y, g), x < y    outer g in register 0, the constant 7 in 1, x in 2, y in 3

    `JoinShape(outer=1, constants=(7,), variables=2, atoms=((1, 2, 3), (0, 3)), checks=((LESS, 2, 3),), ...)`
    """

    outer: int
    variables: int
    atoms: Sequence[Sequence[int]]
    constants: Sequence[int] = ()
    checks: Sequence[tuple[int, int, int]] = ()
    outputs: Sequence[int] = ()
    witness: int | None = None

    @property
    def first_variable(self) -> int:
        """Return the register of the first variable."""
        return self.outer + len(self.constants)

    @property
    def first_row(self) -> int:
        """Return the register of the first atom's row."""
        return self.first_variable + self.variables


def make_join(shape: JoinShape, like: CodeArray) -> Join:
    """Return a join whose atoms see all rows; `with_tries` adds its cursors."""
    atoms = np.zeros(len(shape.atoms), ATOM)
    atoms["depth"] = [len(operands) for operands in shape.atoms]
    atoms["highest"] = HIGHEST
    atoms["needs_row"] = 1
    levels = np.zeros((len(shape.atoms), max(map(len, shape.atoms))), LEVEL)
    levels["fixed"] = levels["index"] = -1
    parts: list[list[tuple[int, int]]] = [[] for _ in range(shape.variables)]
    for atom, operands in enumerate(shape.atoms):
        for level, register in enumerate(operands):
            if register >= shape.first_variable and register not in operands[:level]:
                parts[register - shape.first_variable].append((atom, level))
            else:
                levels[atom, level]["fixed"] = register
    # A comparison is made once its last variable has a value, or at the start if it has no variable.
    ready = [max(0, max(check[1:]) - shape.first_variable + 1) for check in shape.checks]
    variables = np.zeros(shape.variables + 1, VARIABLE)
    variables["first_part"] = np.cumsum([0, *map(len, parts)])
    variables["first_check"] = np.cumsum(np.bincount(ready, minlength=shape.variables + 1))
    checks = [shape.checks[place] for place in np.argsort(ready, kind="stable")]
    state = np.zeros(1, STATE)
    state["first_variable"], state["first_row"] = shape.first_variable, shape.first_row
    state["witness"] = shape.variables if shape.witness is None else shape.witness
    registers = np.zeros(shape.first_row + len(shape.atoms), np.int64)
    registers[shape.outer : shape.first_variable] = shape.constants
    return Join(
        atoms=atoms,
        levels=levels,
        cursors=np.zeros((0, levels.shape[1]), CURSOR),
        variables=variables,
        parts=np.array(list(chain.from_iterable(parts)), PART),
        checks=np.array(checks, CHECK),
        registers=registers,
        sources=np.array(shape.outputs, np.int32),
        state=state,
        like=like,
    )


def with_tries(join: Join, batches: Sequence[Sequence[TrieBatch]]) -> Join:
    """Return a join over the batches of each atom, before its first binding."""
    ends = np.cumsum([len(of) for of in batches])
    join.atoms["first_batch"], join.atoms["last_batch"] = ends - [len(of) for of in batches], ends
    cursors = np.zeros((ends[-1], join.levels.shape[1]), CURSOR)
    for number, batch in enumerate(batch for of in batches for batch in of):
        cursors[number, : batch.table.shape[0]] = batch.table
    state = join.state[0]
    state["outer"] = state["is_fresh"] = state["steps"] = 0
    state["variable"] = -1
    return join._replace(cursors=cursors)
