"""The options of `tidelog review`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.guard import guarded
from tidelog.cli.programs import with_facts
from tidelog.cli.session_parameters import READING_TREES, takes_options

if TYPE_CHECKING:
    from tidelog.options import OpenOptions


class ReviewForm(StrEnum):
    """How a review is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


@guarded
@takes_options(*READING_TREES)
def review(  # noqa: PLR0913 - each is an option of its own
    chosen: "OpenOptions",
    program: Annotated[Path, typer.Argument(help="The analysis, a .dl file.", metavar="PROGRAM")],
    revisions: Annotated[
        str,
        typer.Argument(
            help="BASE..HEAD; BASE...HEAD begins where the two part; HEAD alone compares it with its parent.",
            metavar="BASE..HEAD",
        ),
    ] = "HEAD",
    *,
    git: Annotated[
        Path, typer.Option("--git", metavar="REPO", help="The repository; the current folder by default.")
    ] = Path(),
    below: Annotated[
        str, typer.Option("--tree", metavar="DIR", help="Only files below this folder of the repository.")
    ] = "",
    language: Annotated[
        str, typer.Option("--language", "-l", metavar="NAME", help="python, or a tree-sitter grammar.")
    ] = "python",
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="DIR",
            help="Keep the analysis in this folder, so that the next review is quick.",
        ),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Review every commit of the range against its parent.")
    ] = False,
    why: Annotated[
        int, typer.Option("--why", metavar="DEPTH", min=0, help="How many rules deep proofs go; 0 for none.")
    ] = 2,
    blame: Annotated[
        int,
        typer.Option("--blame", metavar="N", min=0, help="Find the hunks to blame for this many findings."),
    ] = 20,
    output_format: Annotated[
        ReviewForm, typer.Option("--format", help="The form of the review; markdown is for a comment.")
    ] = ReviewForm.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of stdout."),
    ] = None,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit 0 whatever is found.")] = False,
) -> None:
    """Show findings that appear or vanish between two commits, with hunks to blame; exit 3 if any is new."""
    if each and output_format in (ReviewForm.MARKDOWN, ReviewForm.SARIF):
        raise typer.BadParameter("--each prints text or json")
    from tidelog.analysis.review import ReviewOptions  # noqa: PLC0415 - starts quickly otherwise
    from tidelog.cli.review import ReviewRun, run_review  # noqa: PLC0415 - as above

    folder = f"{below.strip('/')}/" if below.strip("/") not in ("", ".") else ""
    run_review(
        ReviewRun(
            program,
            with_facts(chosen, program),
            git,
            revisions,
            language,
            folder,
            store,
            ReviewOptions(why, blame),
            output_format,
            output,
            is_each=each,
            exits_with_zero=exit_zero,
        )
    )
