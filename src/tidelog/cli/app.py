"""The commands and their options; what they do stands in a file each."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog import __version__
from tidelog.cli.guard import guarded
from tidelog.cli.lsp import lsp
from tidelog.cli.parameters import (
    AtEpoch,
    Epochs,
    Fact,
    FloatsChoice,
    Format,
    Includes,
    Jobs,
    Macros,
    Method,
    Missing,
    NoWarnings,
    Output,
    OutputFormat,
    PictureChoice,
    Program,
    Programs,
    ProofForm,
    ProofFormat,
    RunForm,
    Scripts,
    Unwanted,
    parse_jobs,
    parse_macros,
)
from tidelog.cli.pipeline import pipeline_app
from tidelog.cli.review_command import review
from tidelog.cli.session_parameters import EPOCHS, READING, takes_options, takes_run, takes_session
from tidelog.cli.tree import tree_app
from tidelog.cli.usage import show_plain_usage
from tidelog.cli.watch_command import watch
from tidelog.progress import PROGRESS

if TYPE_CHECKING:
    from tidelog.cli.sessions import SessionOptions
    from tidelog.cli.souffle_options import SouffleOptions
    from tidelog.options import OpenOptions

app = typer.Typer(
    name="tidelog",
    help="Tidelog runs Datalog programs in the Soufflé dialect.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
@guarded
@takes_run
def run(  # noqa: PLR0913 - one parameter per option of the command line
    asked: "tuple[OpenOptions, SouffleOptions]",
    program: Program,
    *,
    output_dir: Annotated[
        Path | None, typer.Option("-D", "--output-dir", metavar="DIR", help="Where outputs go; - is stdout.")
    ] = None,
    output_format: Annotated[
        RunForm,
        typer.Option("--format", help="Print outputs in this form; text writes them as the program says."),
    ] = RunForm.TEXT,
    stats: Annotated[
        str | None, typer.Option("--stats", metavar="FILE", help="Write statistics as JSON; - is stdout.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("-p", "--profile", metavar="FILE", help="Write the cost of every rule, as JSON."),
    ] = None,
    debug_report: Annotated[
        Path | None,
        typer.Option("-r", "--debug-report", metavar="FILE", help="Write stages, strata and plans as HTML."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="With --engine spark: the cluster, such as local[4]."),
    ] = None,
    spark_option: Annotated[
        list[str] | None,
        typer.Option("--spark-option", metavar="NAME=VALUE", help="An option of --engine spark; repeatable."),
    ] = None,
    output_parts: Annotated[
        bool,
        typer.Option("--output-parts", help="With --engine spark: outputs are folders that workers write."),
    ] = False,
    floats: Annotated[
        FloatsChoice,
        typer.Option("--floats", help="How to write floats: as Soufflé does, or in the fewest digits."),
    ] = FloatsChoice.SOUFFLE,
    no_warn: NoWarnings = False,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="Show no progress.")] = False,
) -> None:
    """Evaluate a program over its facts and write its outputs."""
    from tidelog.cli.run import RunOptions, run_program  # noqa: PLC0415 - starts quickly otherwise

    if no_progress:
        PROGRESS.show_on(None)
    options, souffle = asked
    shows_warnings = not (no_warn or souffle.hides_all)
    run_program(
        RunOptions(
            program,
            options,
            output_dir,
            stats,
            master,
            output_format,
            shows_warnings,
            floats.value,
            souffle,
            profile,
            debug_report,
            tuple(spark_option or ()),
            output_parts,
        )
    )


@app.command()
@guarded
@takes_session(*EPOCHS)
def apply(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    scripts: Annotated[
        list[Path],
        typer.Argument(help="Change scripts; - is stdin, applied as it arrives.", metavar="CHANGES..."),
    ],
    *,
    explain_strategy: Annotated[
        bool, typer.Option("--explain-strategy", help="Say what was done to each stratum, and why.")
    ] = False,
    output_format: Format = OutputFormat.TEXT,
    show_all: Annotated[bool, typer.Option("--all", help="Show all relations, not only outputs.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Go on after a rejected epoch.")] = False,
    guards: Annotated[
        list[Path] | None,
        typer.Option(
            "--guards", metavar="FILE", help="Facts that must never, or always, hold; exit 3 if broken."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse an epoch that breaks a guard.")] = False,
    profile_to: Annotated[
        Path | None,
        typer.Option("-p", "--profile", metavar="FILE", help="Write the cost of every epoch, as JSON."),
    ] = None,
) -> None:
    """Apply change scripts to a store or a program, epoch by epoch, and print what each changes."""
    from tidelog.cli.apply import ApplyOptions, apply_changes  # noqa: PLC0415 - starts quickly otherwise

    if profile_to is not None:
        session = replace(session, options=replace(session.options, profile=True))
    apply_changes(
        ApplyOptions(
            session,
            tuple(scripts),
            explain_strategy,
            output_format,
            show_all,
            keep_going,
            tuple(guards or ()),
            strict,
            profile_to,
        )
    )


@app.command()
@guarded
@takes_session(*EPOCHS)
def shell(
    session: "SessionOptions",
) -> None:
    """Change facts and rules and ask queries, line by line."""
    from tidelog.cli.shell import run_shell  # noqa: PLC0415 - starts quickly otherwise

    run_shell(replace(session, takes_rules=True))


@app.command()
@guarded
@takes_session()
def serve(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    *,
    host: Annotated[
        str, typer.Option("--host", metavar="HOST", help="Where to listen; only this machine by default.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes any free one.")
    ] = 8421,
    write: Annotated[bool, typer.Option("--write", help="Allow changes to facts and rules.")] = False,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TEXT",
            envvar="TIDELOG_TOKEN",
            help="What every visitor has to enter.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Another name of the machine; may be repeated."),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    measures: Annotated[
        bool, typer.Option("--profile", help="Measure the evaluation, and show where the time went.")
    ] = False,
) -> None:
    """Explore a store or a program in the browser."""
    from tidelog.cli.serve import ServeOptions, serve_explorer  # noqa: PLC0415 - starts quickly otherwise

    if measures:
        session = replace(session, options=replace(session.options, profile=True))
    serve_explorer(ServeOptions(session, host, port, token, write, tuple(allow_host or ()), open_))


app.command()(watch)
app.command()(review)
app.command()(lsp)


@app.command()
@guarded
@takes_session()
def blame(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    scripts: Scripts = None,
    *,
    unwanted: Unwanted = None,
    missing: Missing = None,
    epoch: Epochs = None,
    method: Method = "reasons",
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Name the changes that caused unwanted facts or made facts vanish."""
    from tidelog.cli.blame import (  # noqa: PLC0415 - starts quickly otherwise
        FaultOptions,
        parse_epoch,
        parse_method,
        print_blame,
    )

    faults = FaultOptions(
        tuple(unwanted or ()), tuple(missing or ()), parse_epoch(epoch), parse_method(method),
        output_format,
    )  # fmt: skip
    print_blame(session, tuple(scripts or ()), faults)


