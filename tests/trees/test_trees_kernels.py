"""Kernels over the shape of trees and rows by hash, against walks over plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from support.small_trees import Exp, encode, expressions, nested
from tidelog.trees.chains import make_chains, pair_by_hash, rows_by_size
from tidelog.trees.pool import Pool
from tidelog.trees.shape import hash_subtrees, measure_sizes, previous_siblings

# Hashes that are equal, and others that meet in the table.
hashes = st.sampled_from([0, 1, 2, 64, 65, 2**32, 2**63, 2**64 - 1])


def children_of(parents, row):
    """Return the children of a node in order."""
    return [child for child, parent in enumerate(parents) if parent == row]


@oracle_of(make_chains)
@given(st.lists(hashes, max_size=20))
def test_chains_lead_from_row_to_row(drawn):
    """The table has the first row of each hash, and each row leads to the next one of its hash."""
    heads, following = make_chains(np.array(drawn, np.uint64))

    assert following.tolist() == [
        next((later for later in range(row + 1, len(drawn)) if drawn[later] == drawn[row]), -1)
        for row in range(len(drawn))
    ]
    assert sorted(heads[heads >= 0].tolist()) == sorted({each: drawn.index(each) for each in drawn}.values())
    assert heads.size & (heads.size - 1) == 0
    assert heads.size >= 2 * len(drawn)


@oracle_of(pair_by_hash)
@given(
    left=st.lists(st.tuples(hashes, st.booleans()), max_size=12),
    right=st.lists(st.tuples(hashes, st.booleans()), max_size=12),
)
def test_equal_hashes_are_paired_in_order(left, right):
    """Each free place on the right takes the first free one on the left with its hash, each once."""
    left_free, right_free = (np.array([free for _, free in side], np.uint8) for side in (left, right))
    expected, free = [], [is_free for _, is_free in left]
    for each, is_free in right:
        found = (
            next((n for n, (other, _) in enumerate(left) if other == each and free[n]), -1) if is_free else -1
        )
        expected.append(found)
        if found >= 0:
            free[found] = False

    pairs = pair_by_hash(
        np.array([each for each, _ in left], np.uint64), np.array([each for each, _ in right], np.uint64),
        left_free, right_free,
    )  # fmt: skip

    assert pairs.tolist() == expected
    assert left_free.tolist() == free
    assert right_free.tolist() == [
        is_free and pair < 0 for (_, is_free), pair in zip(right, expected, strict=True)
    ]


@oracle_of(rows_by_size)
@given(st.lists(st.integers(1, 6), max_size=20))
def test_large_subtrees_come_first(sizes):
    """Rows come by falling size, those of one size in order."""
    assert rows_by_size(np.array(sizes, np.int32)).tolist() == sorted(
        range(len(sizes)), key=lambda row: -sizes[row]
    )


@oracle_of(measure_sizes, previous_siblings)
@given(st.lists(expressions, max_size=2))
def test_sizes_and_siblings_are_those_of_a_walk(exps):
    """A subtree has its node and those of its children; a sibling stands before another under one link."""
    trees = [encode(exp).nodes for exp in exps]
    starts = np.cumsum([0, *(tree.count for tree in trees)])
    parents = np.concatenate(
        [
            np.empty(0, np.int32),
            *(np.where(t.parents < 0, -1, t.parents + s) for t, s in zip(trees, starts, strict=False)),
        ]
    ).astype(np.int32)
    links = np.concatenate([np.empty(0, np.int32), *(tree.links for tree in trees)]).astype(np.int32)

    sizes = measure_sizes(parents)
    previous = previous_siblings(links, parents, sizes)

    def size(row):
        return 1 + sum(size(child) for child in children_of(parents.tolist(), row))

    def before(row):
        siblings = children_of(parents.tolist(), parents[row]) if parents[row] >= 0 else []
        return max((each for each in siblings if each < row and links[each] == links[row]), default=-1)

    assert sizes.tolist() == [size(row) for row in range(len(parents))]
    assert previous.tolist() == [before(row) for row in range(len(parents))]


def shape_of(exp):
    """Return an expression without its values."""
    return Exp(exp.type, (), tuple((link, shape_of(child)) for link, child in exp.children))


@oracle_of(hash_subtrees)
@given(st.lists(expressions, min_size=2, max_size=2))
def test_hashes_are_equal_where_subtrees_are(exps):
    """Shapes, whole subtrees and single nodes have equal hashes exactly where they are equal."""
    pool = Pool()
    seen = ({}, {}, {})
    for exp in exps:
        tree = encode(exp, pool)
        nodes = tree.nodes
        found = hash_subtrees(nodes.types, nodes.links, nodes.parents, nodes.value_starts, nodes.values)
        for row in range(nodes.count):
            below = nested(tree, row)
            for known, of, value in zip(
                seen, (shape_of(below), below, (below.type, below.values)), found, strict=True
            ):
                known.setdefault(of, set()).add(int(value[row]))

    for known in seen:
        assert all(len(values) == 1 for values in known.values())
        assert len(set().union(*known.values())) == len(known)
