"""A stored relation stays the same object whatever it holds; its version tells contents apart."""

import numpy as np

from support.code_rows import as_rows
from tidelog.storage import StoredRelation


def relation_of(*facts: tuple[int, int]) -> StoredRelation:
    """Return a relation with these facts."""
    stored = StoredRelation(2, np.int32, counting=True)
    stored.insert(as_rows(list(facts), 2))
    return stored


def test_another_content_has_another_version():
    """Who kept a row number sees by the version that it is stale."""
    stored = relation_of((1, 2), (3, 4))
    before = stored.version

    stored.take(relation_of((3, 4)))

    assert stored.version != before
    assert stored.find(as_rows([(3, 4)], 2)).tolist() == [0]


def test_a_content_that_is_taken_back_has_its_version_again():
    """After an evaluation is undone, row numbers and indexes from before it are right again."""
    stored = relation_of((1, 2), (3, 4))
    index, before = stored.index((0,)), stored.snapshot()
    version = stored.version
    stored.take(relation_of((5, 6)))

    stored.take(before)

    assert stored.version == version
    assert stored.find(as_rows([(3, 4), (5, 6)], 2)).tolist() == [1, -1]
    assert stored.index((0,)) is index


def test_no_two_contents_share_a_version():
    """Whatever is evaluated after an undo is not taken for what was undone."""
    stored = relation_of((1, 2))
    before = stored.snapshot()
    seen = {stored.version}
    for _ in range(3):
        stored.take(relation_of((7, 8)))
        assert stored.version not in seen
        seen.add(stored.version)
        stored.take(before)
