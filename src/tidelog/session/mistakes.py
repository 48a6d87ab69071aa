"""What is wrong with the use of a session."""

from tidelog.errors import Diagnostic


def values_by_name() -> Diagnostic:
    """Return the diagnostic for values of a query that are given by their order."""
    return Diagnostic(
        code="bad-argument",
        message="values of a query are given by name",
        hint="write `$start` in the query and name its value: db.query('path($start, x)', start=1)",
    )


def not_picklable() -> Diagnostic:
    """Return the diagnostic for a session that is copied or pickled."""
    return Diagnostic(
        code="not-picklable",
        message="a session cannot be copied or pickled",
        hint="open a session where it is needed, over a store for one; relations and answers can be pickled",
    )


def no_store() -> Diagnostic:
    """Return the diagnostic for a checkpoint without a store."""
    return Diagnostic(
        code="no-effect",
        message="there is no store to write a checkpoint to",
        hint="open the session with one: tidelog.open(..., store='folder')",
    )


def by_name() -> Diagnostic:
    """Return the diagnostic for options that are given by their order."""
    return Diagnostic(
        code="bad-argument",
        message="only the program is given without a name",
        hint="name what follows it: tidelog.open(program, facts=...)",
    )


def closed() -> Diagnostic:
    """Return the diagnostic for a session that is used after its end."""
    return Diagnostic(
        code="session-closed",
        message="the session is closed",
        hint="ask before close(), inside its `with` block, or open another one with tidelog.open",
    )
