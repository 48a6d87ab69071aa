"""What is learned about the cost of a stratum, from work and seconds that are given as data."""

import numpy as np
import pytest

from tidelog.maintain.learned import Learned
from tidelog.maintain.prices import UNKNOWN, Budget, Price, price_ratio, update_budget, work_budgets

MILLION = 1_000_000


def test_a_price_is_what_past_runs_took():
    """Later runs count more than earlier ones, and large ones more than small ones."""
    price = Price().after(MILLION, 1.0).after(MILLION, 2.0)

    assert price.per_unit == pytest.approx(2.5 / 1.5 / MILLION)
    assert price.after(30_000, 0.06).per_unit == pytest.approx(price.per_unit, rel=0.05)


def test_small_runs_have_no_price():
    """What takes no time cannot be measured."""
    assert UNKNOWN.after(19_999, 5.0) == UNKNOWN.after(MILLION, 0.0) == UNKNOWN
    assert not UNKNOWN.is_known


def test_a_price_that_was_far_too_high_is_dropped():
    """The first evaluation may have compiled kernels; the next one shows what it costs without."""
    assert Price().after(MILLION, 13.0).after(MILLION, 1.2) == Price(MILLION, 1.2)


@pytest.mark.parametrize(
    ("recompute_seconds", "update_seconds", "ratio"),
    [(1.0, 1.7, 1.7), (1.0, 0.5, 0.5), (1.0, 0.001, 0.25), (1.0, 100.0, 10.0)],
)
def test_the_ratio_of_two_prices_is_believed_within_reason(recompute_seconds, update_seconds, ratio):
    """A derivation of an update costs from a quarter to ten of a recompute."""
    assert price_ratio(Price(MILLION, recompute_seconds), Price(MILLION, update_seconds)) == pytest.approx(
        ratio
    )


def test_without_prices_one_ratio_stands_for_all():
    """As long as one of the prices is unknown, an update's derivation counts two and a half times."""
    assert price_ratio(UNKNOWN, Price(MILLION, 1.0)) == price_ratio(Price(MILLION, 1.0), UNKNOWN) == 2.5
    assert update_budget(0.2, MILLION, UNKNOWN, UNKNOWN) == Budget(80_000.0)


def test_a_budget_is_a_share_of_the_time_of_a_recompute():
    """Its work is what an update does in that time; some is always allowed, for all strata at once too."""
    prices = Price(MILLION, 1.0), Price(MILLION, 2.0)

    assert update_budget(0.2, 2 * MILLION, *prices) == Budget(200_000.0, pytest.approx(0.4))
    assert update_budget(0.2, 1_000, *prices).work == 20_000
    assert work_budgets(0.2, np.array([MILLION, 10.0])).tolist() == [200_000.0, 20_000.0]


@pytest.mark.parametrize(
    ("budget", "work", "seconds", "is_spent"),
    [
        (Budget(), 10**12, 10**6, False),
        (Budget(100_000), 100_000, 99.0, False),
        (Budget(100_000), 100_001, 0.0, True),
        # A quarter of a recompute's time would have finished this one: derivations were cheap.
        (Budget(43_950, 0.5), 200_000, 0.3, False),
        (Budget(43_950, 0.5), 200_000, 0.6, True),
        # Derivations that turn out dear are noticed before all of them are made.
        (Budget(400_000, 0.5), 150_000, 0.6, True),
        # The machine paused.
        (Budget(400_000, 0.5), 60_000, 9.0, False),
        (Budget(20_000, 0.001), 19_000, 9.0, False),
    ],
)
def test_an_update_is_given_up_by_its_time_where_prices_are_known(budget, work, seconds, is_spent):
    """Work alone decides only as long as there is no price."""
    assert budget.is_spent(work, seconds) == is_spent


def test_the_first_update_does_not_teach_a_price():
    """It makes indexes, which later ones have."""
    learned = Learned.from_evaluation(MILLION, 1.0)

    learned.learn(100, 100_000, seconds=3.0)

    assert learned.is_indexed
    assert learned.unit == MILLION / 2.5
    learned.learn(100, 100_000, seconds=0.2)
    assert learned.unit == MILLION / 2
    assert learned.budget(0.2, MILLION) == Budget(100_000.0, pytest.approx(0.2))


def test_predictions_go_by_updates_of_about_the_same_size():
    """Small changes seldom hit what much depends on."""
    learned = Learned(MILLION)
    learned.learn(10, 100)
    learned.learn(1_000, 400_000)

    assert predict(learned, 12) == 120
    assert predict(learned, 2_000) == 800_000


def test_insertions_are_predicted_by_insertions():
    """Until one was followed, by the share of what the stratum reads; recursion multiplies it."""
    learned = Learned(MILLION)
    learned.learn(1_000, 400_000)

    assert predict(learned, 1_000, share=0.01, is_growing=True) == 10_000
    assert predict(learned, 1_000, share=0.01, is_growing=True, is_recursive=True) == 30_000
    learned.learn(1_000, 70_000, is_growing=True)
    assert predict(learned, 1_000, is_growing=True) == 70_000


