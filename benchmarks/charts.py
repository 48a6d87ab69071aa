"""Charts of measurements as SVG: lines in panels side by side, and bars in groups. They need no library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tidelog.profile.svg import Picture, Scale, short, x_axis, y_axis

# Apart from each other also for colour-blind eyes, the first ones most of all.
_COLOURS: Final = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#999999", "#b0a000",
    "#332288", "#88ccee", "#aa4499", "#117733", "#882255", "#44aa99", "#661100", "#6699cc",
)  # fmt: skip
_LEFT, _WIDE, _HIGH, _GAP = 64, 300, 170, 70
_BAR: Final = 12
_MICROSECONDS: Final = 1e6

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over one pair of axes: by name, points of a number and seconds."""

    title: str
    numbers: str
    lines: Mapping[str, Points]
    is_log: bool = True


def draw_lines(title: str, rows: Sequence[Sequence[Panel]], path: Path) -> None:
    """Write a picture of panels in rows, with one legend; seconds are on a logarithmic scale."""
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.lines))
    width = max(len(row) for row in rows) * (_WIDE + _GAP) + _LEFT
    picture = Picture(width, title)
    top = _legend(picture, names, width)
    for row in rows:
        for column, panel in enumerate(row):
            _draw_panel(picture, panel, names, _LEFT + column * (_WIDE + _GAP), top + 34)
        top += _HIGH + 100
    _write(picture, path)


def _draw_panel(picture: Picture, panel: Panel, names: Sequence[str], left: float, top: float) -> None:
    points = [point for line in panel.lines.values() for point in line]
    most = max((number for number, _ in points), default=1.0)
    slowest = max((_MICROSECONDS * seconds for _, seconds in points), default=1.0)
    across = Scale(max(most, 10.0), left, left + _WIDE, is_log=panel.is_log)
    up = Scale(10.0 ** len(str(int(slowest))), top + _HIGH, top, is_log=True)
    picture.words(left, top - 24, panel.title, bold=True)
    y_axis(picture, up, left, left + _WIDE, "CPU microseconds")
    x_axis(picture, across, top + _HIGH, panel.numbers)
    for name, line in panel.lines.items():
        colour = _colour(names, name)
        places = [(across.place(x), up.place(_MICROSECONDS * seconds)) for x, seconds in line]
        picture.line(places, stroke=colour, width=1.6)
        for x, y in places:
            picture.box(x - 2, y - 2, 4, 4, fill=colour, title=name)


def draw_bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], path: Path) -> None:
    """Write a picture of bars: for each group a bar per name that has a number."""
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    width = 900
    picture = Picture(width, title)
    top = _legend(picture, names, width) + 10.0
    most = max((number for group in groups.values() for number in group.values()), default=1.0)
    scale = Scale(max(most, 1.0), 160, width - 90)
    for name, group in groups.items():
        picture.words(152, top + _BAR, name, anchor="end", bold=True)
        for each, number in group.items():
            end = scale.place(number)
            picture.box(160, top, end - 160, _BAR, fill=_colour(names, each), title=each)
            picture.words(end + 4, top + 10, f"{short(number)}, {each}", size=9)
            top += _BAR + 1
        top += 10
    x_axis(picture, scale, top, unit)
    _write(picture, path)


def _legend(picture: Picture, names: Sequence[str], width: float) -> float:
    """Draw a coloured box and the name of each line; return where the room below begins."""
    across = max(1, int((width - _LEFT) / 200))
    for number, name in enumerate(names):
        x, y = _LEFT + 200 * (number % across), 12 + 18 * (number // across)
        picture.box(x, y, 10, 10, fill=_colour(names, name))
        picture.words(x + 15, y + 9, name)
    return 12.0 + 18 * (-(-len(names) // across))


def _colour(names: Sequence[str], name: str) -> str:
    return _COLOURS[list(names).index(name) % len(_COLOURS)]


def _write(picture: Picture, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(picture), encoding="utf-8")
