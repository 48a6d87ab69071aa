"""Two profiles side by side."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.engine.profile.record import RuleProfile, Tally
from tidelog.profile.durations import duration
from tidelog.profile.hot import delta_of, place_of
from tidelog.profile.profile import Profile

if TYPE_CHECKING:
    from rich.console import RenderableType


_SECONDS: Final = ", seconds"


@dataclass(frozen=True, slots=True)
class ComparedRule:
    """A delta rule in two profiles: None where one of them has no such rule.

    `is_planned_alike` says that both ran the same operators.
    """

    name: str
    place: str
    before: Tally | None
    after: Tally | None
    is_planned_alike: bool

    @property
    def difference(self) -> float:
        """Return by how many seconds it became slower."""
        return _seconds_of(self.after) - _seconds_of(self.before)


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """What differs from one profile to the other; totals are pairs of before and after."""

    programs: tuple[str, str]
    totals: dict[str, tuple[float, float]]
    rules: tuple[ComparedRule, ...]
    epochs: tuple[tuple[int, float, float], ...]

    def to_json(self) -> str:
        """Return the comparison as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=2)


def compare_profiles(before: Profile, after: Profile) -> ProfileComparison:
    """Return how the second profile differs from the first; the rules that differ most come first."""
    totals = {
        f"evaluation{_SECONDS}": (before.evaluation_seconds, after.evaluation_seconds),
        f"planning{_SECONDS}": _sums(before, after, "planning_seconds"),
        f"indexes{_SECONDS}": _sums(before, after, "index_seconds"),
        "bindings": _sums(before, after, "bindings"),
        "derivations": _sums(before, after, "derivations"),
        "facts": _sums(before, after, "facts"),
        "memory, MiB": (before.peak_memory_bytes / 2**20, after.peak_memory_bytes / 2**20),
    }
    old, new = _by_name(before), _by_name(after)
    rules = [_compared(name, old.get(name), new.get(name)) for name in {**old, **new}]
    rules.sort(key=lambda each: -abs(each.difference))
    seconds = {epoch.epoch: epoch.seconds for epoch in after.epochs}
    epochs = (
        (each.epoch, each.seconds, seconds[each.epoch]) for each in before.epochs if each.epoch in seconds
    )
    return ProfileComparison((before.program, after.program), totals, tuple(rules), tuple(epochs))


def comparison_report(comparison: ProfileComparison) -> "RenderableType":
    """Return the comparison as tables."""
    from rich.console import Group  # noqa: PLC0415 - only for the terminal
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    totals = Table("", "before", "after", "ratio", box=None)
    for name, (one, other) in comparison.totals.items():
        what, is_seconds = name.removesuffix(_SECONDS), name.endswith(_SECONDS)
        shown = (duration(each) if is_seconds else _number(each) for each in (one, other))
        totals.add_row(what, *shown, _ratio(one, other))
    rules = Table("before", "after", "ratio", "bindings before", "after", "rule", box=None)
    for table in (totals, rules):
        for column in table.columns[: -1 if table is rules else None]:
            column.justify, column.no_wrap = "right", True
    totals.columns[0].justify = "left"
    for rule in comparison.rules:
        rules.add_row(*_cells(rule))
    parts: list[RenderableType] = [Text(" → ".join(comparison.programs)), totals, Text(), rules]
    if comparison.epochs:
        parts += [Text(), _epochs(comparison.epochs)]
    return Group(*parts)


def _epochs(epochs: Sequence[tuple[int, float, float]]) -> "RenderableType":
    from rich.table import Table  # noqa: PLC0415 - only for the terminal

    table = Table("epoch", "before", "after", "ratio", box=None)
    for number, one, other in sorted(epochs, key=lambda each: -abs(each[2] - each[1]))[:20]:
        table.add_row(str(number), duration(one), duration(other), _ratio(one, other))
    return table


def _cells(rule: ComparedRule) -> Iterator[str]:
    one, other = rule.before, rule.after
    yield duration(one.seconds) if one is not None else "-"
    yield duration(other.seconds) if other is not None else "-"
    yield _ratio(_seconds_of(one), _seconds_of(other))
    yield f"{one.bindings:,}" if one is not None else "-"
    yield f"{other.bindings:,}" if other is not None else "-"
    changed = "" if rule.is_planned_alike else " (planned differently)"
    yield f"{rule.place} {rule.name}{changed}".replace("[", "\\[")


def _by_name(profile: Profile) -> dict[str, RuleProfile]:
    """Return the delta rules by text and atom; equal ones are told apart by their order."""
    named: dict[str, RuleProfile] = {}
    for _, rule in profile.rules():
        name = f"{delta_of(rule)} {rule.text}".strip()
        while name in named:
            name += "'"
        named[name] = rule
    return named


def _compared(name: str, before: RuleProfile | None, after: RuleProfile | None) -> ComparedRule:
    known = after or before
    assert known is not None, "one of them has it"
    plans = [None if rule is None else [_texts(rule)] for rule in (before, after)]
    return ComparedRule(
        name,
        place_of(known),
        None if before is None else before.total,
        None if after is None else after.total,
        plans[0] == plans[1],
    )


def _texts(rule: RuleProfile) -> list[list[str]]:
    return sorted([operator.text for operator in chain.operators] for chain in rule.chains)


def _sums(before: Profile, after: Profile, name: str) -> tuple[float, float]:
    one, other = (sum(getattr(stratum, name) for stratum in each.strata) for each in (before, after))
    return one, other


def _seconds_of(tally: Tally | None) -> float:
    return 0.0 if tally is None else tally.seconds


def _number(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"


def _ratio(before: float, after: float) -> str:
    return f"{after / before:.2f}" if before > 0.0 else ""
