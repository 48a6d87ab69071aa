"""The lowest iteration of a group of derivations, against a list of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import as_rows, widths
from support.kernel_oracles import oracle_of
from tidelog.maintain.strategies.counting import _lowest
from tidelog.storage.annotations import ABSENT


@oracle_of(_lowest)
@given(
    held=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=4, unique_by=lambda e: e[0]),
        max_size=4,
    ),
    dtype=widths,
    data=st.data(),
)
def test_groups_have_their_lowest_iteration_with_derivations(held, dtype, data):
    """Iterations without derivations do not count; a group that has none, or is none, is absent."""
    groups, arena, counts = [], [], []
    for entries in held:
        groups.append((len(arena), len(entries), len(entries)))
        for iteration, count in entries:
            arena.append((iteration, len(counts)))
            counts.append(count)
    asked = data.draw(st.lists(st.integers(-1, len(held) - 1)))
    levels, derivations = np.full(len(asked), -7, np.int32), np.full(len(asked), -7, np.int32)

    _lowest(
        as_rows(groups, 3, np.int64), as_rows(arena, 2, dtype), np.array(counts, np.int32),
        np.array(asked, np.int64), levels, derivations,
    )  # fmt: skip

    for place, group in enumerate(asked):
        found = min((e for e in (held[group] if group >= 0 else []) if e[1] > 0), default=None)
        if found is None:
            assert levels[place] == ABSENT
        else:
            assert (levels[place], derivations[place]) == found
