"""The one object a user holds; the only place that knows all stages."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.engine.functions import aggregate, functor
    from tidelog.session.changes import Change
    from tidelog.session.open import open_session
    from tidelog.session.session import Session

__all__ = ["Change", "Session", "aggregate", "functor", "open_session"]

# Imported when first asked for: `tidelog check` reads programs as a session does, but needs no engine.
__getattr__ = lazily(
    __name__,
    {
        "Change": "tidelog.session.changes",
        "Session": "tidelog.session.session",
        "aggregate": "tidelog.engine.functions",
        "functor": "tidelog.engine.functions",
        "open_session": "tidelog.session.open",
    },
)
