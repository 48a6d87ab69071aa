"""Equivalences as partners keep them: closed by rules, so that each partner owns a part of the pairs.

One place closes an equivalence by its classes. Partners cannot see all of a class; they follow the pairs
that rules and inputs give, one step at a time (see `engine.equivalences`). Where another law decides in the
same stratum, it goes by iterations, of which rules take more; such a stratum stays in one place.
"""

from dataclasses import replace

from tidelog.engine.equivalences import ClosedByRules, close_by_rules
from tidelog.engine.spark.placement import reason_for_one_place
from tidelog.program.nodes import Program, Stratum


def closed_for_partners(stratum: Stratum, program: Program) -> ClosedByRules:
    """Return a stratum of a program with rules for its equivalences, as it is if that is not possible."""
    closed = close_by_rules(stratum, program)
    if not closed.pairs or reason_for_one_place(closed.stratum, closed.program) is not None:
        return ClosedByRules(stratum, program, {})
    strata = tuple(closed.stratum if each is stratum else each for each in program.strata)
    return replace(closed, program=replace(closed.program, strata=strata))


def close_equivalences(program: Program) -> tuple[Program, dict[str, str]]:
    """Return the program in which rules close equivalences, and the relation of pairs for each of them."""
    pairs: dict[str, str] = {}
    for stratum in program.strata:
        closed = closed_for_partners(stratum, program)
        program = closed.program
        pairs |= closed.pairs
    return program, pairs


def closing_remark(closed: ClosedByRules) -> str:
    """Return what to add to the reason of a placement where rules close equivalences."""
    return "".join(f"; `{name}` is an equivalence relation, which rules close" for name in closed.pairs)
