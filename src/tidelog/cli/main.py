"""The entry point: `tidelog COMMAND ...`."""

import gc
import sys
from typing import Final

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
    "plan",
    "version",
)
_OWN_OPTIONS: Final = ("-h", "--help", "--version", "--install-completion", "--show-completion")


def main() -> None:
    """Run the command line of this process and exit with its status."""
    arguments = sys.argv[1:]
    if arguments in (["version"], ["--version"]):
        # Answered before anything is imported.
        from tidelog import __version__  # noqa: PLC0415 - see above

        sys.stdout.write(f"tidelog {__version__}\n")
        return
    # What imports allocate stays: looking through it again and again takes a tenth of the start.
    gc.set_threshold(100_000, 50, 50)
    from tidelog.cli.app import app  # noqa: PLC0415 - see above

    app(as_command(arguments), prog_name="tidelog")


def as_command(arguments: list[str]) -> list[str]:
    """Return the arguments with `run` put first where no command was named.

    `tidelog prog.dl -F facts` and `tidelog -F facts prog.dl` mean what they mean to Soufflé.
    """
    if not arguments or arguments[0] in (*COMMANDS, *_OWN_OPTIONS):
        return arguments
    is_program = arguments[0].endswith(".dl") or arguments[0].startswith("-")
    return ["run", *arguments] if is_program else arguments
