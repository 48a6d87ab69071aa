"""`tidelog blame`: which changes of an epoch caused faults."""

from pathlib import Path

import typer

from tidelog.cli.apply import read_transactions
from tidelog.cli.output import formed, write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.sessions import SessionOptions, open_target
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.explain.blame.wishes import Method, SomeEpochs
from tidelog.session import Session
from tidelog.store import Store


@dataclass(frozen=True, slots=True)
class FaultOptions:
    """The faults that the command line names, and between which epochs."""

    unwanted: tuple[str, ...]
    missing: tuple[str, ...]
    epoch: SomeEpochs | None
    method: Method
    form: OutputFormat


def print_blame(options: SessionOptions, scripts: tuple[Path, ...], faults: FaultOptions) -> None:
    """Print the changes to blame, with their proofs."""
    spare_pandas()
    with open_with_changes(options, scripts) as session:
        blame = session.blame(faults.unwanted, faults.missing, epoch=faults.epoch, method=faults.method)
    write_result(formed(blame, faults.form))


def open_with_changes(options: SessionOptions, scripts: tuple[Path, ...]) -> Session:
    """Return the session of a store, or that of a program after its change scripts."""
    if scripts and (options.target.is_dir() or Store.exists(options.target)):
        raise typer.BadParameter("change scripts go with a program; a store knows its own epochs")
    session = open_target(options)
    for transaction in read_transactions(scripts):
        session.apply(transaction)
    return session


def parse_epoch(text: str | None) -> SomeEpochs | None:
    """Return the epochs that `5` or `3:5` means."""
    if text is None:
        return None
    parts = text.split(":")
    if len(parts) > 2 or not all(part.strip().isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} does not name epochs; give 5, or 3:5 for the changes of 4 and 5")
    numbers = [int(part) for part in parts]
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def parse_method(text: str) -> Method:
    """Return the method of that name."""
    match text:
        case "reasons" | "ddmin":
            return text
    raise typer.BadParameter(f"there is no method {text!r}; choose reasons or ddmin")
