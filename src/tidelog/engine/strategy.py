"""How epochs are applied, as the user chose."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.errors.arguments import bad_argument, described, no_effect, to_float
from tidelog.program.suggest import did_you_mean

# What each engine does with a change of facts; the others are not listed and do all.
_POSSIBLE: Final = {
    "reference": frozenset({Strategy.AUTO, Strategy.RECOMPUTE}),
    "spark": frozenset({Strategy.AUTO, Strategy.UPDATE, Strategy.RECOMPUTE}),
}

# How an update is found to take too long: by its work, stratum by stratum, or by the clock.
SWITCHES: Final = ("work", "clock")
_WITHOUT_CLOCK: Final = frozenset({"reference", "spark"})


def choose_strategy(
    settings: MaintenanceSettings,
    strategy: str | Strategy | None,
    max_update_share: float | None = None,
    engine: str = "local",
    switch: str | None = None,
) -> MaintenanceSettings:
    """Return the settings with what a user chose; None leaves what was there.

    What the engine would not do is a mistake.
    """
    found: list[Diagnostic] = []
    before = settings
    if strategy is not None:
        names = {each.value: each for each in Strategy}
        name = strategy.value if isinstance(strategy, Strategy) else strategy
        if not isinstance(name, str):
            found.append(bad_argument("strategy", name, "the name of a strategy"))
        elif name in names:
            settings = replace(settings, strategy=names[name])
        else:
            found.append(
                Diagnostic(
                    code="unknown-strategy",
                    message=f"there is no strategy `{name}`",
                    hint=did_you_mean(name, names, f"choose one of {', '.join(names)}"),
                )
            )
    if max_update_share is not None:
        share = to_float(max_update_share)
        if share is not None and 0 <= share < float("inf"):
            settings = replace(settings, switch=share)
        else:
            found.append(
                Diagnostic(
                    code="bad-update-share",
                    message=f"{described(max_update_share)} is not a share of the work of a recompute",
                    hint="give a number such as 0.2; 0 always recomputes",
                )
            )
    if switch is not None:
        found += _check_switch(switch, engine)
        settings = replace(settings, by_clock=switch == "clock")
    possible = _POSSIBLE.get(engine, frozenset(Strategy))
    if settings.strategy not in possible:
        possible_names = ", ".join(each.value for each in Strategy if each in possible)
        because = f"the engine `{engine}` does not follow changes by `{settings.strategy.value}`"
        found.append(no_effect("strategy", because, f"choose one of {possible_names}"))
    if engine == "reference" and settings.switch != before.switch:
        found.append(no_effect("max_update_share", "the engine `reference` always starts over"))
    raise_if_any(found)
    return settings


def _check_switch(switch: str, engine: str) -> Iterator[Diagnostic]:
    if switch not in SWITCHES:
        yield bad_argument("switch", switch, f"one of {', '.join(SWITCHES)}")
    if switch == "clock" and engine in _WITHOUT_CLOCK:
        yield no_effect("switch", f"the engine `{engine}` does not watch the clock")


def check_rule_strategy(strategy: Strategy, engine: str) -> None:
    """Raise if the engine does not follow a change of rules by this strategy."""
    if engine == "spark" and strategy not in {Strategy.AUTO, Strategy.RECOMPUTE}:
        because = "Spark evaluates everything again when rules change"
        raise TidelogError([no_effect("strategy", because)])
