"""The options of a session on the command line; every command that has one of them declares it here."""

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec

import typer

from tidelog.cli.parameters import Includes, Jobs, Macros, NoWarnings, Target, parse_jobs, parse_macros
from tidelog.cli.souffle_options import parameters, read_souffle_options

if TYPE_CHECKING:
    from tidelog.cli.sessions import SessionOptions
    from tidelog.cli.souffle_options import SouffleOptions
    from tidelog.options import OpenOptions

Own = ParamSpec("Own")
Command = Callable[..., None]


class EngineChoice(StrEnum):
    """The engines, as the command line names them."""

    LOCAL = "local"
    REFERENCE = "reference"
    SPARK = "spark"
    CUDA = "cuda"


class EvaluateChoice(StrEnum):
    """When facts are derived."""

    ALL = "all"
    MAGIC = "magic"
    ON_DEMAND = "on-demand"


class SwitchChoice(StrEnum):
    """What decides that an update takes too long."""

    WORK = "work"
    CLOCK = "clock"


class SessionEngineChoice(StrEnum):
    """The engines of commands that work on a session; Spark's runs programs, and sessions in Python."""

    LOCAL = "local"
    REFERENCE = "reference"


def _options(  # noqa: PLR0913 - one parameter per option of the command line
    *,
    fact_dir: Annotated[
        Path | None,
        typer.Option(
            "-F",
            "--fact-dir",
            "--facts",
            metavar="DIR",
            help="Where the facts are; the program's folder by default.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="DIR", help="Keep the state in this folder, or continue from it."),
    ] = None,
    jobs: Jobs = "auto",
    engine: Annotated[
        SessionEngineChoice, typer.Option("--engine", help="The engine that runs the program.")
    ] = SessionEngineChoice.LOCAL,
    memory_limit: Annotated[
        str | None,
        typer.Option("--memory-limit", metavar="SIZE", help="Stop beyond this much memory, such as 4G."),
    ] = None,
    iteration_limit: Annotated[
        int | None,
        typer.Option("--iteration-limit", metavar="N", help="Stop a stratum after this many iterations."),
    ] = None,
    functions: Annotated[
        list[Path] | None,
        typer.Option(
            "--functions", metavar="FILE", help="A Python file with @tidelog.functor functions; repeatable."
        ),
    ] = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            "-l",
            "--libraries",
            metavar="NAME",
            help="A C library with functors; libfunctors.so by default; repeatable.",
        ),
    ] = None,
    library_dir: Annotated[
        list[Path] | None,
        typer.Option("-L", "--library-dir", metavar="DIR", help="Where C libraries are; repeatable."),
    ] = None,
    library_bits: Annotated[
        int | None,
        typer.Option("--library-bits", metavar="N", help="How wide a C library's numbers are: 32 or 64."),
    ] = None,
    include: Includes = None,
    macro: Macros = None,
    evaluate: Annotated[
        EvaluateChoice, typer.Option("--evaluate", help="When facts are derived.")
    ] = EvaluateChoice.ALL,
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="How epochs are applied; auto chooses for each stratum.",
        ),
    ] = "auto",
    max_update_share: Annotated[
        float,
        typer.Option(
            "--max-update-share", metavar="F", help="The share of a recompute's cost that an update may take."
        ),
    ] = 0.2,
    switch: Annotated[
        SwitchChoice, typer.Option("--switch", help="What decides that an update takes too long.")
    ] = SwitchChoice.WORK,
    keep_epochs: Annotated[
        int | None,
        typer.Option("--keep-epochs", min=1, metavar="N", help="How many old epochs can be read."),
    ] = None,
) -> "OpenOptions":
    """Return the options; without `-F` the facts are None, because only the caller knows the program."""
    from tidelog.engine.function_files import load_functions  # noqa: PLC0415 - starts quickly otherwise
    from tidelog.engine.libraries import usual_libraries  # noqa: PLC0415 - as above
    from tidelog.options import OpenOptions  # noqa: PLC0415 - as above

    folders = tuple(library_dir or ())
    return OpenOptions(
        facts=fact_dir,
        engine=engine.value,
        jobs=parse_jobs(jobs),
        memory_limit=memory_limit,
        iteration_limit=iteration_limit,
        functions=load_functions(functions or ()),
        libraries=library or usual_libraries(folders),
        library_path=folders,
        library_bits=library_bits,
        include_path=include or (),
        defines=parse_macros(macro),
        evaluate=evaluate.value,
        strategy=strategy,
        max_update_share=max_update_share,
        switch=switch.value,
        store=store,
        keep_epochs=keep_epochs,
    )


