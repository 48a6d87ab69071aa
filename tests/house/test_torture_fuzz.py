"""The kinds of fuzzing: they find nothing in what is right, and find and shrink what is wrong."""

import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from tidelog.engine.spark import message
from tidelog.pipeline import job_read
from tidelog.store import Store
from tidelog.syntax import changes
from tidelog.syntax.terms import TermParser
from tidelog.values import Codec
from tidelog.web import requests as web_requests
from torture import (
    fuzz_changes,
    fuzz_facts,
    fuzz_http,
    fuzz_jobs,
    fuzz_messages,
    fuzz_programs,
    fuzzing,
    kill_pipeline,
    kill_store,
)
from torture.fuzzing import FuzzKind
from torture.kind import Failure
from torture.reproduction import write_reproduction
from torture.sandbox import Limits
from torture.shrinking import shrink

ROOT = Path(__file__).parents[2]
FUZZ_KINDS = [
    fuzz_programs.KIND,
    fuzz_facts.KIND,
    fuzz_changes.KIND,
    fuzz_jobs.KIND,
    fuzz_http.KIND,
    fuzz_messages.KIND,
]
KINDS = [*FUZZ_KINDS, kill_store.KIND, kill_pipeline.KIND]
SOON = Limits(seconds=0.4, extra_bytes=30 << 20)


def results(kind: FuzzKind, cases: int, seconds: float = 60) -> tuple[int, list[Failure]]:
    """Return how many of some cases were tried, and the failures."""
    found = list(kind.run(iter(range(cases)), time.monotonic() + seconds))
    failures = [each for each in found if isinstance(each, Failure)]
    return sum(each for each in found if isinstance(each, int)), failures


def planted(attempt, limits: Limits = SOON) -> FuzzKind:
    """Return a kind that tries a function of the test's own on words."""
    return FuzzKind(
        "planted", lambda chance: (" ".join(chance.choices("abcdefgh", k=4)),), attempt, limits=limits
    )


@pytest.mark.parametrize("kind", FUZZ_KINDS, ids=lambda kind: kind.name)
def test_nothing_is_found_in_what_is_right(kind):
    """A few hundred cases from a fixed seed end with an answer or a diagnostic."""
    tried, failures = results(kind, 300)

    assert [failure.summary for failure in failures] == []
    assert tried == 300


