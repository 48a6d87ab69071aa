"""The best value of each key, against a dictionary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from tidelog.storage.lattice_table import improve_keys

KEYS = 4
values = st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1])


@oracle_of(improve_keys)
@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, KEYS - 1), values), max_size=12), max_size=4),
    data=st.data(),
)
def test_keys_keep_their_least_value(batches, data):
    """A key is reported once for each iteration in which it improves, with how many candidates attain it."""
    best, counts = np.zeros(KEYS, np.int64), np.zeros(KEYS, np.int32)
    known, changed = np.zeros(KEYS, np.uint8), np.zeros(KEYS, np.uint8)
    least, attained, reported = {}, {}, []

    for batch in batches:
        fresh = []
        for key, value in batch:
            if key not in least or value < least[key]:
                least[key], attained[key] = value, 1
                if key not in reported:
                    fresh.append(key)
                    reported.append(key)
            elif value == least[key] and key in reported:
                attained[key] += 1
        out = np.empty(len(batch), np.int64)
        keys = np.array([key for key, _ in batch], np.int64)
        found = improve_keys(
            keys, np.array([v for _, v in batch], np.int64), best, counts, known, changed, out
        )
        assert out[:found].tolist() == fresh
        if data.draw(st.booleans()):
            # As at the end of an iteration.
            changed[:] = 0
            reported = []

    assert {key: int(best[key]) for key in np.flatnonzero(known).tolist()} == least
    assert {key: int(counts[key]) for key in least} == attained
