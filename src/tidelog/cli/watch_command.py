"""The options of `tidelog watch`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.guard import guarded
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.programs import with_facts
from tidelog.cli.session_parameters import READING_TREES, takes_options

if TYPE_CHECKING:
    from tidelog.options import OpenOptions


@guarded
@takes_options(*READING_TREES)
def watch(  # noqa: PLR0913 - each is an option of its own
    chosen: "OpenOptions",
    program: Annotated[Path, typer.Argument(help="The analysis, a .dl file.", metavar="PROGRAM")],
    *,
    tree: Annotated[
        Path | None, typer.Option("--tree", metavar="DIR", help="The folder whose files are watched.")
    ] = None,
    git: Annotated[
        Path | None, typer.Option("--git", metavar="REPO", help="Replay the commits of a repository instead.")
    ] = None,
    revisions: Annotated[
        str | None, typer.Option("--range", metavar="A..B", help="Which commits; all of HEAD by default.")
    ] = None,
    language: Annotated[
        str, typer.Option("--language", "-l", metavar="NAME", help="python, or a tree-sitter grammar.")
    ] = "python",
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Keep all findings in this file, as SARIF."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store", metavar="DIR", help="Keep the analysis here, so that the next start is quick."
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Look at the files once; exit 1 if anything is found.")
    ] = False,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="With --once: exit 0 whatever is found.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=0.01,
            help="How often to look for saved files; 0.3 by default.",
        ),
    ] = None,
    why: Annotated[
        int,
        typer.Option(
            "--why", metavar="DEPTH", min=0, help="Show why each finding is reported, this many rules deep."
        ),
    ] = 0,
    output_format: Annotated[
        OutputFormat,
        typer.Option("--format", help="The form of what is printed; json is one object per epoch."),
    ] = OutputFormat.TEXT,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not list the findings at the start.")
    ] = False,
) -> None:
    """Run an analysis over source files, and update it incrementally on every save or commit."""
    if (tree is None) == (git is None):
        raise typer.BadParameter("give one of --tree and --git")
    if revisions is not None and git is None:
        raise typer.BadParameter("--range goes with --git")
    if git is not None and once:
        raise typer.BadParameter("--once goes with --tree; a history ends by itself")
    if git is not None and store is not None:
        raise typer.BadParameter("--store goes with --tree")
    if exit_zero and not once:
        raise typer.BadParameter("--exit-zero goes with --once")
    if interval is not None and (git is not None or once):
        raise typer.BadParameter("--interval is for a folder that is watched")
    from tidelog.cli.watch import (  # noqa: PLC0415 - starts quickly otherwise
        WatchOptions,
        watch_folder,
        watch_history,
    )

    options = WatchOptions(
        program,
        language,
        with_facts(chosen, program),
        sarif,
        0.3 if interval is None else interval,
        once,
        quiet,
        why,
        output_format is OutputFormat.JSON,
        exit_zero,
        store,
    )
    if tree is not None:
        watch_folder(tree, options)
    elif git is not None:
        watch_history(git, revisions, options)
