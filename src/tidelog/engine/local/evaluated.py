"""The codes of a compiled term for a batch of bindings, and terms made of such terms."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tidelog.engine.protocol import Codes

Bools = npt.NDArray[np.bool_]
Bindings = Mapping[str, Codes]
# Codes, and which rows have a value (None: all). The code of a row without a value is meaningless.
Evaluated = tuple[Codes, Bools | None]
Compiled = Callable[[Bindings, int], Evaluated]
RowKernel = Callable[[Sequence[Codes], int], Evaluated]


def operands_of(nodes: Sequence[Compiled], columns: Bindings, count: int) -> tuple[list[Codes], Bools | None]:
    """Return the codes of every operand, and the rows in which all have a value."""
    codes: list[Codes] = []
    mask: Bools | None = None
    for node in nodes:
        node_codes, node_mask = node(columns, count)
        codes.append(node_codes)
        mask = _both(mask, node_mask)
    return codes, mask


def _both(left: Bools | None, right: Bools | None) -> Bools | None:
    if left is None:
        return right
    return left if right is None else left & right


def on_columns(kernel: Callable[..., Evaluated], operands: Sequence[Compiled]) -> Compiled:
    """Return a node that passes whole columns to `kernel`, including rows without a value."""

    def node(columns: Bindings, count: int) -> Evaluated:
        codes, mask = operands_of(operands, columns, count)
        result, result_mask = kernel(*codes)
        return result, _both(mask, result_mask)

    return node


def on_valid_rows(evaluate: RowKernel, operands: Sequence[Compiled], *, each_row: bool = False) -> Compiled:
    """Return a node that passes to `evaluate` only the rows in which every operand has a value.

    `evaluate` gets its operands' codes, each with `count` rows or with one row that applies to all. If all
    operands have one row, it is called for one row, except with `each_row`.
    """

    def node(columns: Bindings, count: int) -> Evaluated:
        codes, mask = operands_of(operands, columns, count)
        if count and not each_row and all(column.size == 1 for column in codes):
            count = 1
        if count == 0:
            return np.empty(0, dtype=np.int64), None
        if mask is None:
            return evaluate(codes, count)
        result = np.zeros(count, dtype=np.int64)
        has_value = np.zeros(count, dtype=np.bool_)
        rows = np.flatnonzero(np.broadcast_to(mask, count))
        if rows.size:
            shown = [column if column.size == 1 else column[rows] for column in codes]
            result[rows], answered = evaluate(shown, rows.size)
            has_value[rows] = True if answered is None else answered
        return result, has_value

    return node


def unless_all(has_value: Bools) -> Bools | None:
    """Return which rows have a value, or None if all have one."""
    return None if has_value.all() else has_value
