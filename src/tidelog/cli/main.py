"""The entry point: `tidelog COMMAND ...`."""

import atexit
import gc
import os
import sys
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typer import Typer
    from typer.models import CommandInfo

COMMANDS: Final = (
    "run",
    "apply",
    "shell",
    "serve",
    "blame",
    "repair",
    "status",
    "check",
    "fmt",
    "help",
    "include",
    "lsp",
    "pipeline",
    "plan",
    "profile",
    "review",
    "tree",
    "version",
    "warm",
    "watch",
    "why",
    "why-not",
)
# A shell that completes a command line sets it.
_COMPLETING: Final = "_TIDELOG_COMPLETE"
_OWN_OPTIONS: Final = ("-h", "--help", "--version", "--install-completion", "--show-completion")


def main() -> None:
    """Run the command line of this process and exit with its status."""
    arguments = sys.argv[1:]
    if arguments == ["version"] or "--version" in arguments:
        # Answered before anything is imported; as with Soufflé, whatever else is on the line.
        from tidelog import __version__  # noqa: PLC0415 - see above

        sys.stdout.write(f"tidelog {__version__}\n")
        return
    # What imports allocate stays: looking through it again and again takes a tenth of the start.
    gc.set_threshold(400_000, 50, 50)
    # NumPy would start threads for linear algebra, a tenth of the start, and nothing here uses them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # When a process ends, Python looks through all that is left, which takes as long as importing it.
    atexit.register(gc.freeze)
    # Arrow's own pool keeps what reading files took, up to a sixth of all memory of a run.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from tidelog.cli.app import app  # noqa: PLC0415 - see above

    command = as_command(arguments)
    only_needed(app, command)(command, prog_name="tidelog")


def only_needed(app: "Typer", arguments: list[str]) -> "Typer":
    """Return an app with the command that is called and no other; all of them if none is.

    Typer looks at the options of all commands before it runs one, which takes as long as a small program.
    """
    name = arguments[0] if arguments and _COMPLETING not in os.environ else ""
    commands = [each for each in app.registered_commands if _name_of(each) == name]
    groups = [each for each in app.registered_groups if each.name == name]
    if not commands and not groups:
        return app
    small = copy(app)
    small.registered_commands, small.registered_groups = commands, groups
    # With nothing to do before a command, a single one would be taken for the app itself.
    small.callback()(lambda: None)
    return small


def _name_of(command: "CommandInfo") -> str:
    return command.name or (command.callback.__name__.replace("_", "-") if command.callback else "")


def as_command(arguments: list[str]) -> list[str]:
    """Return the arguments with `run` put first where a file was named and no command; `help` is `--help`.

    `tidelog prog.dl -F facts` and `tidelog -F facts prog.dl` mean what they mean to Soufflé.
    """
    if arguments[:1] == ["help"]:
        return [*arguments[1:2], "--help"]
    if not arguments or arguments[0] in (*COMMANDS, *_OWN_OPTIONS):
        return arguments
    is_program = arguments[0].endswith(".dl") or arguments[0].startswith("-") or _is_file(arguments[0])
    return ["run", *arguments] if is_program else arguments


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:
        # A name may be too long to be one.
        return False
