"""A profile as a flame: strata, below them their rules, below these their operators, as wide as they took."""

from collections.abc import Sequence
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.profile.record import RuleProfile, StratumProfile, Tally, is_wasteful
from tidelog.profile.durations import duration
from tidelog.profile.hot import delta_of, place_of
from tidelog.profile.profile import Profile
from tidelog.profile.svg import Picture, Scale, fitting, short, x_axis

WIDTH: Final = 1100
_LEFT: Final = 12
_ROW: Final = 26
_TOP: Final = 52
# Where the bars of rules begin, and how many rules have one.
_BARS: Final = 440
_MOST_RULES: Final = 12
_STRATUM: Final = "#c9d6e4"
_RULE: Final = "#9ecae1"
_WASTEFUL: Final = "#f4a582"
_DERIVED: Final = "#44546a"
_OTHER: Final = "#e3e3e3"
_KINDS: Final = {
    "scan": "#d9ead3",
    "join": "#a1d99b",
    "check": "#c7e9c0",
    "insert": "#fdd49e",
    "choose": "#dadaeb",
    "leapfrog": "#74c476",
    "reduce": "#bcbddc",
}


@dataclass(frozen=True, slots=True)
class _Block:
    """A box with what is inside it."""

    words: str
    title: str
    seconds: float
    fill: str
    inside: tuple["_Block", ...] = ()


def flame_picture(profile: Profile) -> str:
    """Return the flame, with the rules that waste bindings named below it."""
    strata = [_stratum(each) for each in profile.strata if each.seconds > 0.0]
    total = sum(each.seconds for each in strata)
    name = profile.program.rpartition("/")[2] or "program"
    picture = Picture(WIDTH, f"Where the seconds of {name} went")
    scale = Scale(total, _LEFT, WIDTH - _LEFT)
    heading = f"{name}: {duration(total)} of evaluation, by stratum, rule and operator"
    picture.words(_LEFT, 20, heading, size=14, bold=True)
    note = (
        "A box is as wide as it took: strata, below them rules, planning and indexes, below rules operators."
    )
    picture.words(_LEFT, 38, note)
    _draw(picture, strata, scale, 0.0, _TOP)
    bottom = _TOP + 3 * _ROW + 8
    x_axis(picture, scale, bottom, "seconds")
    _draw_bindings(picture, profile, bottom + 62)
    return str(picture)


def _draw(picture: Picture, blocks: Sequence[_Block], scale: Scale, begun: float, y: float) -> None:
    for block in blocks:
        x = scale.place(begun)
        width = scale.place(begun + block.seconds) - x
        picture.box(x, y, width, _ROW - 2, fill=block.fill, title=f"{block.title}: {duration(block.seconds)}")
        words = fitting(block.words, width - 6)
        if words:
            picture.words(x + 3, y + 16, words)
        _draw(picture, block.inside, scale, begun, y + _ROW)
        begun += block.seconds


def _stratum(stratum: StratumProfile) -> _Block:
    rules = [_rule(rule) for rule in stratum.rules if rule.total.seconds > 0.0]
    rules.sort(key=lambda each: -each.seconds)
    known = sum(rule.seconds for rule in rules) + stratum.planning_seconds + stratum.index_seconds
    others = [
        _Block("indexes", "building indexes", stratum.index_seconds, _OTHER),
        _Block("planning", "planning", stratum.planning_seconds, _OTHER),
        _Block("other", "all else", max(0.0, stratum.seconds - known), _OTHER),
    ]
    name = stratum.title
    # What was timed separately may add up to a little more than the whole.
    seconds = max(stratum.seconds, known)
    return _Block(name, f"stratum {stratum.number}: {name}", seconds, _STRATUM, (*rules, *others))


def _rule(rule: RuleProfile) -> _Block:
    total = rule.total
    operators = [
        _Block(operator.text, f"{operator.text} ({operator.rows_in:,} → {operator.rows_out:,} rows)",
               operator.seconds or 0.0, _KINDS.get(operator.kind, _OTHER))
        for chain in rule.chains
        for operator in chain.operators
    ]  # fmt: skip
    # Operators of several threads take more than the clock shows.
    measured = sum(operator.seconds for operator in operators)
    factor = total.seconds / measured if measured > total.seconds else 1.0
    inside = tuple(
        _Block(each.words, each.title, each.seconds * factor, each.fill) for each in operators if each.seconds
    )
    per = (
        f", {total.bindings / max(total.derivations, 1):,.1f} bindings per derivation"
        if total.bindings
        else ""
    )
    words = f"{place_of(rule)} {delta_of(rule)} {rule.text}".replace("  ", " ")
    fill = _WASTEFUL if is_wasteful(total) else _RULE
    return _Block(words, f"{words}{per}", total.seconds, fill, inside)


def _draw_bindings(picture: Picture, profile: Profile, y: float) -> None:
    """Draw the bindings and derivations of each rule, all its delta rules together, those with most first."""
    totals: dict[tuple[str, str], Tally] = {}
    for _, rule in profile.rules():
        totals.setdefault((place_of(rule), rule.text), Tally()).add(rule.total)
    shown = sorted(totals.items(), key=lambda each: -each[1].bindings)[:_MOST_RULES]
    wasted = [place for (place, _), total in shown if is_wasteful(total)]
    heading = "Bindings made (wide bar) for derivations (dark bar), by rule"
    picture.words(_LEFT, y, heading, size=12, bold=True)
    if wasted:
        picture.words(WIDTH - _LEFT, y, f"wasteful: {', '.join(wasted)}", anchor="end")
    scale = Scale(max(total.bindings for _, total in shown) if shown else 1.0, _BARS, WIDTH - 190)
    y += 12
    for (place, text), total in shown:
        fill = _WASTEFUL if is_wasteful(total) else _RULE
        picture.words(_LEFT, y + 13, fitting(f"{place}  {text}", _BARS - _LEFT - 8))
        most = max(total.bindings, total.derivations)
        picture.box(_BARS, y, scale.place(most) - _BARS, 18, fill=fill)
        picture.box(_BARS, y + 5, scale.place(total.derivations) - _BARS, 8, fill=_DERIVED)
        counts = f"{short(total.bindings)} → {short(total.derivations)}"
        picture.words(scale.place(most) + 6, y + 13, f"{counts}, {duration(total.seconds)}")
        y += 22
    x_axis(picture, scale, y + 2, "bindings and derivations")
