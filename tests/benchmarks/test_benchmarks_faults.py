"""The benchmark of blame and repair, on data that is small enough for a test."""

import numpy as np

from benchmarks.epochs.subject import Subject
from benchmarks.faults.cases import draw_epochs
from benchmarks.faults.command import table
from benchmarks.faults.measure import How, measure_case
from benchmarks.workload import PROGRAMS
from tidelog.engine.protocol import SilentObserver
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec


def _grid() -> Subject:
    """Return the paths of a small grid."""
    program, _ = build_program(parse(Source("tc.dl", (PROGRAMS / "tc.dl").read_text())))
    numbers = np.arange(64).reshape(8, 8)
    right = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return Subject("grid", program, Codec(program.types), {"arc": np.concatenate([right, down])}, 1)


def test_cases_are_drawn_and_measured() -> None:
    """Epochs of a small grid: repairs are optimal, and no larger than what delta debugging finds."""
    subject = _grid()
    engine = subject.maintained_engine()
    engine.evaluate(SilentObserver())
    before = engine.size("tc")

    measured = [
        measure_case(subject, engine, number, epoch, How(1.0, 60.0, 60.0))
        for number, epoch in draw_epochs(subject, engine, range(3), 1)
    ]

    assert len(measured) == 3
    assert engine.size("tc") == before
    assert all(each.is_optimal and 0 < each.size <= each.ddmin_size for each in measured)
    assert all(each.evaluated_size == each.ddmin_size for each in measured)
    # All changes together are looked at first by trial epochs, to see whether there is a repair at all.
    assert all(each.evaluated_probes + 1 == each.ddmin_probes for each in measured)
    assert sum(line.startswith("| grid") for line in table(measured)) == 3


def test_delta_debugging_is_cut_off() -> None:
    """When its time is over its size is not known, and what it took until then is a lower bound."""
    subject = _grid()
    engine = subject.maintained_engine()
    engine.evaluate(SilentObserver())
    number, epoch = next(draw_epochs(subject, engine, [0], 1))

    measured = measure_case(subject, engine, number, epoch, How(1.0, 0.0))

    assert measured.is_cut_off
    assert measured.is_optimal
    assert any("+ s |" in line for line in table([measured]))
