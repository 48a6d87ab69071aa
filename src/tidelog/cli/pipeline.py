"""`tidelog pipeline`: run a job on Spark, or check it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.guard import MISTAKE, guarded, show
from tidelog.cli.parameters import Format, OutputFormat
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.program.suggest import counted

if TYPE_CHECKING:
    from tidelog.pipeline import Pipeline
    from tidelog.pipeline.report import EpochRow, Report

pipeline_app = typer.Typer(
    help="Run jobs on Spark: from sources through a program to published tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

JobFile = Annotated[Path, typer.Argument(help="The job, a TOML file.", metavar="JOB")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark's master instead of the job's, such as local[4]."),
]


@pipeline_app.command()
@guarded
def run(
    job: JobFile,
    *,
    master: Master = None,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="End after this many rounds of an interval.")
    ] = None,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Run a job; after a crash, continue from its last committed epoch."""
    pipeline = _read(job, master)
    show(pipeline.warnings)
    from tidelog.engine.spark.starting import interruptible  # noqa: PLC0415 - only for a run

    is_json = output_format is OutputFormat.JSON
    with interruptible(), _stopped_by_signals(pipeline):
        before = pipeline.warnings
        report = pipeline.run(rounds=rounds, on_epoch=None if is_json else _print_epoch)
    # Where the state is was not known before.
    show([each for each in pipeline.warnings if each not in before])
    sys.stdout.write(report.to_json() + "\n" if is_json else _summary(report, pipeline))


@pipeline_app.command()
@guarded
def check(
    job: JobFile,
    *,
    master: Master = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Also start Spark and check the columns of all sources.")
    ] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Report every mistake in a job and its program without running it, and what each step reads."""
    if output_format is OutputFormat.JSON:
        _check_as_json(job, master, sources=sources)
        return
    pipeline = _read(job, master)
    show(pipeline.warnings)
    if sources:
        pipeline.check_sources()
    for line in _step_lines(pipeline):
        sys.stdout.write(line + "\n")
    count, outputs = len(pipeline.job.sources), len(pipeline.job.outputs)
    sys.stdout.write(f"{job}: sources: {count}, outputs: {outputs}, no mistakes\n")


def _step_lines(pipeline: "Pipeline") -> Iterator[str]:
    from tidelog.io.show import aligned  # noqa: PLC0415 - starts quickly otherwise

    rows = [[step.kind, step.makes, step.reads, step.runs] for step in pipeline.steps()]
    yield from aligned([["step", "makes", "reads", "runs in"], *rows])


def _check_as_json(job: Path, master: str | None, *, sources: bool) -> None:
    """Print the diagnostics as a list; exit with status 1 if one of them is an error."""
    import json  # noqa: PLC0415 - starts quickly otherwise

    from tidelog.errors.plain import plain_diagnostics  # noqa: PLC0415 - as above

    found: tuple[Diagnostic, ...] = ()
    try:
        pipeline = _read(job, master)
        found = tuple(pipeline.warnings)
        if sources:
            pipeline.check_sources()
    except TidelogError as error:
        found += error.diagnostics
    sys.stdout.write(json.dumps(plain_diagnostics(found), indent=2, ensure_ascii=False) + "\n")
    if any(each.severity is Severity.ERROR for each in found):
        raise typer.Exit(MISTAKE)


def _read(path: Path, master: str | None) -> "Pipeline":
    from dataclasses import replace  # noqa: PLC0415 - starts quickly otherwise

    from tidelog.pipeline import Pipeline, read_job  # noqa: PLC0415 - as above

    job = read_job(path)
    if master is not None:
        spans = {key: span for key, span in job.spans.items() if key != "master"}
        job = replace(job, master=master, spans=spans)
    return Pipeline(job)


@contextmanager
def _stopped_by_signals(pipeline: "Pipeline") -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM end the run after the present epoch, and the second at once.

    A job in the background ignores Ctrl-C and goes on doing so.
    """
    # Spark has a handler of its own for Ctrl-C, which would break the epoch off.
    _ = pipeline.spark
    before: dict[int, object] = {}

    def stop(_number: int, _frame: FrameType | None) -> None:
        sys.stderr.write("stopping after the present epoch\n")
        pipeline.stop()
        for each in before:
            signal.signal(each, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            continue
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]


def _print_epoch(row: "EpochRow") -> None:
    rows = sum(source.rows for source in row.sources)
    bad = sum(sum(source.quarantined.values()) for source in row.sources)
    changes = ", ".join(f"{each.relation} +{each.inserted} -{each.deleted}" for each in row.outputs)
    late = sum(source.late for source in row.sources)
    aside = (f", {bad} quarantined" if bad else "") + (f", {late} late" if late else "")
    sys.stdout.write(f"epoch {row.epoch}: {row.cause}, {counted(rows, 'row')}{aside}; {changes}\n")
    sys.stdout.flush()


def _summary(report: "Report", pipeline: "Pipeline") -> str:
    place = pipeline.job.state
    again = (
        f", {report.skipped} micro-batch{'' if report.skipped == 1 else 'es'} delivered again"
        if report.skipped
        else ""
    )
    late = f", {report.late_count} late" if report.late_count else ""
    return (
        f"{counted(report.epoch_count, 'epoch')}, {counted(report.rows, 'row')},"
        f" {report.quarantined_count} quarantined{late}{again}; report in {place}/reports\n"
    )
