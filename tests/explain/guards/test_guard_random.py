"""Guards over random epochs against exhaustive search by the reference engine."""

import pytest
from hypothesis import given, settings

from support.epochs import examples
from support.epochs_programs import AGGREGATES, LAWS
from support.explanations_oracle import Faults, Worlds, as_changes, smallest_repair
from support.fault_cases import RandomFaults, random_faults
from tidelog.explain.blame.answers import Violation
from tidelog.explain.guards.guards import GuardError

_FAULTS = random_faults(special=LAWS, aggregates=AGGREGATES)


def _guards(faults: Faults) -> dict[str, Faults]:
    """Return a guard for each fault, and the fault alone."""
    never = {f"never {text}": each for text, each in zip(faults.unwanted_texts, faults.unwanted, strict=True)}
    always = {f"always {text}": each for text, each in zip(faults.missing_texts, faults.missing, strict=True)}
    return {
        **{guard: Faults((each,), ()) for guard, each in never.items()},
        **{guard: Faults((), (each,)) for guard, each in always.items()},
    }


def _check(violation: Violation, faults: Faults, worlds: Worlds) -> None:
    assert violation.facts == (*faults.unwanted_texts, *faults.missing_texts)
    blamed, taken = as_changes(violation.blame), as_changes(violation.repair.taken_back)
    assert faults.are_in(worlds.world(blamed))
    assert faults.are_out_of(worlds.without(taken))
    assert len(taken) == len(smallest_repair(faults, worlds))


@settings(max_examples=examples(10))
@given(_FAULTS)
def test_a_broken_guard_is_reported_with_a_smallest_repair(random: RandomFaults) -> None:
    """Each guard that an epoch breaks is reported with changes that do it, and with a smallest repair."""
    guards = _guards(random.faults)
    with random.open_before() as session:
        for guard in guards:
            session.guard(guard)

        delta = session.apply(random.script)

        worlds = random.worlds(session)
    assert [violation.guard for violation in delta.violations] == list(guards)
    for violation in delta.violations:
        _check(violation, guards[violation.guard], worlds)


@settings(max_examples=examples(10))
@given(_FAULTS)
def test_a_strict_guard_refuses_and_tells_a_smallest_repair(random: RandomFaults) -> None:
    """The epoch is refused, nothing has changed, and what is told agrees with exhaustive search."""
    guards = _guards(random.faults)
    with random.open() as after:
        worlds = random.worlds(after)
    with random.open_before() as session:
        before = {name: set(session[name]) for name in session}
        for guard in guards:
            session.guard(guard, strict=True)

        with pytest.raises(GuardError) as caught:
            session.apply(random.script)

        assert session.epoch == 0
        assert {name: set(session[name]) for name in session} == before
    assert [violation.guard for violation in caught.value.violations] == list(guards)
    for violation in caught.value.violations:
        _check(violation, guards[violation.guard], worlds)
