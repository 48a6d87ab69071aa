"""`tidelog run`: read, evaluate, write, and say what it took."""

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.guard import show
from tidelog.cli.parameters import RunForm
from tidelog.cli.programs import read_program, with_facts
from tidelog.cli.souffle_options import SouffleOptions
from tidelog.cli.start import spare_pandas
from tidelog.cli.stats import seconds_since_start, write_stages, write_stats
from tidelog.dataclass import dataclass
from tidelog.engine.recorder import SessionRecorder
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.errors.arguments import Arguments
from tidelog.io.check_places import check_places
from tidelog.options import OpenOptions
from tidelog.plan.dead import needed_relations, wanted_relations
from tidelog.plan.passes import keep_wanted
from tidelog.session.once import evaluate_once
from tidelog.session.prepare import Request, prepare
from tidelog.source import Source
from tidelog.views import Snapshot
from tidelog.views.write import print_sizes, write_outputs

if TYPE_CHECKING:
    from tidelog.session import Session


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line asked for; the output directory `-` is stdout."""

    program: Path
    options: OpenOptions
    output_directory: Path | None
    stats: str | None
    master: str | None
    form: RunForm
    shows_warnings: bool
    floats: str
    souffle: SouffleOptions = SouffleOptions()
    profile: Path | None = None
    report: Path | None = None
    spark_options: tuple[str, ...] = ()
    in_parts: bool = False

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Show warnings, but for those that are not wanted."""
        if self.shows_warnings:
            show([each for each in diagnostics if each.code not in self.souffle.hidden])


def run_program(options: RunOptions) -> None:
    """Evaluate the program and write its outputs.

    Outputs are published only when all of them were written; statistics come last.
    """
    spare_pandas()
    options.show(options.souffle.notes)
    if options.souffle.shown:
        from tidelog.cli.show_program import show_program  # noqa: PLC0415 - most runs show none

        show_program(options.program, options.options, options.souffle.shown, options.souffle.pragmas)
        return
    recorder = SessionRecorder(profiles=options.profile is not None)
    if options.stats is not None:
        recorder.add("start", seconds_since_start())
    try:
        with ExitStack() as held:
            snapshot, session = _evaluate(options, recorder, held)
            with recorder.phase("write"):
                _write(snapshot, options)
            if options.souffle.is_verbose:
                write_stages(recorder)
            if session is not None and options.souffle.opens_shell:
                from tidelog.cli.shell import talk  # noqa: PLC0415 - most runs open none

                sys.stdout.flush()
                talk(session)
    except BaseException:
        # A run stopped on its way, by its memory limit for one, still tells how far it came.
        if "load" in recorder.statistics().seconds:
            _tell(options, recorder, None)
        raise
    _tell(options, recorder, snapshot)


def _tell(options: RunOptions, recorder: SessionRecorder, snapshot: Snapshot | None) -> None:
    """Write what the run took, as far as it came: without a snapshot it was stopped."""
    if options.stats is not None:
        names = () if snapshot is None else snapshot.program.relations
        sizes = {name: snapshot.engine.size(name) for name in names if snapshot is not None}
        settings = options.options.settings
        write_stats(options.stats, recorder, settings, sizes, is_complete=snapshot is not None)
    if options.profile is not None:
        from tidelog.cli.output import write_result  # noqa: PLC0415 - most runs write none
        from tidelog.profile.assemble import make_profile  # noqa: PLC0415 - as above

        write_result(make_profile(recorder, snapshot, options.options).to_json(), options.profile)
    if options.report is not None:
        _write_report(options, options.report, recorder, snapshot)


def _write_report(
    options: RunOptions, path: Path, recorder: SessionRecorder, snapshot: Snapshot | None
) -> None:
    """Write the program after each stage, with the plans that ran if they were measured."""
    from tidelog.cli.debug_report import measured_plans, write_debug_report  # noqa: PLC0415 - few ask for it
    from tidelog.profile.assemble import make_profile  # noqa: PLC0415 - as above

    prepared = prepare(Request(read_program(options.program), options.options), SessionRecorder())
    profile = make_profile(recorder, snapshot, options.options)
    plans = measured_plans(recorder.profile)
    write_debug_report(path, prepared, profile.relations, profile if plans else None, plans)


def _write(snapshot: Snapshot, options: RunOptions) -> None:
    """Write the outputs as their directives say, or print them in the form that was asked for."""
    if options.form is RunForm.TEXT:
        warnings = list[Diagnostic]()
        directory = options.output_directory or Path()
        floats, in_parts = options.floats, options.in_parts
        write_outputs(snapshot, directory, floats=floats, warnings=warnings, in_parts=in_parts)
        if options.shows_warnings:
            show(warnings)
        print_sizes(snapshot, sys.stdout)
        return
    from tidelog.cli.run_tables import output_lines  # noqa: PLC0415 - most runs write files
    from tidelog.cli.tables import TableForm  # noqa: PLC0415 - as above

    sys.stdout.writelines(f"{line}\n" for line in output_lines(snapshot, TableForm(options.form)))


