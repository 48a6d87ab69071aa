"""The facts of relations that `split_rules` made, from those of the stratum.

    alias/3f0a(x, w) :- flow(z, x), memory(z, w).

A store has the facts of `flow` and `memory`, with their levels as partners count them, and one rule derives
the relation in the middle: the levels and counts of its facts follow from its derivations.
"""

from collections.abc import Mapping

import numpy as np

from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.spark.codes import Known, WorkerCodec
from tidelog.engine.spark.files import Annotated
from tidelog.maintain.judge import levels_now
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program.nodes import Program, Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int32s, Int64s


def middle_facts(
    stratum: Stratum, program: Program, facts: Mapping[str, Annotated], known: Known
) -> dict[str, Annotated]:
    """Return the facts of the stratum's relations that are not among these facts, which are all others.

    Each has one rule, which reads relations of the stratum alone.
    """
    state = LocalState(program, counting=True, dtype=np.int64)
    derivations = LocalDerivations(state, Expressions(program, WorkerCodec(program.types, known), {}))
    for name, content in facts.items():
        _load(state, name, content)
    waiting = {
        rule.head.relation: flatten_rule(rule, program)
        for rule in stratum.rules
        if rule.head.relation not in facts
    }
    found: dict[str, Annotated] = {}
    while waiting:
        # Halves may be split again: then one relation in the middle is derived from another.
        name = next(
            each
            for each, rule in waiting.items()
            if waiting.keys().isdisjoint(literal.relation for literal in rule.literals)
        )
        found[name] = _derive(waiting.pop(name), stratum, state, derivations)
        _load(state, name, found[name])
    return found


def _load(state: LocalState, name: str, content: Annotated) -> None:
    assert content.levels is not None
    assert content.counts is not None
    relation = state.relations[name]
    is_fact = content.levels != ABSENT
    numbers = relation.locate(np.ascontiguousarray(content.rows[is_fact].astype(np.int64)))
    relation.levels[numbers], relation.counts[numbers] = content.levels[is_fact], content.counts[is_fact]
    relation.show_rows(numbers)
    state.show_all(name)


def _derive(rule: FlatRule, stratum: Stratum, state: LocalState, derivations: LocalDerivations) -> Annotated:
    """Return the facts of a rule's derivations, each with the lowest level and how many attain it."""
    arity = len(rule.head.terms)
    heads = StoredRelation(arity, np.int64)
    parts: list[tuple[Int64s, Int32s]] = [(np.empty(0, np.int64), np.empty(0, np.int32))]

    def sink(batch: CodeArray) -> None:
        levels = levels_now(state.relations, stratum.relations, rule, batch, arity) + 1
        parts.append((heads.locate(np.ascontiguousarray(batch[:, :arity])), levels))

    first = rule.literals[0]
    derivations.forward(rule, first, np.arange(state.relations[first.relation].count), sink)
    numbers, levels = (np.concatenate(each) for each in zip(*parts, strict=True))
    lowest = np.full(heads.count, ABSENT, np.int32)
    np.minimum.at(lowest, numbers, levels)
    tight = numbers[levels == lowest[numbers]]
    counts = np.bincount(tight, minlength=heads.count).astype(np.int32)
    return Annotated(heads.rows[: heads.count].copy(), lowest, counts)
