"""The machine that looks for wrong answers finds them, shrinks them, and ends."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import strategies as st

import tidelog
from torture.kind import Failure
from torture.kinds import MODULES, SLOW, find_kind
from torture.planted import MISTAKES, Mistake
from torture.runner import Runner
from torture.searching import RandomKind


def _check_small(number: int) -> int:
    assert number < 1000, "too large"
    return 1


NUMBERS = RandomKind(
    "numbers", "numbers", lambda: st.integers(0, 10**6), _check_small, lambda n: f"n = {n}\n"
)


def test_a_failing_case_is_shrunk_and_told_once():
    """What is reported is the smallest case that fails, with its error."""
    found = list(NUMBERS.run(iter(range(5)), time.monotonic() + 60))

    failures = [each for each in found if isinstance(each, Failure)]
    assert failures
    assert all(failure.reproduction.startswith("n = 1000\n") for failure in failures)
    assert all("too large" in failure.summary for failure in failures)


def test_the_same_seed_gives_the_same_cases():
    """A failure is found again by its seed."""
    first, second = (list(NUMBERS.run(iter([3]), time.monotonic() + 60)) for _ in range(2))

    assert [_told(each) for each in first] == [_told(each) for each in second]


def _told(each: int | Failure) -> object:
    return each if isinstance(each, int) else (each.kind, each.seed, each.reproduction.splitlines()[0])


@pytest.mark.parametrize("name", [name for name in MODULES if name not in SLOW])
def test_every_kind_checks_something(name: str):
    """Each kind gets through a few of its cases and counts them."""
    kind = find_kind(name)

    found = list(kind.run(iter([1, 2]), time.monotonic() + 60))

    assert [each for each in found if isinstance(each, Failure)] == []
    assert sum(each for each in found if isinstance(each, int)) > 0


def test_a_worker_that_dies_is_replaced_and_its_seed_told(monkeypatch: pytest.MonkeyPatch):
    """A crash of the process is a failure like any other, and the machine goes on."""
    monkeypatch.setattr("torture.runner.find_kind", lambda _: _Deadly())

    outcome = Runner(["deadly"], seed=0, seconds=2, jobs=1, most_failures=2).run()

    assert [failure.summary for failure in outcome.failures] == ["the process ended with 3"] * 2
    assert outcome.checked["deadly"] > 0


class _Deadly:
    name = unit = "deadly"

    def run(self, seeds, _deadline):
        """Die at the third seed."""
        for number, _ in enumerate(seeds):
            if number == 2:
                import os  # noqa: PLC0415 - in the child alone

                os._exit(3)
            yield 1


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.layer.partition(":")[0])
def test_planted_mistakes_fit_the_source(mistake: Mistake):
    """What a planted mistake replaces stands once in its file, and what replaces it can be compiled."""
    path = Path(tidelog.__file__).parent / mistake.path
    text = path.read_text(encoding="utf-8")

    assert text.count(mistake.right) == 1
    assert compile(text.replace(mistake.right, mistake.wrong), str(path), "exec")


def test_the_command_refuses_what_it_does_not_know():
    """A kind that does not exist, and minutes that are none, are told with the usage."""
    command = [sys.executable, "-m", "torture"]
    tests = str(Path(__file__).parents[1])

    for arguments in (["--only", "nothing"], ["--minutes", "soon"], ["--minutes", "-1"], ["--case", "3"]):
        done = subprocess.run(
            [*command, *arguments], capture_output=True, text=True, check=False, env={"PYTHONPATH": tests}
        )
        assert done.returncode == 2
        assert "usage: ./torture" in done.stderr
