"""Evaluation of a program, stratum by stratum."""

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from tidelog.engine.protocol import Observer, RunStatistics, SilentObserver, StratumStatistics
from tidelog.program.nodes import Program, Stratum


def evaluate_strata(
    program: Program,
    run: Callable[[int, Stratum, Observer], StratumStatistics],
    observer: Observer,
    made: Collection[str] = (),
) -> RunStatistics:
    """Run the strata in their order and return what each of them took.

    Relations that were `made` by a pass are not reported to the observer, nor strata without others: no user
    wrote them.
    """
    start = time.perf_counter()
    finished: list[StratumStatistics] = []
    for number, stratum in enumerate(program.strata):
        names = tuple(name for name in stratum.relations if name not in made)
        heard: Observer = observer if names else SilentObserver()
        heard.stratum_started(number, len(program.strata), names)
        statistics = run(number, stratum, heard)
        if names:
            statistics = replace(statistics, relations=names)
        heard.stratum_finished(number, statistics)
        finished.append(statistics)
    return RunStatistics(tuple(finished), time.perf_counter() - start)
