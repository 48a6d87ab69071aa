"""How a stratum is divided among partners: what each keeps a part of, and what all of them have."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.spark.cut import cut_rules
from tidelog.engine.spark.law_columns import law_columns
from tidelog.engine.spark.outside import divide_outside
from tidelog.engine.spark.routes import Routes, find_routes
from tidelog.program.nodes import Program, Stratum


@dataclass(frozen=True, slots=True)
class DividedStratum:
    """The program that partners run for a stratum, by these routes; `made` are relations only they see.

    `remark` says which relations all partners have, and for which ones rules were cut.
    """

    program: Program
    routes: Routes
    made: tuple[str, ...] = ()
    remark: str = ""


def divide_stratum(
    program: Program, stratum: Stratum, sizes: Mapping[str, int], most: int, *, is_connected: bool
) -> DividedStratum:
    """Return how partners divide a stratum that reads relations of earlier strata of these sizes.

    Every partner may have all of a relation with at most so many facts. Partners of a stratum that
    `is_connected` exchange facts even if each could find its derivations alone. Laws must be divisible.
    """
    owning = law_columns(stratum, program).columns
    large = {name for name, size in sizes.items() if size > most}
    if not large:
        routes = find_routes(stratum, program, owning=owning)
        if routes.is_decomposed and is_connected:
            routes = replace(routes, is_decomposed=False)
        found = divide_outside(stratum, program, routes)
        return DividedStratum(program, found, remark=_remark(found, sizes, ()))
    cut = cut_rules(program, program.strata.index(stratum), large)
    routes = find_routes(cut.stratum, cut.program, cut.dividing, owning)
    found = divide_outside(cut.stratum, cut.program, routes, cut.dividing)
    return DividedStratum(cut.program, found, cut.made, _remark(found, sizes, large if cut.made else ()))


def _remark(routes: Routes, sizes: Mapping[str, int], cut_for: Collection[str]) -> str:
    """Return what to add to the reason of a placement."""
    if routes.is_decomposed:
        return ""
    everywhere = [name for name, size in sorted(sizes.items()) if size and name not in routes.outside]
    found = ""
    if everywhere:
        found += "; all of them have " + ", ".join(f"`{name}` ({sizes[name]:,} facts)" for name in everywhere)
    divided = sorted(set(cut_for) - set(everywhere))
    if divided:
        found += "; rules are cut to divide " + ", ".join(f"`{name}`" for name in divided)
    return found
