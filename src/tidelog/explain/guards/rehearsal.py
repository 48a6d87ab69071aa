"""Epochs held against guards: before they happen, or just after."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tidelog.engine.epoch import RelationChange
from tidelog.engine.protocol import Codes
from tidelog.explain.blame.answers import Blame, Repair, Violation
from tidelog.explain.blame.faults import FaultFinder
from tidelog.explain.blame.inquiry import blame, blame_in, inquire, repair, repair_in
from tidelog.explain.blame.trial_engine import TrialEngine, make_trial_engine
from tidelog.explain.blame.wishes import FaultQuestion, Wishes
from tidelog.explain.guards.guards import Guard
from tidelog.explain.port import Explained, ExplainedProgram, in_epoch
from tidelog.program.nodes import Program
from tidelog.storage.kernel import Int64s
from tidelog.values import Codec, Fact
from tidelog.views import Delta
from tidelog.views.delta import fact_count
from tidelog.views.epoch_diff import EpochDiff, Rows
from tidelog.views.fact_text import write_fact


def look_back(epochs: Explained, delta: Delta, guards: Sequence[Guard]) -> tuple[Violation, ...]:
    """Return the guards that the last epoch broke, each with blame and repair."""
    found: list[Violation] = []
    sides = {name: delta.sides(name) for name in delta}
    inserted = _rows(
        {name: pair[0] for name, pair in sides.items() if fact_count(pair[0])}, epochs.prepared.program
    )
    deleted = _rows(
        {name: pair[1] for name, pair in sides.items() if fact_count(pair[1])}, epochs.prepared.program
    )
    for guard, facts in broken(guards, epochs.prepared.program, epochs.handle.codec, inserted, deleted):
        question = _question(guard, facts, delta.epoch)
        found.append(_violation(guard, blame(epochs, question), repair(epochs, question, Wishes())))
    return tuple(found)


def rehearse_facts(
    epochs: Explained, changes: Mapping[str, RelationChange], guards: Sequence[Guard]
) -> tuple[Violation, ...]:
    """Return the guards that changes would break; the engine is as it was afterwards."""
    if not changes:
        return ()
    codec, program = epochs.handle.codec, epochs.prepared.program
    with epochs.handle.port.trial(changes) as result:
        pass
    inserted, deleted = _rows(result.inserted, program), _rows(result.deleted, program)
    found = list(broken(guards, program, codec, inserted, deleted))
    if not found:
        return ()
    inputs_inserted = _rows({name: change.inserted for name, change in changes.items()}, program)
    inputs_deleted = _rows({name: change.deleted for name, change in changes.items()}, program)
    diff = EpochDiff(
        epochs.epoch,
        epochs.epoch + 1,
        inserted,
        deleted,
        inputs_inserted,
        inputs_deleted,
        epochs.prepared.text,
        epochs.prepared.text,
    )
    engine = epochs.handle.port.derivations
    with in_epoch(epochs.handle.engine, changes):
        trial = make_trial_engine(epochs, diff) if engine is None else TrialEngine(engine)
        try:
            return tuple(_judge(epochs, diff, trial, guard, facts) for guard, facts in found)
        finally:
            trial.engine.forget_projections()


def rehearse_rules(
    epochs: Explained, after: ExplainedProgram, changes: Mapping[str, RelationChange], guards: Sequence[Guard]
) -> tuple[Violation, ...]:
    """Return the guards that another program with changed facts would break, by evaluating it on the side."""
    program, before, number = after.program, epochs.prepared.program, epochs.epoch
    inputs_inserted = _rows({name: change.inserted for name, change in changes.items()}, program)
    inputs_deleted = _rows({name: change.deleted for name, change in changes.items()}, program)
    unknown = EpochDiff(
        number, number + 1, {}, {}, inputs_inserted, inputs_deleted, epochs.prepared.text, after.text
    )
    # The session is an epoch behind the trial engine: what lies between is to be done, not undone.
    ahead = replace(unknown, inputs_inserted=inputs_deleted, inputs_deleted=inputs_inserted)
    trial = make_trial_engine(epochs, unknown, ahead, after)
    now, then = epochs.handle.engine, trial.engine
    inserted: dict[str, Int64s] = {}
    deleted: dict[str, Int64s] = {}
    for name, relation in program.relations.items():
        old = _facts(now.facts(name), now.size(name)) if name in before.relations else set()
        new = _facts(then.facts(name), then.size(name))
        for side, facts in ((inserted, new - old), (deleted, old - new)):
            if facts:
                side[name] = np.array(sorted(facts), np.int64).reshape(len(facts), relation.arity)
    diff = replace(unknown, inserted=inserted, deleted=deleted)
    found = broken(guards, before, epochs.handle.codec, inserted, deleted)
    return tuple(_judge(epochs, diff, trial, guard, facts) for guard, facts in found)


def broken(
    guards: Sequence[Guard], program: Program, codec: Codec, inserted: Rows, deleted: Rows
) -> Iterator[tuple[Guard, tuple[str, ...]]]:
    """Yield the guards that a difference breaks, with the facts that do it as texts."""
    finder = FaultFinder(program, codec)
    for guard in guards:
        pattern = finder.pattern(guard.text, [])
        rows = deleted if guard.is_always else inserted
        if pattern is None or pattern.relation not in rows:
            # A guard over a relation that is gone guards nothing.
            continue
        columns = program.relations[pattern.relation].columns
        facts: list[Fact] = [
            tuple(codec.decode(code, column.type) for code, column in zip(codes, columns, strict=True))
            for _, codes in pattern.matching(rows[pattern.relation])
        ]
        if facts:
            yield guard, tuple(write_fact(pattern.relation, fact) for fact in facts)


def _judge(
    epochs: Explained, diff: EpochDiff, trial: TrialEngine, guard: Guard, facts: tuple[str, ...]
) -> Violation:
    question = _question(guard, facts, diff.after)
    inquiry = inquire(epochs, diff, trial, question)
    return _violation(guard, blame_in(inquiry), repair_in(inquiry, Wishes()))


def _question(guard: Guard, facts: tuple[str, ...], epoch: int) -> FaultQuestion:
    if guard.is_always:
        return FaultQuestion(missing=facts, epoch=epoch)
    # The text too: a repair must not insert other facts that the guard forbids.
    return FaultQuestion(unwanted=(*facts, guard.text), epoch=epoch)


def _rows(sides: Mapping[str, Sequence[Codes]], program: Program) -> dict[str, Int64s]:
    """Return columns as rows; those of a relation without columns have no codes."""
    return {
        name: np.stack(columns, axis=1)[:, : program.relations[name].arity] for name, columns in sides.items()
    }


def _facts(columns: Sequence[Codes], size: int) -> set[tuple[int, ...]]:
    if not columns:
        return {()} if size else set()
    return set(map(tuple, np.stack(columns, axis=1).tolist()))


def _violation(guard: Guard, blamed: Blame, repaired: Repair) -> Violation:
    facts = blamed.faults.missing if guard.is_always else blamed.faults.unwanted
    return Violation(str(guard), facts, guard.is_always, blamed, repaired)
