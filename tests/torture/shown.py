"""What every diagnostic must be good for: being shown."""

from tidelog.errors import TidelogError


def show(error: TidelogError) -> str:
    """Return the text of an error, which has one, with a code and a message for each diagnostic."""
    assert error.diagnostics, "an error has diagnostics"
    assert all(each.code and each.message for each in error.diagnostics), "a diagnostic has a message"
    return str(error)
