"""Sessions named on the command line: a store's folder, or a program with its facts."""

from dataclasses import replace
from pathlib import Path

from tidelog.cli.guard import show
from tidelog.cli.programs import read_program, with_facts
from tidelog.dataclass import dataclass
from tidelog.engine.recorder import SessionRecorder
from tidelog.errors.arguments import Arguments
from tidelog.options import OpenOptions
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
    options: OpenOptions = OpenOptions()
    shows_warnings: bool = True
    is_read_only: bool = False
    # Whether rules can be added, which may include files and use macros.
    takes_rules: bool = False


def open_target(session: SessionOptions) -> Session:
    """Return the session of a store, or a new one over a program and its facts."""
    options = session.options
    if session.target.is_dir() or Store.exists(session.target):
        _check_store(session)
        request = Request(None, replace(options, store=session.target, read_only=session.is_read_only))
    else:
        request = Request(read_program(session.target), with_facts(options, session.target))
    opened = start_session(request, SessionRecorder(profiles=options.profile))
    if session.shows_warnings:
        show(opened.warnings)
    return opened


def _check_store(session: SessionOptions) -> None:
    """Raise if an option is given that only a program has use for."""
    options = session.options
    with Arguments() as arguments:
        arguments.refuse(
            if_any={"-F": options.facts is not None},
            because=f"the store `{session.target}` has its facts already",
            hint="leave it out; `tidelog apply` changes the facts of a store",
        )
        is_fixed = not session.takes_rules
        arguments.refuse(
            if_any={"-I": bool(options.include_path) and is_fixed, "-M": bool(options.defines) and is_fixed},
            because=f"the store `{session.target}` has its program already",
        )
