"""Proofs that are smallest by a measure of one's choice."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import did_you_mean
from tidelog.views.proofs.atom import GroundAtom
from tidelog.views.proofs.cone import FACT_LIMIT, Place, explore_cone
from tidelog.views.proofs.prover import Prover
from tidelog.views.proofs.steps import Given, Step


@dataclass(frozen=True)
class Metric:
    """How large a proof is: `leaf` for an input fact, `combine` for a step over its premises.

    `combine` is given the step and the sizes of its premises. It must be monotone, larger premises
    giving no smaller a proof, and its result no smaller than any premise; sizes are compared by `<`.

        depth_of_joins = Metric("joins", lambda atom: 0, lambda step, sizes: sum(sizes) + len(sizes) - 1)
    """

    name: str
    leaf: Callable[[GroundAtom], Any]
    combine: Callable[[Step, Sequence[Any]], Any]


HEIGHT: Final = Metric("height", lambda _atom: 0, lambda _step, sizes: 1 + max(sizes, default=0))
NODES: Final = Metric("nodes", lambda _atom: 1, lambda _step, sizes: 1 + sum(sizes))


def named_metric(name: str) -> Metric:
    """Return `height` or `nodes`."""
    match name:
        case "height":
            return HEIGHT
        case "nodes":
            return NODES
    hint = did_you_mean(name, ["height", "nodes"], "choose height or nodes, or give a `Metric`")
    raise TidelogError([Diagnostic("unknown-metric", f"there is no metric `{name}`", None, hint)])


def smallest_steps(
    prover: Prover, atom: GroundAtom, metric: Metric, *, fact_limit: int = FACT_LIMIT
) -> dict[Place, tuple[Any, Step]]:
    """Return the size of the smallest proof of every fact below one, and the step it begins with.

    All derivations of all facts below are looked at, and facts are settled in the order of their
    sizes, as in the search for shortest paths.
    """
    cone = explore_cone(prover, atom, limit=fact_limit)
    uses: dict[Place, list[tuple[Place, int]]] = {}
    waiting: dict[tuple[Place, int], set[Place]] = {}
    offers: list[tuple[Any, int, Place, Step]] = []
    numbers = count()
    for place, steps in cone.steps.items():
        for number, (step, premises) in enumerate(steps):
            if isinstance(step, Given):
                heapq.heappush(offers, (metric.leaf(place[0]), next(numbers), place, step))
            elif not premises:
                heapq.heappush(offers, (metric.combine(step, ()), next(numbers), place, step))
            else:
                waiting[place, number] = set(premises)
                for premise in set(premises):
                    uses.setdefault(premise, []).append((place, number))
    settled: dict[Place, tuple[Any, Step]] = {}
    while offers:
        size, _, place, step = heapq.heappop(offers)
        if place in settled:
            continue
        settled[place] = (size, step)
        for head, number in uses.get(place, ()):
            missing = waiting[head, number]
            missing.discard(place)
            if not missing and head not in settled:
                step, premises = cone.steps[head][number]
                distinct = tuple(dict.fromkeys(premises))
                sizes = [settled[premise][0] for premise in distinct]
                heapq.heappush(offers, (metric.combine(step, sizes), next(numbers), head, step))
    return settled