_PARAMETERS: Final = inspect.signature(_options).parameters
# How programs are read, which is all that commands without a session need.
_LIBRARIES: Final = ("library", "library_dir", "library_bits")
READING: Final = ("fact_dir", "functions", *_LIBRARIES, "include", "macro")
# The same for a command to which `-l` names a language; it finds only the usual library.
READING_TREES: Final = tuple(name for name in READING if name != "library")
_RUNNING: Final = ("fact_dir", "jobs", "engine", "memory_limit", "iteration_limit", *READING[1:])
# How epochs are applied; auto chooses for each stratum.
EPOCHS: Final = ("evaluate", "strategy", "max_update_share", "switch", "keep_epochs")


def takes_options(
    *names: str,
) -> Callable[[Callable[Concatenate["OpenOptions", Own], None]], Command]:
    """Return what puts the options of these names in place of a command's first parameter.

    @takes_options(*READING)
    def plan(options: "OpenOptions", program: Program, *, measure: bool = False) -> None: ...
    """
    shared = [_PARAMETERS[name] for name in names]
    return lambda command: _with_parameters(command, [], shared, lambda values: _options(**values))


def takes_run(
    command: Callable[Concatenate[tuple["OpenOptions", "SouffleOptions"], Own], None],
) -> Command:
    """Return a command that runs a program once, on any engine, with those options and Soufflé's."""
    engines = Annotated[EngineChoice, typer.Option("--engine", help="The engine that runs the program.")]
    shared = [_PARAMETERS[name] for name in ("store", "keep_epochs", *_RUNNING)]
    shared = [each.replace(annotation=engines) if each.name == "engine" else each for each in shared]
    others = parameters()
    names = {each.name for each in others}

    def build(values: Mapping[str, Any]) -> "tuple[OpenOptions, SouffleOptions]":
        souffle = read_souffle_options(values)
        return _options(**{name: value for name, value in values.items() if name not in names}), souffle

    return _with_parameters(command, [], [*shared, *others], build)


def takes_session(
    *names: str,
) -> Callable[[Callable[Concatenate["SessionOptions", Own], None]], Command]:
    """Return what puts a store or program, its options and those of these names in place of the first one.

    @takes_session(*EPOCHS)
    def shell(session: "SessionOptions") -> None: ...
    """

    def build(values: Mapping[str, Any]) -> "SessionOptions":
        from tidelog.cli.sessions import SessionOptions  # noqa: PLC0415 - starts quickly otherwise

        options = _options(**{name: value for name, value in values.items() if name in _PARAMETERS})
        return SessionOptions(values["target"], options, shows_warnings=not values["no_warn"])

    named = inspect.Parameter.KEYWORD_ONLY
    target = inspect.Parameter("target", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Target)
    silent = inspect.Parameter("no_warn", named, default=False, annotation=NoWarnings)
    shared = [*(_PARAMETERS[name] for name in (*names, *_RUNNING)), silent]
    return lambda command: _with_parameters(command, [target], shared, build)


def _with_parameters(
    command: Callable[..., None],
    first: list[inspect.Parameter],
    shared: list[inspect.Parameter],
    build: Callable[[Mapping[str, Any]], object],
) -> Command:
    """Return a command whose first argument is built from shared parameters.

    Typer reads options from a signature, so the result's has them before and behind the command's own.
    """
    own = list(inspect.signature(command).parameters.values())[1:]
    positional = [each for each in own if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    options = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    merged = [*first, *positional, *options, *shared]
    names = {each.name for each in own}

    def run(**values: object) -> None:
        built = build({name: value for name, value in values.items() if name not in names})
        command(built, **{name: values[name] for name in names})

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {each.name: each.annotation for each in merged}
    run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]  # read by inspect
    return run
