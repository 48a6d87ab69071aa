"""Deltas on the command line: a change script, or one JSON object to a line."""

import json
from collections.abc import Iterator

from tidelog.program.nodes import Program
from tidelog.views import Delta, FactSet
from tidelog.views.delta import RelationDeltas
from tidelog.views.delta_text import change_lines, delta_title, without_effect_lines
from tidelog.views.fact_json import fact_json


def shown_relations(program: Program) -> frozenset[str]:
    """Return the relations whose changes are shown: the outputs, or all where there are none."""
    outputs = frozenset(each.relation for each in program.directives if each.kind == "output")
    return outputs or frozenset(program.relations)


def delta_lines(delta: Delta, shown: frozenset[str], *, explains: bool) -> Iterator[str]:
    """Yield the delta as a change script, with comments that tell the rest."""
    yield f"// {delta_title(delta)}, {delta.seconds * 1000:.1f} ms"
    yield from without_effect_lines(delta.without_effect)
    if explains:
        yield from (f"// {line}" for line in delta.explain_strategy().splitlines()[1:])
    for name in delta:
        if name in shown:
            yield from change_lines(delta[name])
    yield "commit."


def delta_json(delta: Delta, shown: frozenset[str]) -> str:
    """Return the delta as one line of JSON; docs/cli.md explains the keys."""
    return json.dumps(
        {
            "epoch": delta.epoch,
            "seconds": round(delta.seconds, 6),
            "impact": delta.impact,
            "inserted": _facts(delta, shown, is_inserted=True),
            "deleted": _facts(delta, shown, is_inserted=False),
            "without_effect": {
                "inserted": _facts(delta.without_effect, None, is_inserted=True),
                "deleted": _facts(delta.without_effect, None, is_inserted=False),
            },
            "strata": [
                {
                    "relations": list(each.relations),
                    "action": each.action.value,
                    "strategy": each.strategy.value,
                    "reason": each.reason,
                    "predicted_work": each.predicted_work,
                    "work": each.work,
                    "seconds": round(each.seconds, 6),
                }
                for each in delta.strata
            ],
            **({"violations": [each.to_dict() for each in delta.violations]} if delta.violations else {}),
        },
        ensure_ascii=False,
    )


def _facts(deltas: RelationDeltas, shown: frozenset[str] | None, *, is_inserted: bool) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, delta in deltas.items():
        side: FactSet = delta.inserted if is_inserted else delta.deleted
        if len(side) and (shown is None or name in shown):
            found[name] = [fact_json(fact) for fact in side]
    return found
