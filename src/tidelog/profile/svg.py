"""Pictures as SVG text: boxes, lines, words, and axes with their scales written beside them.

Only attributes are used, and neither styles nor scripts, so that a page with a strict policy can show them.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from tidelog.dataclass import dataclass

# About as wide as a letter is, in parts of its size.
_LETTER: Final = 0.56
_INK: Final = "#24292f"
_FAINT: Final = "#d0d7de"
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


class Picture:
    """A picture of a width, as high as what is drawn."""

    def __init__(self, width: int, title: str) -> None:
        self.width = width
        self.height = 0.0
        self._title = title
        self._parts: list[str] = []

    def box(  # noqa: PLR0913 - a place, a size and a look
        self, x: float, y: float, width: float, height: float, *, fill: str, title: str = ""
    ) -> None:
        """Draw a filled box, with a title that is shown where one points at it."""
        inner = f"<title>{escape(title)}</title>" if title else ""
        size = f'width="{max(width, 0.2):.1f}" height="{height:.1f}"'
        look = f'fill="{fill}" stroke="#ffffff" stroke-width="0.5"'
        self._add(f'<rect x="{x:.1f}" y="{y:.1f}" {size} {look}>{inner}</rect>', y + height)

    def words(  # noqa: PLR0913 - a place and a look
        self, x: float, y: float, text: str, *, size: float = 11, anchor: str = "start", bold: bool = False
    ) -> None:
        """Write one line; `y` is where its letters stand."""
        weight = ' font-weight="bold"' if bold else ""
        self._add(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{weight}>'
            f"{escape(text)}</text>",
            y + size / 2,
        )

    def line(self, points: Sequence[tuple[float, float]], *, stroke: str = _FAINT, width: float = 1) -> None:
        """Draw lines from point to point."""
        listed = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(
            f'<polyline points="{listed}" fill="none" stroke="{stroke}" stroke-width="{width}"/>',
            max((y for _, y in points), default=0.0),
        )

    def _add(self, part: str, bottom: float) -> None:
        self._parts.append(part)
        self.height = max(self.height, bottom)

    def __str__(self) -> str:
        width, height = self.width, math.ceil(self.height + 8)
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        look = f'role="img" font-family="{_FONT}" fill="{_INK}"'
        ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        inside = "\n".join((f"<title>{escape(self._title)}</title>", ground, *self._parts))
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}>\n{inside}\n</svg>\n'


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers, from 0 to `most`, to places; with `is_log`, from 1 on and by their logarithms."""

    most: float
    begin: float
    end: float
    is_log: bool = False

    def place(self, number: float) -> float:
        """Return where a number is drawn."""
        share = math.log10(max(number, 1.0)) / math.log10(max(self.most, 10.0)) if self.is_log else 0.0
        if not self.is_log:
            share = number / self.most if self.most else 0.0
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> Iterator[float]:
        """Yield round numbers along the scale, at most eleven of them, with room for their words."""
        if self.is_log:
            yield from (10.0**power for power in range(int(math.log10(max(self.most, 10.0))) + 1))
            return
        if self.most <= 0.0:
            yield 0.0
            return
        rough = self.most / min(10.0, max(1.0, abs(self.end - self.begin) / 10))
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        yield from (number * step for number in range(int(self.most / step + 1e-9) + 1))


def x_axis(picture: Picture, scale: Scale, y: float, words: str) -> None:
    """Draw an axis below a picture, with its scale in words."""
    picture.line([(scale.begin, y), (scale.end, y)], stroke=_INK)
    for tick in scale.ticks():
        x = scale.place(tick)
        picture.line([(x, y), (x, y + 4)], stroke=_INK)
        picture.words(x, y + 16, short(tick), size=10, anchor="middle")
    kind = "logarithmic" if scale.is_log else "linear"
    picture.words((scale.begin + scale.end) / 2, y + 32, f"{words} ({kind} scale)", anchor="middle")


def y_axis(picture: Picture, scale: Scale, x: float, right: float, words: str) -> None:
    """Draw an axis at the left of a picture, with faint lines across, and its scale in words above."""
    for tick in scale.ticks():
        y = scale.place(tick)
        picture.line([(x, y), (right, y)])
        picture.words(x - 6, y + 3.5, short(tick), size=10, anchor="end")
    kind = "logarithmic" if scale.is_log else "linear"
    picture.words(x, scale.end - 10, f"{words} ({kind} scale)")


def fitting(text: str, width: float, size: float = 11) -> str:
    """Return as much of a text as fits a width, nothing if that is next to nothing."""
    letters = int(width / (size * _LETTER))
    if letters >= len(text):
        return text
    return f"{text[: letters - 1]}…" if letters >= 5 else ""


def short(number: float) -> str:
    """Return a number as axes have it: `0.05`, `20`, `3k`, `1.5M`.

    >>> [short(number) for number in (0.05, 20, 3000, 1_500_000)]
    ['0.05', '20', '3k', '1.5M']
    """
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:.3g}"