def test_no_change_is_predicted_to_cost_less_than_its_rows():
    """Each changed row is looked at."""
    learned = Learned(MILLION)
    learned.learn(10_000, 100)

    assert predict(learned, 10_000) == 10_000


def test_what_was_given_up_teaches_a_lower_bound():
    """It never lowers a prediction, however little was done before it was given up."""
    learned = Learned(MILLION)
    learned.learn(1_000, 500_000)

    learned.learn_failure(1_000, 40_000)

    assert predict(learned, 1_000) == 500_000
    learned.learn_failure(1_000, 400_000)
    assert predict(learned, 1_000) == 800_000


def test_cheaper_updates_lower_a_prediction_at_once():
    """Dearer ones raise it slowly: a needless recompute costs more than an update that is given up."""
    learned = Learned(MILLION)
    for work in (50_000, 10_000, 60_000):
        learned.learn(100, work)

    assert predict(learned, 100) == pytest.approx(20_000)


def refusals(learned: Learned, rows: int) -> int:
    """Return how often a change is recomputed before it is followed all the same."""
    learned.refusals = 0
    while not learned.has_waited(rows, is_growing=False):
        learned.refusals += 1
    return learned.refusals


def test_failures_make_the_next_attempt_rarer():
    """After so many refusals an update is tried all the same: sooner if it has few rows.

    Few rows differ most in what they cost, so that they are tried at once after a single failure.
    """
    learned = Learned(MILLION)
    waited = [(refusals(learned, 10), refusals(learned, 1_000))]
    for _ in range(2):
        learned.learn_failure(10, 100_000)
        waited.append((refusals(learned, 10), refusals(learned, 1_000)))
    learned.learn(10, 100)
    waited.append((refusals(learned, 10), refusals(learned, 1_000)))

    assert waited == [(1, 16), (0, 64), (3, 256), (1, 16)]


def test_a_size_that_was_followed_before_is_tried_again_sooner():
    """After an update has succeeded, one that fails says little about the next of the same size."""
    learned = Learned(MILLION)
    learned.learn(1_000, 100_000)
    learned.learn_failure(1_000, 300_000)

    assert refusals(learned, 900) == 0
    assert refusals(learned, 5_000) == 64
    learned.learn_failure(1_000, 300_000)
    assert refusals(learned, 900) == 3


def test_what_comes_after_the_first_sweep_is_learned():
    """It rises at once and falls bit by bit, and what is too small to be measured says nothing."""
    learned = Learned(MILLION)
    found = []
    for first, work in ((100_000, 150_000), (10, 1_000_000), (100_000, 180_000), (100_000, 130_000)):
        learned.learn_rest(first, work)
        found.append(learned.rest)

    assert found == pytest.approx([0.5, 0.5, 0.8, 0.7])
    learned.learn_rest(100_000, 10_000_000)
    assert learned.rest == 1.0


@pytest.mark.parametrize(
    ("budget", "extended"),
    [
        (Budget(100.0), Budget(160.0)),
        (Budget(300.0), Budget(300.0)),
        (Budget(100.0, 0.2), Budget(160.0, 0.32)),
        (Budget(100.0, 0.5), Budget(160.0, 0.5)),
    ],
)
def test_an_update_of_which_only_the_rest_is_left_goes_on(budget: Budget, extended: Budget):
    """Half as much again as is expected is allowed, whatever the budget was."""
    assert budget.extended(100.0, 0.2, 0.4) == pytest.approx(extended)


def test_an_update_is_tried_where_its_first_sweep_fits_the_budget():
    """What comes after the first sweep is not counted against the budget."""
    learned = Learned(MILLION, is_indexed=True)
    before = learned.acceptable(Budget(100_000.0), MILLION)
    learned.learn_rest(100_000, 150_000)

    assert (before, learned.acceptable(Budget(100_000.0), MILLION)) == (100_000, 150_000)


def test_other_rules_keep_only_what_a_recompute_took():
    """The same rules keep all that was learned; indexes are made again."""
    learned = Learned.from_evaluation(MILLION, 1.0)
    learned.learn(10, 500_000)

    same, other = learned.for_rules(is_same=True), learned.for_rules(is_same=False)

    assert predict(same, 10) == 500_000
    assert same.recompute_price == learned.recompute_price
    assert other == Learned(MILLION)
    assert not same.is_indexed


def predict(
    learned: Learned, rows: int, *, share: float = 0.0, is_growing: bool = False, is_recursive: bool = False
) -> float:
    """Return the work that is expected of a change."""
    return learned.predict(rows, share, is_growing=is_growing, is_recursive=is_recursive)
