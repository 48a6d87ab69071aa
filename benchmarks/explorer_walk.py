"""A walk through the explorer's page in a real browser: what each action costs, and what the page keeps.

The server runs in this process, so an action's CPU seconds are those of the server and of what drives
the browser, which is a few milliseconds; the browser has processes of its own.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.explorer import derived_fact
from tidelog.session import Session
from tidelog.web import WebSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.web_browser import Page, browsing  # type: ignore[import-not-found]
from support.web_serving import serving  # type: ignore[import-not-found]

_ACTIONS: Final = 1000
_GLANCES: Final = (100, 250, 500, 750, 1000)
_EMPTY_CALLS: Final = 1000


def walk(session: Session) -> None:
    """Print what the actions took, and the page's memory as they went on."""
    with (
        tempfile.TemporaryDirectory() as folder,
        browsing(Path(folder)) as page,
        serving(session, WebSettings(may_write=True)) as client,
    ):
        page.open(client.address)
        page.find("main table")
        actions = _actions(page, session)
        took: dict[str, list[float]] = {name: [] for name in actions}
        memory: list[tuple[int, float, int, int]] = []
        calls = _counted_calls(page)
        for number in range(1, _ACTIONS + 1):
            name = list(actions)[number % len(actions)]
            begun = time.process_time()
            actions[name]()
            took[name].append(time.process_time() - begun)
            if number in _GLANCES:
                memory.append((number, *_memory(page), len(calls)))
        per_call = _megabytes_per_call(page)
    print("| action | times | median, CPU s | most, CPU s |\n|---|---|---|---|")
    for name, seconds in took.items():
        print(f"| {name} | {len(seconds)} | {median(seconds):.3f} | {max(seconds):.3f} |")
    print("\n| actions | heap of the page, MB | without what the driver keeps | nodes |\n|---|---|---|---|")
    for number, heap, nodes, made in memory:
        print(f"| {number} | {heap:.2f} | {heap - made * per_call:.2f} | {nodes:,} |")


def _actions(page: Page, session: Session) -> dict[str, Callable[[], None]]:
    fact = derived_fact(session)

    def go(view: str, sign: str) -> Callable[[], None]:
        def act() -> None:
            page.run(f"location.hash = '#/'; location.hash = {view!r}")
            # Not the element itself: the driver would keep it, and the page could not drop it.
            page.until(f"Boolean({sign})")
            page.until("document.querySelector('#progress').hidden")

        return act

    rows = "document.querySelector('tr.row')"

    def proof() -> None:
        page.run(f"location.hash = '#/why?fact=' + encodeURIComponent({fact!r})")
        page.until("Boolean(document.querySelector('[role=treeitem]'))")
        page.run("document.querySelectorAll('[role=tab]')[1].click()")
        page.until("Boolean(document.querySelector('.proof-picture'))")

    def turn() -> None:
        go("#/facts/fact", rows)()
        page.run("document.querySelector('button[aria-label=\"Next page\"]').click()")
        page.until("document.querySelector('.range').innerText.startsWith('101')")

    def stage() -> None:
        go("#/facts/seven", rows)()
        go("#/facts/fact", rows)()
        page.run("document.querySelector('tr.row .act button:last-child').click()")
        page.until("!document.querySelector('#tray').hidden")
        page.run("document.querySelector('#try-out').click()")
        page.until("Boolean(document.querySelector('.trial tr.row'))")
        page.run("document.querySelector('.tray .heading button').click()")

    return {
        "first page of ten million": go("#/facts/fact", rows),
        "next page": turn,
        "filtered": go("#/facts/fact?f0=5..9", rows),
        "query": go("#/query?q=fact(5, y, z)", rows),
        "proof and picture": proof,
        "rules": go("#/rules", "document.querySelector('.rule')"),
        "stage and try out": stage,
        "why not": go('#/why-not?fact=seven(1, "nobody")', "document.querySelector('p.verdict')"),
        "epochs": go("#/epochs", "document.querySelector('main h1')?.innerText === 'Epochs'"),
        "profile": go("#/profile", "document.querySelector('.bar-chart')"),
    }


def _counted_calls(page: Page) -> list[str]:
    """Return a list to which every script that the driver runs is added from now on."""
    calls: list[str] = []
    run = page.run

    def counted(script: str) -> object:
        calls.append(script)
        return run(script)

    page.run = counted
    return calls


def _megabytes_per_call(page: Page) -> float:
    """Return what the driver keeps in the page for every script that it runs there, whatever that does."""
    before, _ = _memory(page)
    for _ in range(_EMPTY_CALLS):
        page.run("return 1")
    return (_memory(page)[0] - before) / _EMPTY_CALLS


def _memory(page: Page) -> tuple[float, int]:
    """Return the heap in megabytes and the number of nodes, after what is not used any more was dropped."""
    for _ in range(2):
        page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    page.driver.execute_cdp_cmd("Performance.enable", {})
    found = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    metrics = {each["name"]: each["value"] for each in found}
    return metrics["JSHeapUsedSize"] / 1e6, int(metrics["Nodes"])
