"""Blame of random epochs against the reference engine."""

from hypothesis import given, settings

from epochs import examples
from fault_cases import Oracle, RandomFaults, as_triples, random_faults


def _check_blame(faults: RandomFaults, method: str = "reasons") -> None:
    with faults.open() as session:
        oracle = Oracle(faults, session)

        blame = session.blame(faults.unwanted_texts, faults.missing_texts, method=method)

        assert session.epoch == 1
    blamed = as_triples(blame)
    assert oracle.reproduces(blamed)
    for change in blamed:
        assert not oracle.reproduces(other for other in blamed if other != change)
    assert len(blame.proofs) == len(faults.unwanted) + len(faults.missing)


@settings(max_examples=examples(20))
@given(random_faults())
def test_blame_reproduces_and_is_minimal(faults: RandomFaults) -> None:
    """The blamed changes alone bring all faults about, and no one of them can be left out."""
    _check_blame(faults)


@settings(max_examples=examples(6))
@given(random_faults(special=("eqrel", "choice", "least")))
def test_blame_under_laws(faults: RandomFaults) -> None:
    """The same holds for equivalences, choices and subsumption."""
    _check_blame(faults)


@settings(max_examples=examples(8))
@given(random_faults())
def test_blame_by_delta_debugging(faults: RandomFaults) -> None:
    """Delta debugging answers the same question over the same interface."""
    _check_blame(faults, "ddmin")
