"""Deleted rules whose derivations partners take back: facts are divided by them too until that is done.

    path(x, z) :- path(x, y), path(y, z).           // stays
    path(x, y) :- path(y, x).                       // deleted

A derivation by the second rule is found by the partner that its own columns name, so its facts must be there.
"""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.program.nodes import Program, Rule

# Deleted rules, with ids that no other rule has, by the number of their stratum.
Departed = Mapping[int, tuple[Rule, ...]]


def with_departed(program: Program, departed: Departed) -> Program:
    """Return the program that has the deleted rules as well: what partners divide facts by."""
    if not departed:
        return program
    strata = tuple(
        replace(stratum, rules=(*stratum.rules, *departed.get(number, ())))
        for number, stratum in enumerate(program.strata)
    )
    return replace(program, strata=strata)
