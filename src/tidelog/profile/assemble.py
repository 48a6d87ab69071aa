"""The profile of a run or a session, put together from what its engine and its epochs have told."""

import math
from typing import TYPE_CHECKING

from tidelog.engine.memory import peak_memory_bytes
from tidelog.engine.profile.record import StratumProfile
from tidelog.profile.advice import advise
from tidelog.profile.profile import EpochProfile, EpochStratum, Profile
from tidelog.version import own_version

if TYPE_CHECKING:
    # A run that is measured pays for what is imported here.
    from collections.abc import Iterable

    from tidelog.engine.epoch import StratumReport
    from tidelog.engine.protocol import StratumStatistics
    from tidelog.engine.recorder import SessionRecorder
    from tidelog.options import OpenOptions
    from tidelog.program.nodes import Program
    from tidelog.views import Delta, Snapshot


def make_profile(
    recorder: "SessionRecorder",
    snapshot: "Snapshot | None",
    options: "OpenOptions",
    epochs: "Iterable[Delta] | None" = None,
) -> Profile:
    """Return what is known now; without a recorder of profiles, strata have no rules and no iterations.

    A run that was stopped before its end has no snapshot, and gets no advice. A single run has no epochs.
    """
    program = None if snapshot is None else snapshot.program
    statistics = recorder.statistics()
    recorded = {} if recorder.profile is None else recorder.profile.strata
    profile = Profile(
        version=own_version(),
        program=_source_of(program),
        engine=options.engine,
        jobs=options.settings.jobs,
        is_complete=program is not None,
        seconds=dict(statistics.seconds),
        peak_memory_bytes=peak_memory_bytes(),
        relations={} if snapshot is None else _sizes(snapshot),
        strata=[recorded[number] for number in sorted(recorded)],
        epochs=[_epoch(delta) for delta in epochs or ()],
    )
    known = {tuple(stratum.relations) for stratum in profile.strata}
    profile.strata += [_stratum(each) for each in statistics.strata if each.relations not in known]
    for number, stratum in enumerate(profile.strata):
        stratum.number = number
    if program is not None:
        profile.advice = advise(profile, program, may_restrict=epochs is None)
    return profile


def _sizes(snapshot: "Snapshot") -> dict[str, int]:
    return {name: snapshot.engine.size(name) for name in snapshot.program.relations}


def _source_of(program: "Program | None") -> str:
    """Return the name of the text that the first rule of a program is in."""
    rules = () if program is None else program.rules
    return next((rule.span.source.name for rule in rules), "")


def _stratum(statistics: "StratumStatistics") -> StratumProfile:
    """Return the totals of a stratum that was evaluated in another way than by its delta rules."""
    profile = StratumProfile(0, list(statistics.relations), statistics.is_recursive)
    profile.take_totals(statistics)
    return profile


def _epoch(delta: "Delta") -> EpochProfile:
    changes = delta.changes.inserted_count + delta.changes.deleted_count
    return EpochProfile(
        delta.epoch,
        delta.seconds,
        changes,
        delta.inserted_count,
        delta.deleted_count,
        [_epoch_stratum(report) for report in delta.strata],
    )


def _epoch_stratum(report: "StratumReport") -> EpochStratum:
    budget = None if math.isinf(report.budget) else int(report.budget)
    return EpochStratum(
        list(report.relations),
        report.action.value,
        report.strategy.value,
        report.reason,
        report.predicted_work,
        budget,
        report.work,
        report.seconds,
    )