def test_kills_leave_a_store_whole():
    """A few killed writers lose nothing that was acknowledged, and leave nothing half done."""
    tried, failures = results(kill_store.KIND, 6)

    assert [failure.summary for failure in failures] == []
    assert tried == 6


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
def test_a_killed_pipeline_publishes_the_same():
    """A pipeline killed at a file operation and run again publishes what follows from its sources."""
    script = "members ann:staff staff:all\ngrants +,all,wiki,1 +,staff,payroll,2\nkill before 9\nrun\n"
    kind = replace(kill_pipeline.KIND, make=lambda _: (script,))

    tried, failures = results(kind, 1)

    assert [failure.summary for failure in failures] == []
    assert tried == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_seed_determines_its_input(kind):
    """The same seed draws the same input, and other seeds others."""
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
    """Take more memory than is allowed, from the system: an allocator may have as much left over."""
    if "g" in text:
        with mmap.mmap(-1, 512 << 20) as memory:
            memory[:: mmap.PAGESIZE] = bytes(len(memory) // mmap.PAGESIZE)


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
    # Only what is to hang meets a limit on its time; a busy machine is slow to give memory.
    limits = SOON if what == "hang" else replace(SOON, seconds=30.0)
    _, failures = results(planted(attempt, limits), 6)

    assert [failure.summary.split(":")[0].split(" at ")[0] for failure in failures] == [what]
    assert "'g'" in failures[0].reproduction


def test_a_death_is_reported_with_its_place_and_last_words():
    """What a library wrote before it ended the process, and where it was called, are in the summary."""

    def attempt(_text: str) -> None:
        os.write(2, b"earlier words\nheap is broken\n")
        os.abort()

    _, failures = results(planted(attempt), 1)

    place = f"test_torture_fuzz.py:{attempt.__code__.co_firstlineno + 2} in attempt"
    assert failures[0].summary == f"killed by SIGABRT at {place}: heap is broken"


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


@dataclass(frozen=True)
class Plant:
    """A mistake in a function, which `is_fatal` arguments meet; what matters of the input is `rest`."""

    kind: FuzzKind
    owner: object
    function: str
    is_fatal: Callable[..., bool]
    rest: str


@pytest.mark.parametrize(
    "plant",
    [
        Plant(fuzz_programs.KIND, TermParser, "term", lambda parser: parser.token.kind == "[", "["),
        Plant(fuzz_facts.KIND, Codec, "column_to_text", lambda *given: given[2] == "Tree", "Tree"),
        Plant(fuzz_changes.KIND, changes, "scan", lambda source: "commit" in source.text, "commit"),
        Plant(fuzz_jobs.KIND, job_read, "read_toml", lambda source: "trigger" in source.text, "trigger"),
        Plant(fuzz_http.KIND, web_requests, "number_in", lambda text: text == "2", "2"),
        Plant(fuzz_messages.KIND, message, "_table", lambda *given: given[0][0] == "r1", "r1"),
    ],
    ids=lambda plant: plant.kind.name,
)
def test_a_planted_mistake_is_found_and_shrunk(monkeypatch, plant):
    """A function that raises KeyError on some input is found, with hardly more than that input."""
    kind, right = plant.kind, getattr(plant.owner, plant.function)

    def wrong(*given, **named):
        if plant.is_fatal(*given):
            raise KeyError(plant.function)
        return right(*given, **named)

    # Shrunk to the end both times, however slow the machine is.
    monkeypatch.setattr(fuzzing, "_SHRINK_SECONDS", 120.0)
    # Loaded before the mistake is planted: loading may meet it too.
    kind.load()
    kind = replace(kind, load=tuple)
    monkeypatch.setattr(plant.owner, plant.function, wrong)

    _, failures = results(kind, 800)

    assert {failure.summary.split(" at ")[0] for failure in failures} == {"KeyError"}
    failure = failures[0]
    shrunk = failure.reproduction.rpartition("attempt(")[2]
    assert plant.rest in shrunk
    assert len(shrunk) < sum(len(repr(part)) + 6 for part in kind.input_of(failure.seed)) + 9
    assert kind.case(failure.seed) == failure


def test_an_epoch_that_is_lost_is_found(monkeypatch):
    """A store that acknowledges an epoch without writing it is caught by a kill."""
    # Loaded before the mistake is planted, for that goes through a store too; a child that had to compile
    # kernels would do so within its limit of memory.
    kill_store.KIND.load()
    right = Store.commit

    def commit(self, seconds):
        if self.epoch == 2:
            self.roll_back()
            self.epoch = 3
            return
        right(self, seconds)

    monkeypatch.setattr(Store, "commit", commit)
    kind = replace(kill_store.KIND, load=tuple)

    _, failures = results(kind, 3)

    assert "AssertionError" in {failure.summary.split(" at ")[0] for failure in failures}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_reproductions_need_nothing_of_this_package(kind):
    """The script of any kind's failure has all it needs in it, and imports Tidelog alone."""
    script = write_reproduction(kind.attempt, kind.input_of(1), 'a "title" with \\ in it')

    compile(script, "reproduction.py", "exec")
    assert "import tidelog" in script or "from tidelog" in script
    assert "from torture" not in script
    assert "import torture" not in script


def test_a_reproduction_runs_on_its_own(tmp_path):
    """The script of a failure needs nothing of this package, and shows the failure."""
    script = tmp_path / "reproduction.py"
    _, failures = results(planted(raise_on_g), 6)
    script.write_text(failures[0].reproduction, encoding="utf-8")

    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "AssertionError: a planted mistake" in done.stderr
