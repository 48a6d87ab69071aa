"""The iterations of a profile on a time axis, and its facts against seconds."""

from collections.abc import Iterator
from typing import Final

from tidelog.engine.profile.record import IterationProfile, StratumProfile
from tidelog.profile.durations import duration
from tidelog.profile.profile import Profile
from tidelog.profile.svg import Picture, Scale, short, x_axis, y_axis

WIDTH: Final = 1100
_LEFT: Final = 64
_RIGHT: Final = 1080
_TOP: Final = 70
_BOTTOM: Final = 330
_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_DERIVED: Final = "#8c959f"


def iterations_picture(profile: Profile) -> str:
    """Return a box for each record of iterations: from its beginning to its end, as high as its new facts."""
    records = [(place, record) for place, stratum in enumerate(_shown(profile)) for record in stratum.records]
    x = Scale(_end_of(profile), _LEFT, _RIGHT)
    y = Scale(max((each.new_facts for _, each in records), default=1), _BOTTOM, _TOP, is_log=True)
    picture = _begun(profile, "iterations", "One box for each iteration, or for neighbouring ones together.")
    y_axis(picture, y, _LEFT, _RIGHT, "new facts of an iteration")
    for place, record in records:
        left, right = x.place(record.begun), x.place(record.begun + record.seconds)
        top = y.place(record.new_facts)
        picture.box(left, top, right - left, _BOTTOM - top, fill=_colour(place), title=_titled(record))
    _name_strata(picture, profile)
    x_axis(picture, x, _BOTTOM, "seconds since the run began")
    _draw_memory(picture, [record for _, record in records], x)
    return str(picture)


def facts_picture(profile: Profile) -> str:
    """Return how many facts each stratum has found after how many seconds, by how many derivations."""
    x = Scale(_end_of(profile), _LEFT, _RIGHT)
    most = max((max(each.derivations, each.facts) for each in _shown(profile)), default=1)
    y = Scale(most, _BOTTOM, _TOP)
    picture = _begun(profile, "facts against seconds", "In grey the derivations, duplicates included.")
    y_axis(picture, y, _LEFT, _RIGHT, "facts of a stratum so far")
    for place, stratum in enumerate(_shown(profile)):
        facts, derivations = _sums(stratum)
        picture.line([(x.place(at), y.place(count)) for at, count in derivations], stroke=_DERIVED, width=1.5)
        picture.line([(x.place(at), y.place(count)) for at, count in facts], stroke=_colour(place), width=2)
    _name_strata(picture, profile)
    x_axis(picture, x, _BOTTOM, "seconds since the run began")
    return str(picture)


def _begun(profile: Profile, what: str, note: str) -> Picture:
    name = profile.program.rpartition("/")[2] or "program"
    picture = Picture(WIDTH, f"{name}: {what}")
    picture.words(12, 20, f"{name}: {what}", size=14, bold=True)
    picture.words(12, 38, note)
    return picture


def _shown(profile: Profile) -> list[StratumProfile]:
    """Return the strata that have iterations to show."""
    return [stratum for stratum in profile.strata if stratum.records]


def _end_of(profile: Profile) -> float:
    ends = (each.begun + each.seconds for stratum in profile.strata for each in stratum.records)
    return max(ends, default=1.0)


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _titled(record: IterationProfile) -> str:
    last = record.first + record.iterations - 1
    which = f"iteration {record.first}" if last == record.first else f"iterations {record.first} to {last}"
    return f"{which}: {record.new_facts:,} new facts in {duration(record.seconds)}"


def _name_strata(picture: Picture, profile: Profile) -> None:
    """Write the names of the strata that took longest beside their colours."""
    strata = list(enumerate(_shown(profile)))
    left = 420.0
    for place, stratum in sorted(strata, key=lambda each: -each[1].seconds)[:4]:
        name = stratum.title
        name = name if len(name) <= 24 else f"{name[:23]}…"
        picture.box(left, 10, 12, 12, fill=_colour(place))
        picture.words(left + 17, 20, name)
        left += 36 + 6.4 * len(name)


def _draw_memory(picture: Picture, records: list[IterationProfile], x: Scale) -> None:
    """Draw the memory of the process below the iterations, on the same time axis."""
    known = [record for record in records if record.memory_bytes]
    if not known:
        return
    top, bottom = _BOTTOM + 72, _BOTTOM + 152
    y = Scale(max(record.memory_bytes for record in known) / 2**20, bottom, top)
    y_axis(picture, y, _LEFT, _RIGHT, "memory of the process, MiB")
    points = [(x.place(each.begun + each.seconds), y.place(each.memory_bytes / 2**20)) for each in known]
    picture.line(points, stroke=_COLOURS[0], width=1.5)
    most = max(known, key=lambda each: each.memory_bytes)
    picture.words(_RIGHT, top - 10, f"{short(most.memory_bytes / 2**20)} MiB at most", anchor="end")


def _sums(stratum: StratumProfile) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Return after how many seconds how many facts and derivations there were."""
    begun = stratum.records[0].begun
    facts, derivations = [(begun, 0)], [(begun, 0)]
    for record in stratum.records:
        at = record.begun + record.seconds
        facts.append((at, facts[-1][1] + record.new_facts))
        found = sum(_derivations(record))
        derivations.append((at, derivations[-1][1] + max(found, record.new_facts)))
    return facts, derivations


def _derivations(record: IterationProfile) -> Iterator[int]:
    return (tally.derivations for tally in record.rules.values())
