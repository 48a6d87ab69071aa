"""The options that say which session a command works on; every such command has the same ones."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from tidelog.cli.parameters import (
    Facts,
    Functions,
    Includes,
    IterationLimit,
    Jobs,
    Macros,
    MemoryLimit,
    NoWarnings,
    SessionEngine,
    SessionEngineChoice,
    Target,
    parse_jobs,
    parse_macros,
)

if TYPE_CHECKING:
    from tidelog.cli.sessions import SessionOptions

Parameters = ParamSpec("Parameters")


def takes_session(
    command: Callable[Concatenate["SessionOptions", Parameters], None],
) -> Callable[..., None]:
    """Return the command with the options of a session in place of its first parameter.

    Typer reads options from a signature, so the result's has them before and behind the command's own:

        @takes_session
        def shell(session: "SessionOptions", *, strategy: Strategy = None) -> None: ...
    """
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = list(inspect.signature(_session_options).parameters.values())
    positional = [each for each in own if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    options = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    merged = [shared[0], *positional, *options, *shared[1:]]
    names = {each.name for each in own}

    def run(**values: object) -> None:
        session = _session_options(
            **{name: value for name, value in values.items() if name not in names}  # type: ignore[arg-type]  # Typer made them of these types
        )
        command(session, **{name: values[name] for name in names})  # type: ignore[arg-type, call-arg]  # as above

    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    run.__annotations__ = {each.name: each.annotation for each in merged}
    run.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]  # read by inspect
    return run


def _session_options(  # noqa: PLR0913 - one parameter per option of the command line
    target: Target,
    *,
    fact_dir: Facts = None,
    jobs: Jobs = "auto",
    engine: SessionEngine = SessionEngineChoice.LOCAL,
    memory_limit: MemoryLimit = None,
    iteration_limit: IterationLimit = None,
    functions: Functions = None,
    include: Includes = None,
    macro: Macros = None,
    no_warn: NoWarnings = False,
) -> "SessionOptions":
    from tidelog.cli.sessions import SessionOptions  # noqa: PLC0415 - starts quickly otherwise

    return SessionOptions(
        target,
        fact_dir,
        engine.value,
        parse_jobs(jobs),
        memory_limit,
        iteration_limit,
        tuple(functions or ()),
        tuple(include or ()),
        parse_macros(macro),
        shows_warnings=not no_warn,
    )
