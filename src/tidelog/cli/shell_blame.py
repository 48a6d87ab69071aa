"""The shell's commands about faults: which changes caused them, and which to take back."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tidelog.cli.shell_output import mistake, say
from tidelog.dataclass import dataclass
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax import print_node, tree
from tidelog.syntax.query import parse_query
from tidelog.views import Delta

if TYPE_CHECKING:
    from tidelog.cli.shell_proofs import Command

    # Loaded by the first question: the solver takes longer than the shell to start.
    from tidelog.explain.blame.answers import InputChange, Repair

_EPOCHS: Final = re.compile(r"(.*?)\s+(?:at\s+(\d+)|between\s+(\d+)\s+and\s+(\d+))\s*$", re.DOTALL)
_BAD_EPOCHS: Final = re.compile(r"\)\s+(?:at|between)\b")


@dataclass(frozen=True)
class Fault:
    """What a line asked about: facts that should not hold, facts that should, and when."""

    unwanted: tuple[str, ...]
    missing: tuple[str, ...]
    epoch: int | tuple[int, int] | None = None
    rejected: "tuple[str | InputChange | Repair, ...]" = ()


class BlameCommands:
    """Commands that ask a session about faults; the last repair can be refined and accepted."""

    def __init__(self, session: Session, apply: Callable[[Callable[[], Delta]], None]) -> None:
        self._session = session
        self._apply = apply
        self._fault: Fault | None = None
        self._repair: Repair | None = None
        self.commands: dict[str, Command] = {
            "blame": self._blame,
            "repair": self._find_repair,
            "reject": self._reject,
            "accept": self._accept,
            "guard": self._guard,
            "unguard": self._unguard,
        }

    def _blame(self, text: str) -> None:
        fault = read_fault(text)
        say(str(self._session.blame(fault.unwanted, fault.missing, epoch=fault.epoch)))

    def _find_repair(self, text: str) -> None:
        self._ask(read_fault(text))

    def _ask(self, fault: Fault) -> None:
        repair = self._session.repair(fault.unwanted, fault.missing, epoch=fault.epoch, reject=fault.rejected)
        self._fault, self._repair = fault, repair
        say(str(repair))
        if repair:
            say("`accept` applies it; `reject N` keeps its Nth change, `reject` the repair as a whole")

    def _reject(self, text: str) -> None:
        fault, repair = self._asked()
        rejected: str | InputChange | Repair = repair
        if text.isdecimal():
            if not 1 <= int(text) <= len(repair):
                raise mistake("no-repair", f"the repair has no change {text}", f"give 1 to {len(repair)}")
            rejected = repair.changes[int(text) - 1]
        elif text:
            rejected = text.rstrip(".")
        self._ask(replace(fault, rejected=(*fault.rejected, rejected)))

    def _accept(self, _: str) -> None:
        repair = self._asked()[1]
        self._apply(lambda: self._session.apply(repair))
        self._fault = self._repair = None

    def _guard(self, text: str) -> None:
        """Hold every epoch from now on against a guard; without one, list those there are."""
        if text:
            self._session.guard(text.strip().removesuffix("."))
        for number, guard in enumerate(self._session.guards, start=1):
            say(f"{number}: {guard}")
        if not self._session.guards:
            say("there are no guards")

    def _unguard(self, text: str) -> None:
        guards = self._session.guards
        if not text.isdecimal() or not 1 <= int(text) <= len(guards):
            raise mistake("no-such-guard", f"there is no guard `{text}`", "`guard` lists them")
        self._session.unguard(guards[int(text) - 1])

    def _asked(self) -> "tuple[Fault, Repair]":
        if self._fault is None or not self._repair:
            raise mistake("no-repair", "no repair was found yet", "ask for one: repair path(1, 3)")
        return self._fault, self._repair


def read_fault(text: str) -> Fault:
    """Return what a line asks about: `path(1, 3), !path(2, x) at 4`.

    A fact with `!` should hold and does not, the others hold and should not. Without `at N` or
    `between N and M` the last epoch is meant.
    """
    found = _EPOCHS.fullmatch(text.strip().removesuffix("."))
    epoch: int | tuple[int, int] | None = None
    if found is not None:
        text = found[1]
        epoch = int(found[2]) if found[2] else (int(found[3]), int(found[4]))
    if not text.strip():
        raise mistake("not-a-fact", "there is no fact to ask about", "for example: blame path(1, 3)")
    if found is None and _BAD_EPOCHS.search(text):
        raise mistake("epoch-not-kept", "epochs are numbers", "write for example at 4, or between 2 and 4")
    unwanted: list[str] = []
    missing: list[str] = []
    body = parse_query(Source("shell", text)).body
    for element in (each for part in body.alternatives for each in part.elements):
        match element:
            case tree.Atom():
                unwanted.append(print_node(element))
            case tree.Negation(tree.Atom() as atom):
                missing.append(print_node(atom))
            case _:
                raise mistake("not-a-fact", f"`{print_node(element)}` is not a fact")
    return Fault(tuple(unwanted), tuple(missing), epoch)
