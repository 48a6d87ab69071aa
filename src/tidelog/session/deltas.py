"""What an epoch did, as a user sees it."""

from collections import Counter
from typing import Final

import numpy as np

from tidelog.engine.epoch import EpochResult
from tidelog.engine.protocol import Codes
from tidelog.program.nodes import Program
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.syntax import print_node
from tidelog.values import Codec
from tidelog.views import Delta
from tidelog.views.delta import NO_RULES, EpochReport, RelationDeltas, RuleDelta, Sides

_NO_FACTS: Final[tuple[Codes, ...]] = ()


def make_delta(  # noqa: PLR0913, PLR0917 - what an epoch consists of
    program: Program,
    codec: Codec,
    derived: frozenset[str],
    epoch: int,
    result: EpochResult,
    seconds: float,
    net: NetChange,
    rules: RuleDelta = NO_RULES,
) -> Delta:
    """Return what an engine did in an epoch as a user sees it; `net` and `rules` are what was asked for.

    `derived` are the relations that rules derive.
    """
    inputs = {name: (change.inserted, change.deleted) for name, change in net.changes.items()}
    report = EpochReport(
        epoch,
        result.strata,
        seconds,
        derived.__contains__,
        RelationDeltas(program, codec, inputs),
        RelationDeltas(program, codec, net.without_effect),
        rules,
    )
    names = dict.fromkeys([*result.inserted, *result.deleted])
    ordered = [name for name in program.relations if name in names]
    return Delta(program, codec, {name: _sides(name, program, result) for name in ordered}, report)


def rule_delta(old: ProgramText, new: ProgramText) -> RuleDelta:
    """Return the rules that two texts of a program differ in, whatever their ids and layout."""
    before, after = (
        Counter(item for piece in text.pieces for item in piece.rules.values()) for text in (old, new)
    )
    inserted, deleted = ((after - before).elements(), (before - after).elements())
    return RuleDelta(tuple(map(print_node, inserted)), tuple(map(print_node, deleted)))


def _sides(name: str, program: Program, result: EpochResult) -> Sides:
    inserted, deleted = result.inserted.get(name, _NO_FACTS), result.deleted.get(name, _NO_FACTS)
    if program.relations[name].arity:
        return inserted, deleted
    # A relation without columns is named only if its one fact changed.
    one = [np.zeros(1, dtype=np.int64)]
    return (one, _NO_FACTS) if name in result.inserted else (_NO_FACTS, one)
