"""Sessions named on the command line: a store's folder, or a program with its facts."""

from collections.abc import Mapping
from pathlib import Path

from tidelog.cli.guard import show
from tidelog.cli.programs import read_program
from tidelog.dataclass import dataclass
from tidelog.engine.epoch import MaintenanceSettings
from tidelog.engine.function_files import load_functions
from tidelog.engine.recorder import SessionRecorder
from tidelog.engine.settings import make_settings
from tidelog.engine.strategy import choose_strategy
from tidelog.errors.arguments import Arguments
from tidelog.session import Session
from tidelog.session.open import start_session
from tidelog.session.prepare import Request
from tidelog.store import Store


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What the command line says of a session; `target` is a store's folder or a program.

    A store that is only read can be written to by another process.
    """

    target: Path
    fact_directory: Path | None = None
    engine: str = "local"
    jobs: int | None = None
    memory_limit: str | None = None
    iteration_limit: int | None = None
    functions: tuple[Path, ...] = ()
    include_path: tuple[Path, ...] = ()
    defines: Mapping[str, str] | None = None
    strategy: str | None = None
    max_update_share: float | None = None
    shows_warnings: bool = True
    is_read_only: bool = False
    # Whether rules can be added, which may include files and use macros.
    takes_rules: bool = False


def open_target(options: SessionOptions) -> Session:
    """Return the session of a store, or a new one over a program and its facts."""
    is_store = options.target.is_dir() or Store.exists(options.target)
    if is_store:
        _check_store(options)
    request = Request(
        None if is_store else read_program(options.target),
        None if is_store else options.fact_directory,
        options.engine,
        make_settings(options.jobs, options.memory_limit, options.iteration_limit),
        load_functions(options.functions),
        options.include_path,
        options.defines,
        choose_strategy(MaintenanceSettings(), options.strategy, options.max_update_share, options.engine),
        options.target if is_store else None,
        options.is_read_only and is_store,
    )
    session = start_session(request, SessionRecorder())
    if options.shows_warnings:
        show(session.warnings)
    return session


def _check_store(options: SessionOptions) -> None:
    """Raise if an option is given that only a program has use for."""
    with Arguments() as arguments:
        arguments.refuse(
            if_any={"-F": options.fact_directory is not None},
            because=f"the store `{options.target}` has its facts already",
            hint="leave it out; `tidelog apply` changes the facts of a store",
        )
        is_fixed = not options.takes_rules
        arguments.refuse(
            if_any={"-I": bool(options.include_path) and is_fixed, "-M": bool(options.defines) and is_fixed},
            because=f"the store `{options.target}` has its program already",
        )
