"""`tidelog repair`: the fewest changes to take back so that no fault remains."""

import sys
from pathlib import Path

import typer

from tidelog.cli.blame import FaultOptions, open_with_changes
from tidelog.cli.guard import GUARD_BROKEN
from tidelog.cli.output import formed, write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.sessions import SessionOptions
from tidelog.cli.start import spare_pandas
from tidelog.dataclass import dataclass
from tidelog.errors.arguments import Arguments
from tidelog.explain.blame.answers import InputChange, Repair
from tidelog.explain.blame.wishes import Wishes
from tidelog.session import Session


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What the command line asks of a repair."""

    faults: FaultOptions
    wishes: Wishes
    asks: bool = False
    applies: bool = False


def print_repair(options: SessionOptions, scripts: tuple[Path, ...], asked: RepairOptions) -> None:
    """Print a repair; ask about it and apply it if told to. Without any repair the status is 3."""
    spare_pandas()
    with Arguments() as arguments:
        arguments.refuse(
            if_any={"--format json": asked.asks and asked.faults.form is OutputFormat.JSON},
            because="`--interactive` asks in words",
        )
    with open_with_changes(options, scripts) as session:
        repair = _find(session, asked, [])
        if asked.asks:
            repair = _agree(session, asked, repair)
        else:
            write_result(formed(repair, asked.faults.form))
        if repair and asked.applies:
            delta = session.apply(repair)
            # What is not part of the object would break it.
            stream = sys.stderr if asked.faults.form is OutputFormat.JSON else sys.stdout
            stream.write(f"applied as epoch {delta.epoch}\n")
    if not repair:
        raise typer.Exit(GUARD_BROKEN)


def _find(session: Session, asked: RepairOptions, rejected: list[str | InputChange | Repair]) -> Repair:
    faults, wishes = asked.faults, asked.wishes
    return session.repair(
        faults.unwanted, faults.missing, epoch=faults.epoch, method=faults.method,
        alternatives=wishes.alternatives, costs=wishes.costs, untouchable=wishes.untouchable,
        reject=[*wishes.all_rejected, *rejected], seconds=wishes.seconds,
    )  # fmt: skip


def _agree(session: Session, asked: RepairOptions, repair: Repair) -> Repair:
    """Propose repairs until one is taken or none is left."""
    rejected: list[str | InputChange | Repair] = []
    while True:
        write_result(formed(repair, asked.faults.form))
        if not repair:
            return repair
        for number, change in enumerate(repair, start=1):
            sys.stdout.write(f"  [{number}] {change}\n")
        sys.stdout.write("take it (y), another one (n), or the number of a change that must stay: ")
        sys.stdout.flush()
        answer = sys.stdin.readline()
        match answer.strip().lower():
            case "y" | "yes":
                return repair
            case chosen if chosen.isdecimal() and 1 <= int(chosen) <= len(repair):
                rejected.append(repair.changes[int(chosen) - 1])
            case _ if answer:
                rejected.append(repair)
            case _:
                sys.stdout.write("\n")
                raise typer.Exit(GUARD_BROKEN)
        repair = _find(session, asked, rejected)


def parse_costs(texts: list[str]) -> dict[str, float]:
    """Return costs from texts such as `load=2` and `assign('a', 'b')=0.5`."""
    costs: dict[str, float] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        try:
            costs[name.strip()] = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise typer.BadParameter(f"{text!r} is not a valid cost; give load=2 or \"load('a', 'b')=2\"")
    return costs
