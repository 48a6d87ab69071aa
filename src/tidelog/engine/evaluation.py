"""Evaluation of a program, stratum by stratum."""

import time
from collections.abc import Callable, Collection

from tidelog.engine.protocol import Observer, RunStatistics, SilentObserver, StratumStatistics
from tidelog.program.nodes import Program, Stratum


def evaluate_strata(
    program: Program,
    run: Callable[[int, Stratum, Observer], StratumStatistics],
    observer: Observer,
    made: Collection[str] = (),
) -> RunStatistics:
    """Run the strata in their order and return what each of them took.

    Strata whose relations were `made` by a pass are not reported to the observer: no user wrote them.
    """
    start = time.perf_counter()
    finished: list[StratumStatistics] = []
    for number, stratum in enumerate(program.strata):
        heard: Observer = SilentObserver() if stratum.relations[0] in made else observer
        heard.stratum_started(number, len(program.strata), stratum.relations)
        statistics = run(number, stratum, heard)
        heard.stratum_finished(number, statistics)
        finished.append(statistics)
    return RunStatistics(tuple(finished), time.perf_counter() - start)
