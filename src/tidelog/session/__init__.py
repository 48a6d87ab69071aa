"""The one object a user holds; the only place that knows all stages."""

from tidelog.session.functions import functor
from tidelog.session.session import Session, open_session

__all__ = ["Session", "functor", "open_session"]