@app.command()
@guarded
@takes_session()
def repair(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    scripts: Scripts = None,
    *,
    unwanted: Unwanted = None,
    missing: Missing = None,
    epoch: Epochs = None,
    method: Method = "reasons",
    alternatives: Annotated[
        int, typer.Option("--alternatives", metavar="N", help="How many repairs to print.")
    ] = 1,
    cost: Annotated[
        list[str] | None,
        typer.Option("--cost", metavar="NAME=COST", help="Cost of a relation or fact; 1 by default."),
    ] = None,
    untouchable: Annotated[
        list[str] | None,
        typer.Option("--untouchable", metavar="NAME", help="A relation, fact or rule that must stay."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", metavar="NAME", help="A change that is right; repeatable."),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long to search.")] = 60.0,
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Ask about each repair.")] = False,
    apply_it: Annotated[bool, typer.Option("--apply", help="Apply the repair as an epoch.")] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Find the fewest changes to take back so that no fault remains; exit 3 if there is no repair."""
    from tidelog.cli.blame import FaultOptions, parse_epoch, parse_method  # noqa: PLC0415 - as above
    from tidelog.cli.repair import RepairOptions, parse_costs, print_repair  # noqa: PLC0415 - as above
    from tidelog.explain.blame.wishes import Wishes  # noqa: PLC0415 - as above

    faults = FaultOptions(
        tuple(unwanted or ()), tuple(missing or ()), parse_epoch(epoch), parse_method(method),
        output_format,
    )  # fmt: skip
    wishes = Wishes(
        alternatives, parse_costs(cost or []), tuple(untouchable or ()), tuple(reject or ()), seconds
    )
    print_repair(session, tuple(scripts or ()), RepairOptions(faults, wishes, interactive, apply_it))


@app.command()
@guarded
def status(
    store: Annotated[Path, typer.Argument(help="A store's folder.", metavar="STORE")],
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Show what a store holds: epoch, sizes, program, last epochs."""
    from tidelog.cli.status import print_status  # noqa: PLC0415 - starts quickly otherwise

    print_status(store, output_format)


@app.command()
@guarded
def check(
    programs: Programs,
    *,
    include: Includes = None,
    macro: Macros = None,
    no_warn: NoWarnings = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Report every mistake in programs without running them."""
    from tidelog.cli.check import check_programs  # noqa: PLC0415 - starts quickly otherwise

    folders, macros = tuple(include or ()), parse_macros(macro)
    check_programs(programs, folders, macros, shows_warnings=not no_warn, form=output_format)


@app.command()
@guarded
def fmt(
    programs: Programs,
    *,
    check_only: Annotated[
        bool, typer.Option("--check", help="Only name the programs that would change; exit 1 if any.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Rewrite the files in place.")] = False,
) -> None:
    """Print programs in the canonical layout; comments are kept."""
    if check_only and write:
        raise typer.BadParameter("choose one of --check and --write")
    from tidelog.cli.fmt import format_programs  # noqa: PLC0415 - starts quickly otherwise

    format_programs(programs, only_checks=check_only, writes=write)


@app.command()
@guarded
@takes_options(*READING)
def plan(
    options: "OpenOptions",
    program: Program,
    *,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Evaluate the program, and print what each operator yielded."),
    ] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Print what the engine will run, or with --measure what it ran: algebra, operators, orders, indexes."""
    if measure:
        from tidelog.cli.plan_measure import measure_plan  # noqa: PLC0415 - loads the engine

        measure_plan(program, options, output_format)
        return
    from tidelog.cli.plan import print_plan  # noqa: PLC0415 - starts quickly otherwise

    print_plan(program, options, output_format)


@app.command()
@guarded
def profile(
    path: Annotated[Path, typer.Argument(help="The file that `run --profile` wrote.", metavar="PROFILE")],
    other: Annotated[
        Path | None, typer.Argument(help="Another profile to compare with the first.", metavar="OTHER")
    ] = None,
    *,
    picture: Annotated[
        PictureChoice | None,
        typer.Option("--picture", help="Draw it as SVG: where the time went, iterations, or facts."),
    ] = None,
    output_format: Format = OutputFormat.TEXT,
    output: Output = None,
) -> None:
    """Show where a run spent its time: rules, iterations, operators, and advice; or how two runs differ."""
    from tidelog.cli.profile import ProfileOptions, print_profile  # noqa: PLC0415 - starts quickly otherwise

    print_profile(ProfileOptions(path, other, output_format, picture, output))


@app.command()
@guarded
@takes_session()
def why(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    fact: Fact,
    *,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, metavar="N", help="How deep to go; all the way by default."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="NAME", help="Show the smallest proof by height, nodes or leaves."),
    ] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show all derivations of the fact.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="With --all: at most this many.")
    ] = None,
    epoch: AtEpoch = None,
    output_format: ProofFormat = ProofForm.TEXT,
    output: Output = None,
) -> None:
    """Show why a fact holds: its proof, with the rules as they were written."""
    from tidelog.cli.why import WhyOptions, print_why  # noqa: PLC0415 - as above

    print_why(WhyOptions(session, fact, output_format, depth, metric, show_all, limit, output, epoch))


