"""Blame and repair: which changes caused a fault, and which to take back."""

from collections.abc import Mapping
from typing import Final, cast

from tidelog.explain.blame.steps import StoryStep
from tidelog.session import Session
from tidelog.web.replies import mistake
from tidelog.web.schema import BlameReply, NodeReply, RepairReply

_MOST_FAULTS: Final = 100
_MOST_REPAIRS: Final = 5
_MOST_SECONDS: Final = 20.0
_MARKS: Final = {"inserted": "+", "appeared": "+", "deleted": "-", "vanished": "-", "untouched": None}


def plain_blame(session: Session, body: Mapping[str, object]) -> BlameReply:
    """Return the changes that cause the faults, with an incremental proof of each."""
    found = session.blame(_texts(body, "unwanted"), _texts(body, "missing"), epoch=_epochs(body))
    return cast("BlameReply", {**found.to_dict(), "proofs": [_node(proof) for proof in found.proofs]})


def plain_repair(session: Session, body: Mapping[str, object]) -> RepairReply:
    """Return the cheapest changes to take back; those that `reject` names stay as they are."""
    wanted = body.get("alternatives", 1)
    found = session.repair(
        _texts(body, "unwanted"),
        _texts(body, "missing"),
        epoch=_epochs(body),
        reject=_texts(body, "reject"),
        alternatives=min(wanted, _MOST_REPAIRS) if isinstance(wanted, int) else 1,
        seconds=_MOST_SECONDS,
    )
    return cast("RepairReply", found.to_dict())


def _node(step: StoryStep) -> NodeReply:
    """Return an incremental proof as a tree of the same form as a proof's."""
    premises = [_node(premise) for premise in step.premises]
    note = "shown above" if step.is_shown_above else step.role.value
    return {
        "kind": step.role.value,
        "text": step.fact,
        "mark": _MARKS[step.role.value],
        "note": f"{note}, by {step.rule}" if step.rule else note,
        "has_more": bool(premises),
        "premises": premises,
    }


def _texts(body: Mapping[str, object], name: str) -> list[str]:
    found = body.get(name, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise mistake("bad-request", f"`{name}` is a list of texts")
    if len(found) > _MOST_FAULTS:
        raise mistake("request-too-large", f"`{name}` has at most {_MOST_FAULTS} members")
    return found


def _epochs(body: Mapping[str, object]) -> int | tuple[int, int] | None:
    match body.get("epoch"):
        case None:
            return None
        case int(number):
            return number
        case [int(before), int(after)]:
            return before, after
    raise mistake("bad-request", "`epoch` is a number, or the two epochs to look between")
