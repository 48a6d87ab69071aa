"""Kernels that match the nodes of two trees, step by step, against loops that compare subtrees themselves."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.kernel_oracles import oracle_of
from support.small_trees import Exp, encode, expressions, nested
from tidelog.trees.chains import make_chains, rows_by_size
from tidelog.trees.match import (
    _by_type,
    _by_values,
    match_alike,
    match_around,
    match_in_place,
    match_shapes,
    share_elsewhere,
)
from tidelog.trees.pairing import SMALL
from tidelog.trees.pool import Pool
from tidelog.trees.sides import make_side

NEVER = 2**31 - 1


def shape_of(exp):
    """Return an expression without its values."""
    return Exp(exp.type, (), tuple((link, shape_of(child)) for link, child in exp.children))


@dataclass
class Case:
    """Two trees, some of whose nodes are partners already; kernels work on arrays, oracles on lists."""

    old: object
    new: object
    held: list
    partners: list = field(init=False)
    used: tuple = field(init=False)
    broken: tuple = field(init=False)

    def __post_init__(self):
        self.left, self.right = make_side(self.old.nodes), make_side(self.new.nodes)
        self.sides = (self.left, self.right)
        self.array = np.full(self.new.nodes.count, -1, np.int32)
        self.flags = np.array(self.held, np.uint8)
        self.order = rows_by_size(self.new.nodes.sizes)
        self.olds = [nested(self.old, row) for row in range(self.old.nodes.count)]
        self.news = [nested(self.new, row) for row in range(self.new.nodes.count)]
        self.partners = [-1] * len(self.news)
        self.used = ([False] * len(self.olds), [False] * len(self.news))
        self.broken = ([False] * len(self.olds), [False] * len(self.news))

    def pair(self, old, new):
        """Make two nodes partners; they and all around them are no longer free as a whole."""
        self.partners[new] = old
        for side, row in enumerate((old, new)):
            self.used[side][row] = True
            around = row
            while around >= 0:
                self.broken[side][around] = True
                around = int(self.sides[side].parents[around])

    def share(self, old, new):
        """Make two subtrees partners."""
        for place in range(int(self.left.sizes[old])):
            self.pair(old + place, new + place)

    def prepare(self, pairs):
        """Make nodes of one type partners, in the arrays too."""
        for old, new in pairs:
            if self.olds[old].type == self.news[new].type and not self.used[0][old] and not self.used[1][new]:
                self.pair(old, new)
        self.array[:] = self.partners
        for side, used, broken in zip(self.sides, self.used, self.broken, strict=True):
            side.used[:], side.broken[:] = used, broken

    def is_free(self, side, row):
        """Say whether a subtree can be shared as a whole."""
        return not self.used[side][row] and not self.broken[side][row]

    def check(self):
        """Compare the arrays with the lists."""
        assert self.array.tolist() == self.partners
        for side, used, broken in zip(self.sides, self.used, self.broken, strict=True):
            assert side.used.tolist() == used
            assert side.broken.tolist() == broken


@st.composite
def cases(draw):
    """Draw two trees, often alike, with a few partners."""
    pool, shared = Pool(), draw(expressions)
    wrapped = st.builds(lambda of, other: Exp("Add", (), ((0, of), (1, other))), st.just(shared), expressions)
    old, new = (encode(draw(expressions | wrapped | st.just(shared)), pool) for _ in range(2))
    held = draw(st.lists(st.integers(0, 1), min_size=new.nodes.count, max_size=new.nodes.count))
    case = Case(old, new, held)
    rows = st.tuples(st.integers(0, old.nodes.count - 1), st.integers(0, new.nodes.count - 1))
    case.prepare(draw(st.lists(rows, max_size=3)))
    return case


@oracle_of(share_elsewhere)
@given(case=cases(), least=st.integers(1, 4))
def test_equal_subtrees_are_shared_wherever_they_are(case, least):
    """Large subtrees first, each with the first equal one that is free; held ones keep what is inside."""
    flags = list(case.held)
    for new in case.order.tolist():
        size = int(case.right.sizes[new])
        if size < least:
            break
        if not case.is_free(1, new) or flags[new] > 1:
            continue
        equal = (o for o, each in enumerate(case.olds) if each == case.news[new] and case.is_free(0, o))
        if (old := next(equal, -1)) >= 0:
            case.share(old, new)
        elif flags[new]:
            flags[new + 1 : new + size] = [2] * (size - 1)

    share_elsewhere(case.left, case.right, case.array, case.order, case.flags, least)

    case.check()
    assert case.flags.tolist() == flags


@oracle_of(match_shapes)
@given(case=cases(), least=st.integers(1, 4))
def test_subtrees_of_one_shape_are_matched(case, least):
    """Large subtrees first, each with the first free one that differs in values only."""
    heads, following = make_chains(case.left.shapes)
    for new in case.order.tolist():
        if case.right.sizes[new] < least:
            break
        shape = shape_of(case.news[new])
        alike = (o for o, each in enumerate(case.olds) if shape_of(each) == shape and case.is_free(0, o))
        if case.is_free(1, new) and (old := next(alike, -1)) >= 0:
            case.share(old, new)

    match_shapes(case.left, case.right, case.array, case.order, heads, following, least)

    case.check()


@oracle_of(match_alike)
@given(case=cases(), by_values=st.booleans())
def test_nodes_alike_are_matched_whatever_is_below(case, by_values):
    """Nodes of subtrees that are not small are matched by type and values, or by type alone."""
    keys = _by_values if by_values else _by_type
    old_keys, new_keys = keys(case.left), keys(case.right)
    expected = []
    for new in case.order.tolist():
        wanted = case.news[new]
        if case.right.sizes[new] < SMALL:
            break
        if case.used[1][new] or (by_values and not wanted.values):
            continue
        # The first one counts, be it large enough or not.
        old = next(
            (
                row
                for row, each in enumerate(case.olds)
                if each.type == wanted.type
                and (not by_values or each.values == wanted.values)
                and not case.used[0][row]
            ),
            -1,
        )
        if old >= 0 and case.left.sizes[old] >= SMALL:
            case.pair(old, new)
            expected.append([old, new])

    pairs = match_alike(
        case.left, case.right, case.array, case.order, old_keys, new_keys, *make_chains(old_keys)
    )

    assert pairs.tolist() == expected
    case.check()


@oracle_of(match_around)
@given(cases())
def test_nodes_around_partners_are_matched(case):
    """From the bottom up, the parents of two partners become partners if they have one type."""
    expected = []
    for child in range(len(case.news) - 1, 0, -1):
        new, partner = int(case.right.parents[child]), case.partners[child]
        old = int(case.left.parents[partner]) if partner >= 0 else -1
        if min(old, new) < 0 or case.used[1][new] or case.used[0][old]:
            continue
        if case.olds[old].type == case.news[new].type:
            case.pair(old, new)
            expected.append([old, new])

    pairs = match_around(case.left, case.right, case.array)

    assert pairs.tolist() == expected
    case.check()


@oracle_of(match_in_place)
@given(expressions, expressions)
def test_trees_are_matched_from_the_root_down(one, two):
    """Partners have one type, one link and partners as parents; no two children that could be are left."""
    pool = Pool()
    old, new = encode(one, pool), encode(two, pool)
    case = Case(old, new, [0] * new.nodes.count)

    redo = match_in_place(case.left, case.right, case.array, case.flags, np.full((1, 2), -1, np.int32), NEVER)

    partners = case.array.tolist()
    assert len(redo) == 0
    assert one != two or partners == list(range(len(case.news)))
    pairs = {(-1, -1), *((o, n) for n, o in enumerate(partners) if o >= 0)}
    assert len({o for o, _ in pairs}) == len(pairs)
    for o, n in pairs - {(-1, -1)}:
        assert case.olds[o].type == case.news[n].type
        assert case.left.links[o] == case.right.links[n]
        assert (case.left.parents[o], case.right.parents[n]) in pairs
    for parent, new_parent in pairs:
        left_over = [
            {
                (int(side.links[row]), int(side.types[row]))
                for row in range(len(side.types))
                if side.parents[row] == above and not side.used[row]
            }
            for side, above in ((case.left, parent), (case.right, new_parent))
        ]
        assert not left_over[0] & left_over[1]
