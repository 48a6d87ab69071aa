"""The passes that make a program faster without changing its answers."""

from collections.abc import Callable
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
    counted = {rule.id: rule for rule in program.rules if counts(rule)}
    while True:
        before = program
        for each in PASSES:
            program = each(program)
        if program == before:
            break
    if not counted:
        return program
    strata = (
        replace(stratum, rules=tuple(counted.get(rule.id, rule) for rule in stratum.rules))
        for stratum in program.strata
    )
    return replace(program, strata=tuple(strata))


def keep_wanted(program: Program) -> Program:
    """Return the part of a program that a run needs to show only outputs and printed sizes."""
    wanted = wanted_relations(program)
    return restrict_to_demand(remove_dead(run_passes(program), wanted), wanted)
