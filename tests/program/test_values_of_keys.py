"""`price[item]`: values of keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from support.building import core, mistakes
from tidelog.source import Source
from tidelog.syntax import parse, print_tree

DECLARED = """
    .decl f(x: number, y: number) keys x
    .decl g(x: number, z: number, y: number) keys x, z
    .decl e(x: number, y: number)
    .decl r(x: number, y: number)
    .decl t(x: number, y: number) keys x
"""
FUNCTION = st.dictionaries(st.integers(0, 3), st.integers(0, 3))
PAIRS = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)
# A rule with values of keys, and what it means.
MEANINGS = [
    ("r(x, y) :- e(x, y), f[x] < f[y].", "r(x, y) :- e(x, y), f(x, a), f(y, b), a < b."),
    ("r(x, f[f[x]]) :- e(x, _).", "r(x, b) :- e(x, _), f(x, a), f(a, b)."),
    ("r(x, y) :- e(x, y), !(f[x] > 1).", "s(x) :- f(x, a), a > 1. r(x, y) :- e(x, y), !s(x)."),
    ("r(x, y) :- e(x, y), !f[x] = y.", "r(x, y) :- e(x, y), !f(x, y)."),
    (
        "r(x, y) :- e(x, y), !e(y, f[x]).",
        "r(x, y) :- e(x, y), (!f(x, _) ; f(x, a), !e(y, a)).",
    ),
    (
        "r(x, s) :- e(x, _), s = sum f[y] + 1 : { e(x, y) }.",
        "r(x, s) :- e(x, _), s = sum a + 1 : { e(x, y), f(y, a) }.",
    ),
    ("r(x, y) :- e(x, y), (f[x] = 1 ; f[y] = 2).", "r(x, y) :- e(x, y), (f(x, 1) ; f(y, 2))."),
    ("t[x] = f[x] + 1 :- e(x, _). r(x, y) :- t[x] = y.", "r(x, a + 1) :- e(x, _), f(x, a)."),
]


@pytest.mark.parametrize(("written", "meant"), MEANINGS, ids=[written for written, _ in MEANINGS])
@given(function=FUNCTION, pairs=PAIRS, change=FUNCTION)
def test_a_value_is_an_atom_beside_it(
    written: str, meant: str, function: dict[int, int], pairs: set[tuple[int, int]], change: dict[int, int]
) -> None:
    """A value of a key means the atom that has it, on every engine and after an epoch."""
    facts = {"f": list(function.items()), "e": sorted(pairs)}
    oracle = tidelog.open(f"{DECLARED} .decl s(x: number) {meant}", engine="reference", facts=facts)
    sessions = [
        tidelog.open(DECLARED + written, engine=engine, facts=facts) for engine in ("reference", "local")
    ]
    assert [set(db["r"]) for db in sessions] == [set(oracle["r"])] * 2

    replaced = [(key, value) for key, value in function.items() if change.get(key, value) != value]
    added = [(key, value) for key, value in change.items() if function.get(key) != value]
    for db in (oracle, *sessions):
        db.apply(delete={"f": replaced}, insert={"f": added})

    assert [set(db["r"]) for db in sessions] == [set(oracle["r"])] * 2


def test_equal_lookups_of_a_conjunction_are_one_atom() -> None:
    """`f[x]` twice is read once."""
    assert core(DECLARED + "r(x, x) :- e(x, _), f[x] > 1, f[x] < 3.", "r") == [
        "r(x, x) :- e(x, _), _f'1 > 1, _f'1 < 3, f(x, _f'1)."
    ]


def test_each_head_has_its_own_lookups() -> None:
    """A head that looks nothing up needs no value."""
    db = tidelog.open(DECLARED + "r(x, f[x]), t(x, 0) :- e(x, _). e(1, 1).")

    assert (list(db["r"]), list(db["t"])) == ([], [(1, 0)])


@pytest.mark.parametrize("qualifier", ["", " keys y", " choice-domain y"])
def test_a_relation_without_a_value_for_each_key_is_refused(qualifier: str) -> None:
    """Several facts may differ in the last column alone: there is no value to speak of."""
    text = f".decl h(x: number, y: number){qualifier} .decl r(x: number) h(1, 2). r(x) :- h(x, _), h[x] > 1."

    assert mistakes(text) == [("no-key", "h[x]")]


@pytest.mark.parametrize("qualifier", [" keys x", " choice-domain x"])
def test_keys_and_choices_have_values(qualifier: str) -> None:
    """Either sees to it that there is one value for a key."""
    db = tidelog.open(f".decl h(x: number, y: number){qualifier} .decl r(y: number) h[1] = 2. r(h[1]).")

    assert list(db["r"]) == [(2,)]


def test_a_query_and_a_change_may_use_it() -> None:
    """Queries bind the variables around a lookup; a change names key and value."""
    db = tidelog.open(DECLARED, facts={"f": [(1, 2), (2, 3)]})
    assert list(db.query("f[1] = y")) == [(2,)]
    assert list(db.query("f(x, _), f[f[x]] = y")) == [(1, 3)]

    db.apply("-f[1] = 2. +f[1] = 7.")

    assert list(db["f"]) == [(1, 7), (2, 3)]
    with pytest.raises(tidelog.TidelogError, match="no-key"):
        db.query("e[1] = y")


def test_the_text_round_trips() -> None:
    """The canonical layout keeps the notation, and a component renames what is looked up."""
    text = "f[1] = 2.\nr(x, f[x]) :- e(x, _), a.f[x] != g[x, f[x] + 1].\nt[x] = y :- e(x, y).\n"

    tree = parse(Source("a", text))

    assert print_tree(tree) == text
    inside = (
        ".comp C { .decl f(x: number, y: number) keys x f[1] = 2. } .init a = C .decl r(x: number) r(a.f[1])."
    )
    assert list(tidelog.open(inside)["r"]) == [(2,)]
