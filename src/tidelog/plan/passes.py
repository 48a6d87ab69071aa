"""The passes that make a program faster without changing its answers."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tidelog.plan.dead import remove_dead, wanted_relations
from tidelog.plan.fold import fold_constants
from tidelog.plan.magic import restrict_to_demand
from tidelog.plan.propagate import propagate_equalities
from tidelog.plan.prune import prune_bodies
from tidelog.program.nodes import Program
from tidelog.program.walk_nodes import counts

PASSES: Final[tuple[Callable[[Program], Program], ...]] = (
    fold_constants,
    propagate_equalities,
    prune_bodies,
)


def run_passes(program: Program) -> Program:
    """Return the program after all passes, repeated until none of them changes anything.

    A constant that replaces a variable gives the next round something to fold. Every rule keeps its id and
    span; relations and strata stay the same. A rule with `autoinc()` stays as written: its text identifies
    it, and determines the order in which its derivations are numbered.

        p(y) :- x = 2, y = x + 1, q(x).     p(3) :- q(2).
    """
    for _, stage in passes_in_turn(program):
        program = stage
    return program


def passes_in_turn(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield the program after each pass, with the name of the pass; the last is what `run_passes` returns."""
    counted = {rule.id: rule for rule in program.rules if counts(rule)}
    while True:
        before = program
        for each in PASSES:
            program = each(program)
            yield each.__name__, program
        if program == before:
            break
    if counted:
        strata = (
            replace(stratum, rules=tuple(counted.get(rule.id, rule) for rule in stratum.rules))
            for stratum in program.strata
        )
        yield "restore rules with autoinc()", replace(program, strata=tuple(strata))


def keep_wanted(program: Program) -> Program:
    """Return the part of a program that a run needs to show only outputs and printed sizes."""
    for _, stage in wanted_stages(program):
        program = stage
    return program


def wanted_stages(program: Program) -> Iterator[tuple[str, Program]]:
    """Yield the program after each pass of a run, with the name of the pass."""
    wanted = wanted_relations(program)
    for name, stage in passes_in_turn(program):
        yield name, stage
        program = stage
    program = remove_dead(program, wanted)
    yield remove_dead.__name__, program
    yield restrict_to_demand.__name__, restrict_to_demand(program, wanted)
