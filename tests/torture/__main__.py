"""`python -m torture`: look for wrong answers for as long as you like."""

import argparse
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from torture.kind import Failure
from torture.kinds import MODULES, SLOW, find_kind
from torture.planted import plant
from torture.runner import Outcome, Runner, try_seed

_FOLDER: Final = Path("build/torture")
_PROGRESS_SECONDS: Final = 15.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the kinds asked for and return the exit status: 1 if anything failed."""
    parser = argparse.ArgumentParser(
        prog="./torture", description="Try random programs, facts, epochs and inputs against their oracles."
    )
    parser.add_argument("--minutes", type=_minutes, default=2.0, help="how long (by default 2)")
    parser.add_argument(
        "--seed", type=int, help="where random cases start; by default the time, so that every run is new"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=sorted(MODULES),
        metavar="KIND",
        help=f"only this kind, may be repeated: {', '.join(MODULES)}",
    )
    parser.add_argument("--jobs", type=int, default=None, help="worker processes (by default one per core)")
    parser.add_argument(
        "--case", type=int, help="with one --only: try just the case of this seed, as a failure names it"
    )
    parser.add_argument("--first", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "what",
        nargs="?",
        choices=["plant"],
        help="plant: plant mistakes in a copy of the source, and say which are caught within the minutes",
    )
    chosen = parser.parse_args(arguments)
    if chosen.what == "plant":
        return 1 if plant(chosen.minutes, chosen.seed or 0) else 0
    kinds = chosen.only or [name for name in MODULES if name not in SLOW]
    if chosen.case is not None:
        if len(kinds) != 1:
            parser.error("--case needs one --only KIND")
        return _report([*try_seed(kinds[0], chosen.case)])
    # Once, before workers are forked: they share what is loaded.
    for name in kinds:
        find_kind(name)
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    print(f"torture: {', '.join(kinds)} for {chosen.minutes:g} minutes, seed {seed}", flush=True)
    progress = _Progress()
    runner = Runner(kinds, seed, chosen.minutes * 60, tell=progress.tell)
    if chosen.jobs is not None:
        runner.jobs = chosen.jobs
    if chosen.first:
        runner.most_failures = 1
    outcome = runner.run()
    print(_table(outcome, kinds), flush=True)
    for name, reason in outcome.skipped.items():
        print(f"{name} was skipped: {reason}")
    return _report(outcome.failures, is_told=True)


class _Progress:
    def __init__(self) -> None:
        self._told = time.monotonic()

    def tell(self, outcome: Outcome, failure: Failure | None) -> None:
        """Print a failure at once, and the counts now and then."""
        if failure is not None:
            _tell_failure(failure)
        if time.monotonic() - self._told >= _PROGRESS_SECONDS:
            self._told = time.monotonic()
            done = ", ".join(f"{name} {count:,}" for name, count in outcome.checked.items())
            print(f"  {done or 'nothing yet'}; {len(outcome.failures)} failed", flush=True)


def _table(outcome: Outcome, kinds: Sequence[str]) -> str:
    lines = [f"{'kind':<16} {'checked':>12} {'':<10} {'CPU s':>8}  failed"]
    for name in kinds:
        failed = sum(failure.kind == name for failure in outcome.failures)
        lines.append(
            f"{name:<16} {outcome.checked[name]:>12,} {find_kind(name).unit:<10} "
            f"{outcome.seconds[name]:>8.1f}  {failed}"
        )
    return "\n".join(lines)


def _report(failures: Sequence[Failure], *, is_told: bool = False) -> int:
    if not is_told:
        for failure in failures:
            _tell_failure(failure)
    failed, passed = len(failures), "no difference found" if not failures else "see the files above"
    print(f"torture: {failed} failed; {passed}")
    return 1 if failures else 0


def _tell_failure(failure: Failure) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path = _FOLDER / f"{re.sub(r'[^a-z-]', '-', failure.kind)}-{failure.seed}.py"
    path.write_text(failure.reproduction, encoding="utf-8")
    print(f"FAILED {failure.kind}, case {failure.seed}: {failure.summary}", flush=True)
    print(f"  {path}", flush=True)


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of minutes")
    return minutes


if __name__ == "__main__":
    sys.exit(main())
