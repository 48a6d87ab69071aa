"""Epochs whose changes are frames of Spark that workers read: facts and differences stay there."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from tidelog.session.session import Session
from tidelog.session.spark_frames import spark_failures

if TYPE_CHECKING:
    from tidelog.maintain.partners.frame_changes import FramedChange, FramedEpoch


def apply_frames(session: Session, changes: Mapping[str, "FramedChange"]) -> "FramedEpoch":
    """Return what an epoch did whose changes only workers see; there is no delta.

    Requires a session on Spark, and relations among its inputs whose facts workers encode.
    """
    epochs = session._epochs  # noqa: SLF001 - an epoch of the session, but not one for its users
    with epochs.lock, spark_failures("spark"):
        engine = cast("Any", session.snapshot.engine)
        work: FramedEpoch = epochs.step_apart(lambda: engine.apply_frames(changes))
        return work
