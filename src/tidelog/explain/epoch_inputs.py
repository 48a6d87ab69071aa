"""The input facts of an epoch, from those of the present one."""

import numpy as np

from tidelog.explain.port import Explained
from tidelog.program.nodes import Program
from tidelog.storage.kernel import Int64s
from tidelog.views.epoch_diff import EpochDiff, Rows


def epoch_inputs(epochs: Explained, program: Program, later: EpochDiff | None) -> dict[str, Int64s]:
    """Return the input facts of an epoch as rows of codes; `later` is what changed from there until now."""
    found: dict[str, Int64s] = {}
    for name, state in epochs.handle.engine.export_state().relations.items():
        if name in program.relations and state.is_input.any():
            # Not every engine has an array for a relation without columns.
            columns = state.columns[: program.relations[name].arity]
            count = np.count_nonzero(state.is_input)
            found[name] = np.empty((count, len(columns)), np.int64)
            for place, column in enumerate(columns):
                found[name][:, place] = column[state.is_input]
    if later is None:
        return found
    for name in dict.fromkeys([*later.inputs_inserted, *later.inputs_deleted]):
        if name not in program.relations:
            # Declared by rules that were added later.
            continue
        before, inserted, deleted = (
            _facts(side, name) for side in (found, later.inputs_inserted, later.inputs_deleted)
        )
        left = sorted((before - inserted) | deleted)
        found[name] = np.array(left, np.int64).reshape(len(left), program.relations[name].arity)
    return {name: rows for name, rows in found.items() if len(rows)}


def _facts(rows: Rows, name: str) -> set[tuple[int, ...]]:
    return set(map(tuple, rows[name].tolist())) if name in rows else set()
