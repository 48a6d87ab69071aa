"""`tidelog profile`: what runs took, in the terminal; and how runs write it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.output import write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.profile.json_form import read_profile
from tidelog.profile.profile import Profile

if TYPE_CHECKING:
    from rich.console import RenderableType


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile to a file, which appears as a whole or not at all."""
    write_result(profile.to_json(), path)


def print_profile(path: Path, other: Path | None, form: OutputFormat) -> None:
    """Print what a run took, or what another one took in comparison with it."""
    profile = read_profile(path)
    if other is not None:
        from tidelog.profile.compare import compare_profiles, comparison_report  # noqa: PLC0415 - few compare

        comparison = compare_profiles(profile, read_profile(other))
        if form is OutputFormat.JSON:
            write_result(comparison.to_json())
        else:
            _show(comparison_report(comparison))
    elif form is OutputFormat.JSON:
        write_result(profile.to_json())
    else:
        from tidelog.profile.terminal import profile_report  # noqa: PLC0415 - loads rich

        _show(profile_report(profile))


def _show(report: "RenderableType") -> None:
    """Print tables in colour and as wide as the terminal, or plainly where there is none."""
    from tidelog.profile.terminal import plain_text  # noqa: PLC0415 - loads rich

    if not sys.stdout.isatty():
        write_result(plain_text(report))
        return
    from rich.console import Console  # noqa: PLC0415 - only for terminals

    Console().print(report)
