"""Timings of a GPU beside those of threads, as a picture: a group of bars per workload."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tidelog.profile.durations import duration
from tidelog.profile.svg import Picture, Scale, x_axis

_COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
_BAR: Final = 11
_LEFT, _WIDTH = 130, 760
_MILLISECONDS: Final = 1000.0


def draw_timings(seconds: Sequence[tuple[str, Mapping[str, float]]], path: Path) -> None:
    """Write a picture of the seconds of each workload, by engine, for those that ran it."""
    picture = Picture(_WIDTH, "Evaluation on a GPU and on threads, milliseconds by workload")
    engines = list(dict.fromkeys(engine for _, by_engine in seconds for engine in by_engine))
    most = max(_MILLISECONDS * value for _, by_engine in seconds for value in by_engine.values())
    scale = Scale(10.0 ** len(str(int(most))), _LEFT, _WIDTH - 80, is_log=True)
    for number, engine in enumerate(engines):
        picture.box(_LEFT + 150 * number, 10, 10, 10, fill=_COLOURS[number % len(_COLOURS)])
        picture.words(_LEFT + 150 * number + 15, 19, engine)
    y = 36.0
    for name, by_engine in seconds:
        picture.words(_LEFT - 8, y + _BAR, name, anchor="end")
        for number, engine in enumerate(engines):
            if engine not in by_engine:
                continue
            end = scale.place(_MILLISECONDS * by_engine[engine])
            fill = _COLOURS[number % len(_COLOURS)]
            picture.box(_LEFT, y, end - _LEFT, _BAR, fill=fill, title=f"{name}, {engine}")
            picture.words(end + 4, y + 9, duration(by_engine[engine]), size=9)
            y += _BAR + 1
        y += 8
    x_axis(picture, scale, y, "milliseconds of evaluation")
    path.write_text(str(picture), "utf-8")
