"""Transactions of sources that deliver at least once."""

from typing import TYPE_CHECKING, Any

from tidelog.errors import Diagnostic, TidelogError

if TYPE_CHECKING:
    from tidelog.session.session import Session
    from tidelog.views import Delta


def apply_once(session: "Session", batch: str, **changes: Any) -> "Delta | None":
    """Return the delta of a transaction, or None if one with this id was committed before; that is skipped.

    A source that delivers at least once, as streams do, sends each transaction with the same id every time:

        apply_once(db, "stream-17", insert={"edge": rows})
    """
    engine = session.snapshot.engine
    begin = getattr(engine, "begin", None)
    if begin is None:
        message = "only sessions on Spark know transactions by an id"
        raise TidelogError([Diagnostic(code="spark-no-session", message=message)])
    with session.snapshot.lock:
        if not begin(batch):
            return None
        try:
            return session.apply(**changes)
        finally:
            begin(None)
