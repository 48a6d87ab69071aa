"""Kernels that keep texts, against a dictionary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.code_rows import distinct
from support.kernel_oracles import oracle_of
from tidelog.values.text_kernels import FREE, find_text, grow_table, intern_texts, merge_orders

# Texts that differ in their last byte, in their length, or in zero bytes only, and some longer ones.
texts = st.binary(max_size=9) | st.text("ab\0é", max_size=6).map(str.encode)


def ends_of(each):
    """Return where texts that stand end to end begin and end."""
    return np.cumsum([0, *map(len, each)]).astype(np.int64)


def bytes_of(each):
    """Return texts end to end."""
    return np.frombuffer(b"".join(each), np.uint8)


class Texts:
    """The arrays that the kernels share, for some texts at most; the table is as full as it may be."""

    def __init__(self, every):
        count = len(set(every))
        self.table = np.zeros(1 << count.bit_length(), np.uint64)
        self.starts = np.zeros(count + 1, np.int64)
        self.arena = np.zeros(sum(map(len, set(every))), np.uint8)
        self.count = 0

    def intern(self, batch):
        """Return the codes of texts, new ones for those not met before."""
        codes = np.full(len(batch), -7, np.int64)
        self.count = int(
            intern_texts(
                bytes_of(batch),
                ends_of(batch),
                self.table,
                self.arena,
                self.starts,
                self.count,
                codes,
            )
        )
        return codes.tolist()

    def find(self, text):
        """Return the code of a text or -1."""
        return int(find_text(bytes_of([text]), self.table, self.arena, self.starts))


@oracle_of(intern_texts, find_text)
@given(batches=st.lists(st.lists(texts, max_size=20), max_size=3), others=st.lists(texts, max_size=5))
def test_equal_texts_have_one_code(batches, others):
    """Texts get codes in the order they are met, keep them, and are found by all their bytes."""
    every = [text for batch in batches for text in batch]
    expected = distinct(every)
    kept = Texts(every)

    codes = [code for batch in batches for code in kept.intern(batch)]

    assert [expected[code] for code in codes] == every
    assert kept.count == len(expected)
    assert bytes(kept.arena) == b"".join(expected)
    assert kept.starts.tolist() == ends_of(expected).tolist()
    for text in [*every, *others]:
        assert kept.find(text) == (expected.index(text) if text in expected else -1)


@oracle_of(grow_table)
@given(st.lists(texts, max_size=20, unique=True))
def test_a_new_table_finds_all_texts(every):
    """A larger table is filled from the words of the old one and has each code once."""
    kept = Texts(every)
    kept.intern(every)
    old, kept.table = kept.table, np.zeros(4 * kept.table.size, np.uint64)

    grow_table(old, kept.table)

    words = kept.table[kept.table != FREE]
    assert sorted((words & np.uint64(0xFFFFFFFF)).tolist()) == [code + 1 for code in range(len(every))]
    assert [kept.find(text) for text in every] == list(range(len(every)))


@oracle_of(merge_orders)
@given(every=st.lists(texts, max_size=20, unique=True), data=st.data())
def test_orders_are_merged_by_text(every, data):
    """Two sorted parts of the codes become one in the order of bytes, which is that of code points."""
    kept = Texts(every)
    kept.intern(every)
    codes = sorted(range(len(every)), key=every.__getitem__)
    added = data.draw(st.sets(st.sampled_from(codes))) if codes else set()
    order = [code for code in codes if code not in added]

    merged = merge_orders(
        kept.arena,
        kept.starts,
        np.array(order, np.int64),
        np.array([c for c in codes if c in added], np.int64),
    )

    assert merged.tolist() == codes
