"""How epochs are brought about, as a user chose it."""

from dataclasses import replace

from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.errors import Diagnostic, raise_if_any
from tidelog.program.suggest import did_you_mean


def choose_strategy(
    settings: MaintenanceSettings, strategy: str | Strategy | None, switch: float | None = None
) -> MaintenanceSettings:
    """Return the settings with what a user chose; None leaves what was there."""
    found: list[Diagnostic] = []
    if strategy is not None:
        names = {each.value: each for each in Strategy}
        name = strategy.value if isinstance(strategy, Strategy) else str(strategy)
        if name in names:
            settings = replace(settings, strategy=names[name])
        else:
            found.append(
                Diagnostic(
                    code="unknown-strategy",
                    message=f"there is no strategy `{name}`",
                    hint=did_you_mean(name, names, f"choose one of {', '.join(names)}"),
                )
            )
    if switch is not None:
        if isinstance(switch, (int, float)) and 0 <= switch < float("inf"):
            settings = replace(settings, switch=float(switch))
        else:
            found.append(
                Diagnostic(
                    code="bad-switch",
                    message=f"{switch} is not a share of the work of a recompute",
                    hint="give a number such as 0.2; 0 always recomputes",
                )
            )
    raise_if_any(found)
    return settings
