"""What is wrong with the use of a session."""

from typing import Final

from tidelog.errors import Diagnostic

VALUES_BY_NAME: Final = Diagnostic(
    code="bad-argument",
    message="values of a query are given by name",
    hint="write `$start` in the query and name its value: db.query('path($start, x)', start=1)",
)
NOT_PICKLABLE: Final = Diagnostic(
    code="not-picklable",
    message="a session cannot be copied or pickled",
    hint="open a session where it is needed, for example over a store; relations and answers can be pickled",
)
NO_STORE: Final = Diagnostic(
    code="no-effect",
    message="there is no store to write a checkpoint to",
    hint="open the session with one: tidelog.open(..., store='folder')",
)
BY_NAME: Final = Diagnostic(
    code="bad-argument",
    message="only the program can be passed without a name",
    hint="name what follows it: tidelog.open(program, facts=...)",
)
CLOSED: Final = Diagnostic(
    code="session-closed",
    message="the session is closed",
    hint="ask before close(), inside its `with` block, or open another one with tidelog.open",
)
APART: Final = Diagnostic(
    code="session-apart",
    message="an epoch failed halfway and could not be undone: this session and its store differ",
    hint="open the store again: it holds every epoch that was committed",
)
NO_PROGRAM: Final = Diagnostic(
    code="no-program",
    message="there is neither a program nor a store to open",
    hint="tidelog.open('prog.dl'), or tidelog.open(store='folder')",
)


def on_demand(verb: str) -> Diagnostic:
    """Return the mistake of asking for what needs every derived fact."""
    return Diagnostic(
        code="on-demand",
        message=f"`{verb}` needs every derived fact, and this session evaluates on demand",
        hint="open another session with evaluate='all'",
    )
