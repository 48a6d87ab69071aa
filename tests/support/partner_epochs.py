"""Partners in threads taken from epoch to epoch, and their facts put together."""

import threading
from dataclasses import replace

import numpy as np

from support.programs import build
from tidelog.engine.epoch import MaintenanceSettings
from tidelog.engine.protocol import Settings
from tidelog.engine.spark.placement import reason_against_codes
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.wire import between_threads
from tidelog.maintain.aggregates import name_aggregates
from tidelog.maintain.partners.engine import CodeDelta, PartnerEngine
from tidelog.maintain.projections import project_negations
from tidelog.plan.maintenance import reason_to_recompute

LIMIT = Settings(jobs=1, iteration_limit=500)


def followable(text):
    """Return the program without the rules that partners do not follow, and without aggregates."""
    return divided(text, reason_to_recompute)[0]


def divided(text, reason_against=lambda *_: None):
    """Return the program as partners keep it, without rules they cannot run, and its aggregates."""
    program = build(text)
    strata = []
    for stratum in program.strata:
        rules = tuple(
            rule
            for rule in stratum.rules
            if reason_against_codes(replace(stratum, rules=(rule,)), program) is None
            and "aggregate" not in (reason_against(replace(stratum, rules=(rule,)), program) or "")
        )
        strata.append(replace(stratum, rules=rules))
    named, aggregates = name_aggregates(replace(program, strata=tuple(strata)))
    return split_rules(project_negations(named)[0]), aggregates


def rows(facts, arity):
    """Return facts as rows."""
    return np.array(sorted(facts), np.int64).reshape(len(facts), arity)


def history_of(drawn, epochs):
    """Return the input facts of a random program before and after each of these epochs."""
    history = [{name: set(facts) for name, facts in drawn.inputs.items()}]
    for epoch in epochs:
        before = history[-1]
        history.append(
            {
                name: (held - set(epoch.deletes[name])) | set(epoch.inserts[name])
                for name, held in before.items()
            }
        )
    return history


def check_history(program, history, partners, strategy, aggregates, dividing=None, heavy=()):
    """Compare partners after every epoch with an evaluation by one of them alone; return their states."""
    states, deltas = follow(program, history, partners, strategy, aggregates, dividing, heavy)

    before = {}
    for number, inputs in enumerate(history):
        alone, _ = follow(program, [inputs], 1, strategy, aggregates, dividing)
        for name in program.relations:
            expected = alone[0][0][name]
            together = {}
            for state in states[number]:
                assert together.keys().isdisjoint(state[name]), name
                together.update(state[name])
                assert all(expected[row][0] == level for row, level in state[f"{name} kept"].items())
            assert together == expected, name
            if number:
                inserted = set().union(*(delta.get(name, (set(), set()))[0] for delta in deltas[number]))
                deleted = set().union(*(delta.get(name, (set(), set()))[1] for delta in deltas[number]))
                assert inserted == expected.keys() - before[name].keys()
                assert deleted == before[name].keys() - expected.keys()
        before = alone[0][0]
    return states


def follow(program, history, partners, strategy, aggregates=None, dividing=None, heavy=()):
    """Return the annotated facts after each epoch, and each epoch's difference, of all partners together."""
    states = [[] for _ in history]
    deltas = [[] for _ in history]
    failures = []

    def work(wire):
        try:
            engine = PartnerEngine(
                program, {}, LIMIT, wire, is_wide=bool(aggregates), aggregates=aggregates,
                dividing=dividing, heavy=heavy,
            )  # fmt: skip
            for name, facts in history[0].items():
                engine.insert(name, rows(facts, program.relations[name].arity))
            engine.evaluate()
            states[0].append(annotated(engine))
            for number in range(1, len(history)):
                changes = {}
                for name, facts in history[number].items():
                    before = history[number - 1][name]
                    arity = program.relations[name].arity
                    changes[name] = CodeDelta(rows(facts - before, arity), rows(before - facts, arity))
                found, _ = engine.apply(changes, MaintenanceSettings(strategy))
                deltas[number].append(
                    {
                        name: (content(engine, name, change.inserted), content(engine, name, change.deleted))
                        for name, change in found.items()
                    }
                )
                engine.commit()
                states[number].append(annotated(engine))
        except Exception as error:  # noqa: BLE001 - reported by the test's own thread
            wire.give_up(str(error))
            failures.append(error)

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if failures:
        raise failures[0]
    return states, deltas


def content(engine, name, numbers):
    """Return the rows that this partner owns."""
    own = engine.owned(name, numbers)
    return set(map(tuple, engine.state.relations[name].rows[own].tolist()))


def annotated(engine):
    """Return the facts a partner owns, with levels and counts; all its copies must have the levels."""
    found = {}
    for name in engine.program.relations:
        relation = engine.state.relations[name]
        own = engine.facts(name)
        keys = map(tuple, relation.rows[own].tolist())
        annotations = zip(relation.levels[own].tolist(), relation.counts[own].tolist(), strict=True)
        found[name] = dict(zip(keys, annotations, strict=True))
        held = np.flatnonzero(relation.levels[: relation.count] != 2**31 - 1)
        levels = relation.levels[held].tolist()
        found[f"{name} kept"] = dict(zip(map(tuple, relation.rows[held].tolist()), levels, strict=True))
    return found
