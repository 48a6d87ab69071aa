"""How long the explorer's pages of a large relation take.

    python -m benchmarks.explorer --facts 10000000

One relation of numbers and texts is made, and pages of it are asked for as the page in the browser
does. Times are CPU seconds of the answer, HTTP left out; the second time a page is asked for, its
order is known.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

import tidelog
from tidelog.session import Session
from tidelog.web import WebSettings
from tidelog.web.explorer import SessionExplorer
from tidelog.web.pages import PageRequest

_PROGRAM: Final = ".decl fact(x: number, y: symbol, z: number)\n.input fact\n"
_TEXTS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Timing:
    """What one question took, the first time and the second."""

    question: str
    first_seconds: float
    second_seconds: float


def open_facts(count: int) -> Session:
    """Return a session with so many facts: a permutation, one of many texts, and a small number."""
    chance = np.random.default_rng(1)
    texts = pa.array([f"name{number}" for number in range(_TEXTS)])
    places = pa.array(chance.integers(0, _TEXTS, count).astype(np.int32))
    columns = {
        "x": pa.array(chance.permutation(count)),
        "y": pa.DictionaryArray.from_arrays(places, texts),
        "z": pa.array(chance.integers(0, 1000, count)),
    }
    return tidelog.open(_PROGRAM, facts={"fact": pa.table(columns)})


def measure(session: Session) -> list[Timing]:
    """Return what the questions took, in the order in which they were asked."""
    explorer = SessionExplorer(session, WebSettings(), "facts")
    size = len(session["fact"])

    def page(request: PageRequest) -> Callable[[], object]:
        return lambda: explorer.facts("fact", request)

    questions: tuple[tuple[str, Callable[[], object]], ...] = (
        ("first page", page(PageRequest())),
        ("last page", page(PageRequest(offset=size - 100))),
        ("sorted by numbers", page(PageRequest(sorts=((0, False),)))),
        ("the middle of it", page(PageRequest(offset=size // 2, sorts=((0, False),)))),
        ("sorted by texts, downwards", page(PageRequest(sorts=((1, True),)))),
        ("texts with `name77`", page(PageRequest(filters=((1, "name77"),)))),
        ("numbers 10 to 20, sorted", page(PageRequest(filters=((2, "10..20"),), sorts=((0, False),)))),
        ("values for `name9`", lambda: explorer.values("fact", 1, "name9")),
    )
    return [Timing(words, _seconds(ask), _seconds(ask)) for words, ask in questions]


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the timings as a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description="Time the explorer.")
    parser.add_argument("--facts", type=int, default=10_000_000, help="how many facts")
    options = parser.parse_args(arguments)
    with open_facts(options.facts) as session:
        print("| question | first, CPU s | again, CPU s |\n|---|---|---|")
        for each in measure(session):
            print(f"| {each.question} | {each.first_seconds:.3f} | {each.second_seconds:.3f} |")
    print(f"\n{options.facts:,} facts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
