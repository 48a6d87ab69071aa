"""The kinds of fuzzing: they find nothing in what is right, and find and shrink what is wrong."""

import os
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from tidelog.syntax.terms import TermParser
from torture import fuzz_programs
from torture.fuzzing import FuzzKind
from torture.kind import Failure
from torture.sandbox import Limits
from torture.shrinking import shrink

ROOT = Path(__file__).parent.parent
KINDS = [fuzz_programs.KIND]
SOON = Limits(seconds=0.3, extra_bytes=200 << 20)


def results(kind: FuzzKind, cases: int, seconds: float = 60) -> tuple[int, list[Failure]]:
    """Return how many of some cases were tried, and the failures."""
    found = list(kind.run(iter(range(cases)), time.monotonic() + seconds))
    failures = [each for each in found if isinstance(each, Failure)]
    return sum(each for each in found if isinstance(each, int)), failures


def planted(attempt) -> FuzzKind:
    """Return a kind that tries a function of the test's own on words."""
    return FuzzKind(
        "planted", lambda chance: (" ".join(chance.choices("abcdefgh", k=4)),), attempt, limits=SOON
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nothing_is_found_in_what_is_right(kind):
    """A few hundred cases from a fixed seed end with an answer or a diagnostic."""
    tried, failures = results(kind, 300)

    assert [failure.summary for failure in failures] == []
    assert tried == 300


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_seed_determines_its_input(kind):
    """The same seed draws the same input, and other seeds others."""
    kind.load()

    assert kind.input_of(7) == kind.input_of(7)
    assert len({kind.input_of(seed) for seed in range(50)}) > 30


def hang_on_g(text: str) -> None:
    """Compute without end."""
    while "g" in text:
        pass


def wait_on_g(text: str) -> None:
    """Wait without end."""
    while "g" in text:
        time.sleep(1)


def grow_on_g(text: str) -> None:
    """Take more and more memory."""
    held = []
    while "g" in text:
        held.append(bytearray(1 << 28))


def die_on_g(text: str) -> None:
    """End the process as a fault in compiled code does."""
    if "g" in text:
        os.kill(os.getpid(), signal.SIGSEGV)


def raise_on_g(text: str) -> None:
    """Raise what is no diagnostic."""
    assert "g" not in text, "a planted mistake"


@pytest.mark.parametrize(
    ("attempt", "what"),
    [
        (hang_on_g, "hang"),
        (wait_on_g, "hang"),
        (grow_on_g, "MemoryError"),
        (die_on_g, "killed by SIGSEGV"),
        (raise_on_g, "AssertionError"),
    ],
)
def test_every_kind_of_fault_is_found_and_shrunk(attempt, what):
    """Hangs, waits, memory hogs, deaths and exceptions are told apart and put down to their input."""
    _, failures = results(planted(attempt), 6)

    assert [failure.summary.split(":")[0].split(" at ")[0] for failure in failures] == [what]
    assert "'g'" in failures[0].reproduction


def test_cases_after_a_death_are_tried():
    """A case that ends its process does not take the others with it."""
    tried, _ = results(planted(die_on_g), 20)

    assert tried == 20


def test_the_deadline_ends_a_run():
    """A run without end of seeds stops when its time is over."""
    kind = planted(raise_on_g)

    found = list(kind.run(count(), time.monotonic() + 0.3))

    assert found


def test_shrinking_leaves_what_matters():
    """Of many lines and characters only those remain without which the input does not fail."""
    text = "".join(f"line {number} of a long text\n" for number in range(60))

    def first_failing(candidates) -> int | None:
        fail = (place for place, (each,) in enumerate(candidates) if "41" in each and "t" in each)
        return next(fail, None)

    assert sorted(shrink((text,), first_failing, time.monotonic() + 60)[0]) == ["1", "4", "t"]


def term_fails(monkeypatch) -> None:
    """Plant a mistake in the parser: records in a term are a KeyError."""
    right = TermParser.term

    def term(self, *given):
        if self.token.kind == "[":
            raise KeyError(self.token.text)
        return right(self, *given)

    monkeypatch.setattr(TermParser, "term", term)


def test_a_mistake_in_the_parser_is_found_and_shrunk(monkeypatch):
    """A parser that raises KeyError on a token is found, with hardly more than that token."""
    term_fails(monkeypatch)

    _, failures = results(fuzz_programs.KIND, 300)

    assert {failure.summary.split(" at ")[0] for failure in failures} == {"KeyError"}
    failure = failures[0]
    text = fuzz_programs.KIND.input_of(failure.seed)[0]
    shrunk = failure.reproduction.rpartition("attempt(")[2]
    assert "[" in shrunk
    assert len(shrunk) < len(text)
    assert fuzz_programs.KIND.case(failure.seed) == failure


def test_a_reproduction_runs_on_its_own(tmp_path):
    """The script of a failure needs nothing of this package, and shows the failure."""
    script = tmp_path / "reproduction.py"
    _, failures = results(planted(raise_on_g), 6)
    script.write_text(failures[0].reproduction, encoding="utf-8")

    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "AssertionError: a planted mistake" in done.stderr
