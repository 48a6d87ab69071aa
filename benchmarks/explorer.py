"""How long the explorer's answers over a large program take.

    python -m benchmarks.explorer --facts 10000000
    python -m benchmarks.explorer --facts 10000000 --walk

A relation of numbers and texts is made, with two more derived from it, and questions are asked as the
page in the browser does. Times are CPU seconds of the answer, HTTP left out; the second time its order
is known. With `--walk` a real browser goes through the page: server and driver CPU seconds of every kind
of action, and the page's memory over 1,000 actions.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import pyarrow as pa

import tidelog
from tidelog.session import Session
from tidelog.views.fact_text import write_fact
from tidelog.web import WebSettings
from tidelog.web.explorer import SessionExplorer
from tidelog.web.pages import PageRequest

_PROGRAM: Final = """\
.decl fact(x: number, y: symbol, z: number)
.input fact
.decl seven(x: number, y: symbol)
seven(x, y) :- fact(x, y, 7).
.decl linked(x: number, w: number)
linked(x, w) :- seven(x, y), seven(w, y), x < w.
linked(x, z) :- linked(x, y), linked(y, z).
"""
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


def derived_fact(session: Session) -> str:
    """Return a fact to ask about, as far from the input as there is one."""
    name = next(name for name in ("linked", "seven", "fact") if len(session[name]))
    return write_fact(name, session[name].head(1)[0])


def measure(session: Session) -> list[Timing]:
    """Return what the questions took, in the order in which they were asked."""
    explorer = SessionExplorer(session, WebSettings(may_write=True), "facts")
    size = len(session["fact"])
    fact = derived_fact(session)
    change = {"insert": [{"relation": "fact", "values": [str(size), "name5", "7"]}]}
    rule = {"add_rules": ".decl eight(x: number)\neight(x) :- seven(x, _), x % 8 = 0."}

    def page(request: PageRequest) -> Callable[[], object]:
        return lambda: explorer.facts("fact", request)

    def download() -> object:
        listing = explorer.listing("fact")
        return list(islice(explorer.download(listing, PageRequest(), "parquet"), 3))

    questions: tuple[tuple[str, Callable[[], object]], ...] = (
        ("first page", page(PageRequest())),
        ("last page", page(PageRequest(offset=size - 100))),
        ("sorted by numbers", page(PageRequest(sorts=((0, False),)))),
        ("the middle of it", page(PageRequest(offset=size // 2, sorts=((0, False),)))),
        ("sorted by texts, downwards", page(PageRequest(sorts=((1, True),)))),
        ("texts with `name77`", page(PageRequest(filters=((1, "name77"),)))),
        ("numbers 10 to 20, sorted", page(PageRequest(filters=((2, "10..20"),), sorts=((0, False),)))),
        ("values for `name9`", lambda: explorer.values("fact", 1, "name9")),
        ("query `fact(5, y, z)`", lambda: explorer.query("fact(5, y, z)", PageRequest())),
        ("query `fact(x, y, 7)`", lambda: explorer.query("fact(x, y, 7)", PageRequest())),
        (
            "query `seven(x, y), linked(x, w)`",
            lambda: explorer.query("seven(x, y), linked(x, w)", PageRequest()),
        ),
        ("why a derived fact", lambda: explorer.questions.why({"fact": fact, "depth": 2})),
        ("its picture", lambda: explorer.questions.graph({"fact": fact})),
        ("check a change", lambda: explorer.changes.check(change)),
        ("try out a fact", lambda: explorer.changes.preview(change)),
        ("try out a rule", lambda: explorer.changes.preview(rule)),
        ("60,000 facts as Parquet", download),
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
    parser.add_argument("--walk", action="store_true", help="go through the page in a browser")
    options = parser.parse_args(arguments)
    with open_facts(options.facts) as session:
        if options.walk:
            from benchmarks.explorer_walk import walk  # noqa: PLC0415 - needs a browser

            walk(session)
        else:
            print("| question | first, CPU s | again, CPU s |\n|---|---|---|")
            for each in measure(session):
                print(f"| {each.question} | {each.first_seconds:.3f} | {each.second_seconds:.3f} |")
    print(f"\n{options.facts:,} facts")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
