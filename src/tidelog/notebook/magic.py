"""`%%tidelog` and `%tidelog` in IPython."""

import sys
from collections.abc import Callable, MutableMapping
from typing import Protocol

from tidelog.errors import TidelogError, render
from tidelog.notebook.cells import Cells
from tidelog.notebook.request import parse_request
from tidelog.progress import PROGRESS
from tidelog.session import Session
from tidelog.views import Answer


class NotebookShell(Protocol):
    """What is needed of IPython's shell."""

    user_ns: MutableMapping[str, object]

    def register_magic_function(self, func: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Make a function a magic."""


class CellError(TidelogError):
    """The diagnostics of a cell, which a notebook shows without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


def register(shell: NotebookShell) -> None:
    """Give a notebook its magics."""
    cells = Cells(shell.user_ns)

    def tidelog(line: str, cell: str | None = None) -> Session | Answer | None:
        """Run declarations, rules, facts, changes and queries in a session.

            %%tidelog [NAME] [-F DIR] [RELATION=VARIABLE ...]
            .decl edge(x: number, y: number)
            edge(1, 2).
            ?- edge(1, x).

        `%tidelog path(1, x)` returns the answer to a query, and `%tidelog` the session, of the last cell.
        """
        try:
            if cell is None:
                return cells.query(line) if line.strip() else cells.session()
            _show(cells, line, cell)
        except TidelogError as error:
            raise CellError(error.diagnostics) from None
        return None

    shell.register_magic_function(tidelog, "line_cell", "tidelog")
    # A terminal shows progress where commands do; a notebook needs no stream.
    PROGRESS.show_on(sys.stderr)


def _show(cells: Cells, line: str, cell: str) -> None:
    from IPython.display import display  # noqa: PLC0415 - only a notebook has it

    # Lines count from that of the magic, as they stand in the cell.
    for shown in cells.run(parse_request(line), f"\n{cell}"):
        if isinstance(shown, Session):
            sys.stderr.write("".join(f"{render(warning)}\n" for warning in shown.warnings))
        display(shown)
