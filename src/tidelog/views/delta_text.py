"""A delta as people read it: a change script, a table, and the reasons for what was done."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from tidelog.engine.epoch import StratumReport
from tidelog.io.html import html_table
from tidelog.program.suggest import counted
from tidelog.views.fact_text import write_fact

if TYPE_CHECKING:
    from tidelog.views.delta import Delta, RelationDelta, RelationDeltas

_SHOWN: Final = 20


def delta_text(delta: "Delta") -> str:
    """Return a title and the first changes of each relation.

    // epoch 1: 2 facts inserted, 0 facts deleted, impact 1
    +edge(2, 3).
    +path(2, 3).
    """
    lines = [f"// {delta_title(delta)}"]
    for each in delta.values():
        lines += change_lines(each, _SHOWN)
    lines += without_effect_lines(delta.without_effect, _SHOWN)
    return "\n".join(lines)


def delta_title(delta: "Delta") -> str:
    """Return one line that says how much changed."""
    return (
        f"epoch {delta.epoch}: {_facts(delta.inserted_count)} inserted,"
        f" {_facts(delta.deleted_count)} deleted, impact {delta.impact:,}"
    )


def change_lines(delta: "RelationDelta", most: int | None = None) -> Iterator[str]:
    """Yield the changes of a relation as lines of a change script, at most so many."""
    for sign, facts in (("-", delta.deleted), ("+", delta.inserted)):
        for fact in islice(facts, most):
            yield f"{sign}{write_fact(delta.name, fact)}."
        if most is not None and len(facts) > most:
            words = "deleted from" if sign == "-" else "inserted into"
            yield f"// ... and {len(facts) - most:,} more {words} {delta.name}"


def without_effect_lines(deltas: "RelationDeltas", most: int | None = None) -> Iterator[str]:
    """Yield comments that name the changes without effect."""
    for delta in deltas.values():
        for sign, facts, reason in (
            ("-", delta.deleted, "it is not an input fact"),
            ("+", delta.inserted, "it is an input fact already"),
        ):
            for fact in islice(facts, most):
                yield f"// without effect: {sign}{write_fact(delta.name, fact)}, {reason}"
            if most is not None and len(facts) > most:
                yield f"// ... and {len(facts) - most:,} more of {delta.name} without effect: {reason}"


def strategy_text(epoch: int, strata: Sequence[StratumReport]) -> str:
    """Return a line for each stratum.

    epoch 3
    path: updated (update), work 12, predicted 40, 0.8 ms: the diff is small
    """
    lines = (
        f"{', '.join(each.relations)}: {each.action.value} ({each.strategy.value}),"
        f" work {each.work:,}, predicted {each.predicted_work:,}, {each.seconds * 1000:.1f} ms:"
        f" {each.reason}"
        for each in strata
    )
    return "\n".join([f"epoch {epoch}", *lines])


def delta_html(delta: "Delta") -> str:
    """Return the title, a table of the relations that changed, and the changes without effect."""
    rows = (
        (name, len(each.inserted), len(each.deleted), "\n".join(change_lines(each, 5)))
        for name, each in delta.items()
    )
    notes = list(without_effect_lines(delta.without_effect, 5))
    return html_table(delta_title(delta), ("relation", "inserted", "deleted", "changes"), rows, notes)


def _facts(count: int) -> str:
    return counted(count, "fact")
