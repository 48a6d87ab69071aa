"""`Session.ranges`: counts, sums and extremes over ranges of a column."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog

PROGRAM = """
    .decl sale(day: number, shop: symbol, price: number)
    .decl weight(at: float, kilos: unsigned)
    .decl late(day: number, price: number)
    late(d, p) :- sale(d, _, p), d > 5.
"""
SALES = st.sets(st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.integers(-3, 3)), max_size=12)
ENDS = st.one_of(st.none(), st.integers(-1, 11))


def in_range(facts: set[tuple[int, int]], low: int | None, high: int | None) -> list[int]:
    """Return the values of the facts in a range, by the definition."""
    return [value for key, value in facts if (low is None or low <= key) and (high is None or key < high)]


@given(before=SALES, after=SALES, low=ENDS, high=ENDS)
def test_ranges_follow_the_epochs(
    before: set[tuple[int, str, int]], after: set[tuple[int, str, int]], low: int | None, high: int | None
) -> None:
    """Input and derived relations are asked about as they are after every epoch."""
    db = tidelog.open(PROGRAM, facts={"sale": sorted(before)})
    sales, late = db.ranges("sale", over="day", of="price"), db.ranges("late", over="day", of="price")

    db.apply(delete={"sale": sorted(before - after)}, insert={"sale": sorted(after - before)})

    prices = [price for day, _, price in after if day in range(*_ends(low, high))]
    assert (sales.count(low, high), sales.sum(low, high)) == (len(prices), sum(prices))
    assert sales.min(low, high) == min(prices, default=None)
    assert sales.max(low, high) == max(prices, default=None)
    values = in_range(set(db["late"]), low, high)
    assert (late.count(low, high), late.sum(low, high)) == (len(values), sum(values))


def _ends(low: int | None, high: int | None) -> tuple[int, int]:
    return -100 if low is None else low, 100 if high is None else high


def test_floats_and_unsigned() -> None:
    """Ranges of floats are in their order; sums of unsigned wrap, as in rules."""
    large = 2**64 - 1
    db = tidelog.open(PROGRAM, facts={"weight": [(-1.5, 3), (0.5, large), (2.5, 2)]})

    kilos = db.ranges("weight", over="at", of="kilos")

    assert (kilos.sum(-2.0, 1.0), kilos.max(), kilos.min(0.5)) == (2, large, 2)
    assert kilos.count(2.5, 2.5) == 0
    with pytest.raises(tidelog.TidelogError, match="floats"):
        db.ranges("weight", over="at").sum()


def test_ranges_that_are_closed_stay_as_they_are() -> None:
    """Nothing is followed any more, and a session goes on without it."""
    db = tidelog.open(PROGRAM, facts={"sale": [(1, "a", 5)]})
    sales = db.ranges("sale", over="day", of="price")

    sales.close()
    db.apply(insert={"sale": [(2, "a", 7)]})

    assert (sales.sum(), sales.max()) == (5, 5)


@pytest.mark.parametrize(
    ("relation", "over", "of", "message"),
    [
        ("sales", "day", None, "there is no relation `sales`"),
        ("sale", "week", None, "`sale` has no column `week`"),
        ("sale", "shop", "price", "the column `shop` of `sale` is not numeric"),
    ],
)
def test_what_has_no_ranges_is_refused(relation: str, over: str, of: str | None, message: str) -> None:
    """A mistake names the relation or the column."""
    db = tidelog.open(PROGRAM)

    with pytest.raises(tidelog.TidelogError, match=message):
        db.ranges(relation, over, of)