def _evaluate(
    options: RunOptions, recorder: SessionRecorder, held: ExitStack
) -> "tuple[Snapshot, Session | None]":
    """Return what the program derives; a session, for a store or a shell, stays open until `held` is left."""
    chosen = options.options
    has_facts = chosen.store_folder is not None and _holds_facts(chosen.store_folder)
    _check(options, has_facts=has_facts)
    wanted = chosen if has_facts else with_facts(chosen, options.program)
    request = Request(_plain(read_program(options.program), options), wanted)
    if chosen.engine == "spark":
        from tidelog.engine.spark.opening import spark_for_command  # noqa: PLC0415 - most runs need no Spark
        from tidelog.engine.spark.options import read_options  # noqa: PLC0415 - as above

        # Spark takes seconds to start: mistakes in the program and in options are told before.
        prepare(request, SessionRecorder())
        opened = spark_for_command(options.master, read_options(options.spark_options))
        request = replace(request, spark=held.enter_context(opened))
    if chosen.store is not None or options.souffle.opens_shell:
        from tidelog.session.open import start_session  # noqa: PLC0415 - most runs keep no state

        session = held.enter_context(start_session(request, recorder))
        options.show(session.warnings)
        return session.snapshot, session
    prepared = prepare(request, recorder)
    options.show(prepared.warnings)
    directory = options.output_directory or Path()
    options.show(raise_if_any(check_places(prepared.program, directory, kind="output")))
    needed = needed_relations(prepared.program, wanted_relations(prepared.program))
    if chosen.engine != "reference":
        # Nobody can ask a finished run for other relations; the oracle runs what was written.
        pragmas = {**prepared.program.pragmas, **options.souffle.pragmas}
        prepared = replace(prepared, program=keep_wanted(replace(prepared.program, pragmas=pragmas)))
    snapshot, warnings = evaluate_once(prepared, recorder, needed)
    options.show(warnings)
    return snapshot, None


def _plain(source: Source, options: RunOptions) -> Source:
    """Return the source; with `--no-preprocessor` it must have no work for one."""
    lines = enumerate(source.text.splitlines(), 1)
    number = next((number for number, line in lines if line.lstrip().startswith("#")), None)
    if options.souffle.needs_plain_text and number is not None:
        raise TidelogError(
            [
                Diagnostic(
                    code="unsupported-option",
                    message=f"`--no-preprocessor` is refused: {source.name}:{number} is a preprocessor line",
                    hint="leave out the option, or the line",
                )
            ]
        )
    return source


def _prints(options: RunOptions) -> bool:
    return options.form is not RunForm.TEXT or str(options.output_directory) == "-"


def _holds_facts(store: Path) -> bool:
    from tidelog.store import Store  # noqa: PLC0415 - most runs keep no state

    return Store.exists(store)


def _check(options: RunOptions, *, has_facts: bool) -> None:
    """Raise if an option would be ignored."""
    chosen = options.options
    with Arguments() as arguments:
        arguments.refuse(
            if_any={"-F": has_facts and chosen.facts is not None},
            because=f"the store `{chosen.store}` has its facts already",
            hint="leave it out to continue from the store; `tidelog apply` changes its facts",
        )
        arguments.refuse(
            if_any={"-D": options.output_directory is not None and options.form is not RunForm.TEXT},
            because=f"`--format {options.form}` prints the outputs",
        )
        arguments.refuse(
            if_any={"--output-parts": options.in_parts and _prints(options)},
            because="the outputs are printed",
        )
        arguments.refuse(
            if_any={
                "--master": options.master is not None and chosen.engine != "spark",
                "--spark-option": bool(options.spark_options) and chosen.engine != "spark",
                "--output-parts": options.in_parts and chosen.engine != "spark",
            },
            because=f"the engine is `{chosen.engine}`",
            hint="give --engine spark as well",
        )
        if options.souffle.opens_shell and (chosen.engine == "spark" or str(options.program) == "-"):
            is_spark = chosen.engine == "spark"
            reason = "the shell does not run on Spark" if is_spark else "stdin holds the program"
            hint = "leave out --engine spark" if is_spark else "put the program into a file"
            message = f"`-t explain` is not available: {reason}"
            arguments.diagnostics.append(Diagnostic(code="unsupported-option", message=message, hint=hint))
