"""Epochs as the timeline shows them."""

from tidelog.program.nodes import Column
from tidelog.session import Session
from tidelog.views import Delta, FixedFacts
from tidelog.views.delta import RelationDeltas
from tidelog.web.pages import Listing
from tidelog.web.replies import mistake
from tidelog.web.schema import EpochReply, RelationCounts, TimelineReply


def plain_timeline(session: Session) -> TimelineReply:
    """Return the epochs that are remembered, oldest first, in numbers."""
    return {
        "epoch": session.epoch,
        "epochs": [
            {
                "epoch": delta.epoch,
                "inserted": delta.inserted_count,
                "deleted": delta.deleted_count,
                "changes": delta.changes.inserted_count + delta.changes.deleted_count,
                "impact": delta.impact,
                "seconds": delta.seconds,
            }
            for delta in session.history
        ],
    }


def plain_epoch(session: Session, delta: Delta) -> EpochReply:
    """Return what an epoch did: counts by relation, and what was done to each stratum and why."""
    derived = {rule.head.relation for rule in session.program.rules if rule.body}
    return {
        "epoch": delta.epoch,
        "inserted": delta.inserted_count,
        "deleted": delta.deleted_count,
        "impact": delta.impact,
        "seconds": delta.seconds,
        "relations": [
            {
                "name": name,
                "inserted": len(delta[name].inserted),
                "deleted": len(delta[name].deleted),
                "is_derived": name in derived or name not in session.program.relations,
            }
            for name in delta
        ],
        "changes": _counts(delta.changes),
        "without_effect": _counts(delta.without_effect),
        "rules_inserted": list(delta.rules.inserted),
        "rules_deleted": list(delta.rules.deleted),
        "violations": [
            {"guard": each.guard, "facts": list(each.facts), "is_always": each.is_always}
            for each in delta.violations
        ],
        "strata": [
            {
                "relations": list(each.relations),
                "action": each.action.value,
                "strategy": each.strategy.value,
                "reason": each.reason,
                "work": each.work,
                "seconds": each.seconds,
            }
            for each in delta.strata
        ],
    }


def find_delta(session: Session, epoch: int) -> Delta:
    """Return the delta that led to an epoch."""
    history = session.history
    for delta in history:
        if delta.epoch == epoch:
            return delta
    known = f"epochs {history[0].epoch} to {history[-1].epoch} are" if history else "no epoch is"
    raise mistake("no-such-epoch", f"the delta of epoch {epoch} is not remembered", f"{known} remembered")


def delta_listing(delta: Delta, relation: str, *, is_inserted: bool, trial: int = 0) -> Listing:
    """Return one side of a relation's delta, to be paged through; a trial has a number of its own."""
    sides = delta[relation]
    facts: FixedFacts = sides.inserted if is_inserted else sides.deleted
    key = ("delta", delta.epoch, trial, relation, is_inserted)
    columns = tuple(Column(name, of) for name, of in zip(facts.columns, facts.types, strict=True))
    return Listing(key, relation, columns, facts.codec, len(facts), facts.codes, delta.epoch)


def _counts(deltas: RelationDeltas) -> list[RelationCounts]:
    return [
        {"name": name, "inserted": len(each.inserted), "deleted": len(each.deleted)}
        for name, each in deltas.items()
    ]
