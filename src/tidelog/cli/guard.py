"""How a command ends: diagnostics, interruptions and our own mistakes as exit statuses."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Final, NoReturn, ParamSpec

import typer

from tidelog.errors import Diagnostic, TidelogError, render
from tidelog.progress import PROGRESS

MISTAKE: Final = 1
GUARD_BROKEN: Final = 3
INTERNAL: Final = 70
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141
TERMINATED: Final = 143

Parameters = ParamSpec("Parameters")


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with every exception turned into a message on stderr and a status.

    A user's mistake gives 1, Ctrl-C 130, a reader that closed our pipe 141, and a mistake of ours
    70 with one line (the traceback is shown when TIDELOG_DEBUG=1).
    """

    @wraps(command)
    def run_guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        before = signal.signal(signal.SIGTERM, _terminate)
        PROGRESS.show_on(sys.stderr)
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, typer.BadParameter):
            raise
        except TidelogError as error:
            show(error.diagnostics)
            raise typer.Exit(MISTAKE) from None
        except KeyboardInterrupt:
            sys.stderr.write("interrupted: nothing was written\n")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        except OSError as error:
            show([system_failure(error)])
            _silence_stdout()
            raise typer.Exit(MISTAKE) from None
        except MemoryError:
            show([_out_of_memory()])
            raise typer.Exit(MISTAKE) from None
        except Exception as error:  # noqa: BLE001 - the last edge before the user
            report_internal(error)
            raise typer.Exit(INTERNAL) from None
        finally:
            signal.signal(signal.SIGTERM, before)
            PROGRESS.show_on(None)

    return run_guarded


def show(diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> None:
    """Write diagnostics to stderr, as people read them."""
    for diagnostic in diagnostics:
        sys.stderr.write(render(diagnostic) + "\n")


def _terminate(_signal: int, _frame: FrameType | None) -> NoReturn:
    # An exception, so that half-written files are taken away on the way out.
    raise SystemExit(TERMINATED)


def _silence_stdout() -> None:
    # Python flushes stdout once more at exit; that must not fail a second time.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def system_failure(error: OSError) -> Diagnostic:
    """Return what the system said about a file, a disk or the like."""
    place = f"`{error.filename}`: " if error.filename else ""
    return Diagnostic(code="system-failure", message=f"{place}{error.strerror or error}")


def _out_of_memory() -> Diagnostic:
    return Diagnostic(
        code="out-of-memory",
        message="the machine has no memory left for this",
        hint="--memory-limit stops earlier, with statistics of what was finished",
    )


def report_internal(error: Exception) -> None:
    """Write one line about a mistake of ours, with the traceback if TIDELOG_DEBUG=1."""
    if os.environ.get("TIDELOG_DEBUG") == "1":
        sys.stderr.write("".join(traceback.format_exception(error)))
    words = " ".join(str(error).split())
    sys.stderr.write(
        f"internal error: {type(error).__name__}: {words}\n"
        "  hint: this is a bug in Tidelog; please report it with the program and, run again with"
        " TIDELOG_DEBUG=1, the traceback\n"
    )
