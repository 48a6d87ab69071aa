"""`tidelog profile`: what runs took, in the terminal or as a picture."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.output import write_result
from tidelog.cli.parameters import OutputFormat, PictureChoice
from tidelog.dataclass import dataclass
from tidelog.errors.arguments import Arguments
from tidelog.profile.json_form import read_profile

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """What the command line asked for."""

    path: Path
    other: Path | None
    form: OutputFormat
    picture: PictureChoice | None = None
    output: Path | None = None


def print_profile(options: ProfileOptions) -> None:
    """Print what a run took, draw it, or print what another one took in comparison with it."""
    _check(options)
    profile = read_profile(options.path)
    if options.picture is not None:
        from tidelog.profile.pictures import PictureKind, draw_picture  # noqa: PLC0415 - few draw

        write_result(draw_picture(profile, PictureKind(options.picture)), options.output)
    elif options.other is not None:
        from tidelog.profile.compare import compare_profiles, comparison_report  # noqa: PLC0415 - few compare

        comparison = compare_profiles(profile, read_profile(options.other))
        if options.form is OutputFormat.JSON:
            write_result(comparison.to_json(), options.output)
        else:
            _show(comparison_report(comparison), options.output)
    elif options.form is OutputFormat.JSON:
        write_result(profile.to_json(), options.output)
    else:
        from tidelog.profile.terminal import profile_report  # noqa: PLC0415 - loads rich

        _show(profile_report(profile), options.output)


def _check(options: ProfileOptions) -> None:
    """Raise if an option would be ignored."""
    with Arguments() as arguments:
        arguments.refuse(
            if_any={
                "OTHER": options.picture is not None and options.other is not None,
                "--format json": options.picture is not None and options.form is OutputFormat.JSON,
            },
            because="a picture shows one profile, as SVG",
        )


def _show(report: "RenderableType", output: Path | None) -> None:
    """Print tables in colour and as wide as the terminal, or plainly where there is none."""
    from tidelog.profile.terminal import plain_text  # noqa: PLC0415 - loads rich

    if output is not None or not sys.stdout.isatty():
        write_result(plain_text(report), output)
        return
    from rich.console import Console  # noqa: PLC0415 - only for terminals

    Console().print(report)
