"""The shell's commands about old epochs: what held then, and what differs."""

import re
from typing import TYPE_CHECKING, Final

from tidelog.cli.shell_output import ShellOutput, mistake, say
from tidelog.cli.shell_proofs import ProofCommands
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.views.delta_text import change_lines

if TYPE_CHECKING:
    from tidelog.cli.shell_proofs import Command

_AT: Final = re.compile(r"(\d+)\s+(\S.*)", re.DOTALL)
_DIFF: Final = re.compile(r"(\d+)\s+(\d+)(?:\s+(\w+))?\.?")


class PastCommands:
    """Commands that read a session as it was in an epoch."""

    def __init__(self, session: Session, output: ShellOutput, proofs: ProofCommands) -> None:
        self._session = session
        self._output = output
        self._proofs = proofs
        self.commands: dict[str, Command] = {"at": self._at, "diff": self._diff}

    def _at(self, text: str) -> None:
        """Ask about an old epoch: a query, `facts`, `why` or `whynot`."""
        found = _AT.fullmatch(text)
        if found is None:
            raise _not_asked("at", "at 3 path(1, x)")
        view = self._session.at(int(found[1]))
        word, _, rest = found[2].partition(" ")
        match word:
            case "why":
                self._proofs.why(view, rest)
            case "whynot":
                self._proofs.why_not(view, rest)
            case "facts":
                self._output.facts(view[rest.strip().rstrip(".")], None)
            case _:
                self._output.answer(view.query(found[2]))

    def _diff(self, text: str) -> None:
        found = _DIFF.fullmatch(text)
        if found is None:
            raise _not_asked("diff", "diff 3 9")
        delta = self._session.diff(int(found[1]), int(found[2]))
        say(str(delta) if found[3] is None else "\n".join(change_lines(delta[found[3]])))


def _not_asked(command: str, example: str) -> TidelogError:
    return mistake("bad-argument", f"`{command}` needs the numbers of epochs", f"for example: {example}")