@app.command("why-not")
@guarded
@takes_session()
def why_not(  # noqa: PLR0913 - one parameter per option of the command line
    session: "SessionOptions",
    fact: Fact,
    *,
    depth: Annotated[
        int, typer.Option("--depth", min=1, metavar="N", help="Ask about missing facts in turn, this deep.")
    ] = 1,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="N", help="How many near misses to show for each rule.")
    ] = 3,
    epoch: AtEpoch = None,
    output_format: Format = OutputFormat.TEXT,
    output: Output = None,
) -> None:
    """Show why a fact does not hold: how near each rule comes to deriving it."""
    from tidelog.cli.why import WhyOptions, print_why_not  # noqa: PLC0415 - as above

    form = ProofForm(output_format)
    print_why_not(WhyOptions(session, fact, form, depth, limit=limit, output=output, epoch=epoch))


app.add_typer(pipeline_app, name="pipeline")
app.add_typer(tree_app, name="tree")


@app.command()
@guarded
def warm(jobs: Jobs = "auto") -> None:
    """Compile the kernels that programs commonly need, once for this machine."""
    from tidelog.cli.warm import warm_kernels  # noqa: PLC0415 - starts quickly otherwise

    warm_kernels(parse_jobs(jobs))


@app.command()
def include() -> None:
    """Print the folder of the header for functors in C: cc -shared -fPIC -I "$(tidelog include)" ..."""
    sys.stdout.write(f"{Path(__file__).parents[1] / 'include'}\n")


@app.command()
def version() -> None:
    """Print the version."""
    sys.stdout.write(f"tidelog {__version__}\n")


show_plain_usage(app)
