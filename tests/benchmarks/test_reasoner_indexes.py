"""The index structures of experiments: one suite for all of them, against a plain set."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.reasoners.indexes import INDEXES
from support.epochs import examples

KINDS = pytest.mark.parametrize("kind", INDEXES)
# A column of numbers, one of texts, and one of records that may be nil.
FACTS = st.tuples(
    st.integers(-3, 3), st.sampled_from("abc"), st.one_of(st.none(), st.tuples(st.integers(0, 2)))
)
COLUMNS = st.lists(st.integers(0, 2), unique=True, max_size=3).map(tuple)
CHANGES = st.lists(st.tuples(st.booleans(), FACTS), max_size=60)


@KINDS
@settings(max_examples=examples(60))
@given(positions=COLUMNS, changes=CHANGES)
def test_an_index_finds_what_a_set_has(kind: str, positions, changes):
    """After any insertions and deletions, some of them in vain, every key gives the facts that have it."""
    index, facts = INDEXES[kind](positions, 3), set()

    for is_inserted, fact in changes:
        (index.insert if is_inserted else index.delete)(fact)
        (facts.add if is_inserted else facts.discard)(fact)

    assert sorted(index, key=repr) == sorted(facts, key=repr)
    assert len(index) == len(facts)
    keys = {tuple(fact[place] for place in positions) for _, fact in changes}
    for key in keys:
        found = list(index.matching(key))
        assert sorted(found, key=repr) == sorted(
            (fact for fact in facts if tuple(fact[place] for place in positions) == key), key=repr
        )


@KINDS
@settings(max_examples=examples(10), deadline=None)
@given(order=st.permutations(range(400)), left=st.integers(0, 400))
def test_an_index_grows_and_shrinks(kind: str, order, left: int):
    """Four hundred facts in any order, and as many deletions as leave some: nodes are split and merged."""
    index = INDEXES[kind]((0,), 2)

    for number in order:
        index.insert((number % 7, number))
    for number in order[left:]:
        index.delete((number % 7, number))

    for key in range(7):
        assert sorted(index.matching((key,))) == sorted((key, n) for n in order[:left] if n % 7 == key)
    assert len(index) == left


@KINDS
def test_a_relation_without_columns_has_one_fact_or_none(kind: str):
    """The empty key matches the one fact that there can be."""
    index = INDEXES[kind]((), 0)

    index.insert(())
    index.insert(())

    assert list(index.matching(())) == [()]
    index.delete(())
    assert list(index) == []
