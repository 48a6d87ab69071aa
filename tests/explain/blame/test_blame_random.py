"""Blame of random epochs against the reference engine."""

from hypothesis import given, settings

from support.epochs import examples
from support.epochs_programs import AGGREGATES, LAWS
from support.explanations_oracle import check_blamed, check_faults
from support.fault_cases import RandomFaults, random_faults


def _check_blame(faults: RandomFaults, method: str = "reasons") -> None:
    with faults.open() as session:
        before = {name: set(session[name]) for name in session}

        check_blamed(session, faults.faults, faults.worlds(session), method)

        assert session.epoch == 1
        assert {name: set(session[name]) for name in session} == before


@settings(max_examples=examples(20))
@given(random_faults())
def test_blame_reproduces_and_is_minimal(faults: RandomFaults) -> None:
    """The blamed changes alone bring all faults about, none can be left out, and the proofs are right."""
    _check_blame(faults)


@settings(max_examples=examples(15))
@given(random_faults(special=LAWS))
def test_blame_under_laws(faults: RandomFaults) -> None:
    """The same holds for equivalences, choices, subsumption, lattices, keys and size limits."""
    _check_blame(faults)


@settings(max_examples=examples(15))
@given(random_faults(aggregates=AGGREGATES))
def test_blame_above_aggregates(faults: RandomFaults) -> None:
    """The same holds for every aggregate, one in Python among them."""
    _check_blame(faults)


@settings(max_examples=examples(8))
@given(random_faults(special=LAWS, aggregates=AGGREGATES))
def test_blame_by_delta_debugging(faults: RandomFaults) -> None:
    """Delta debugging answers the same question over the same interface."""
    _check_blame(faults, "ddmin")


@settings(max_examples=examples(8))
@given(random_faults(special=LAWS, aggregates=AGGREGATES))
def test_explanations_on_another_engine(faults: RandomFaults) -> None:
    """A session over an engine that keeps no derivations gives the same answers."""
    with faults.open("reference") as session:
        check_faults(session, faults.faults, faults.worlds(session))
