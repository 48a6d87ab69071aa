"""The one object a user holds; the only place that knows all stages."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.session.changes import Change
    from tidelog.session.functions import aggregate, functor
    from tidelog.session.open import open_session
    from tidelog.session.session import Session

__all__ = ["Change", "Session", "aggregate", "functor", "open_session"]

# Imported when first asked for: `tidelog check` reads programs as a session does, but needs no engine.
_HOMES: Final = {
    "Change": "tidelog.session.changes",
    "Session": "tidelog.session.session",
    "aggregate": "tidelog.session.functions",
    "functor": "tidelog.session.functions",
    "open_session": "tidelog.session.open",
}


def __getattr__(name: str) -> object:
    """Return a public name from the file that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog.session' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
