"""Where the strata of a maintained program are kept: by partners, or in the driver."""

from collections.abc import Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import UserFunctions
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.placement import (
    reason_against_workers,
    reason_for_numbering,
    reason_for_one_place,
    reason_for_values,
)
from tidelog.engine.spark.value_files import has_unread_values
from tidelog.maintain.partners.pool import PartnerPool
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations


@dataclass(frozen=True)
class PlacedStrata:
    """Consecutive strata that are kept in one place; `forced` are those too large for the driver.

    Each of these has the number of facts that it reads, and the reason. `large` are the relations that
    should not be copied to every partner; it stays the same as long as the state does.
    """

    strata: tuple[Stratum, ...]
    where: Where
    reason: str
    forced: tuple[tuple[tuple[str, ...], int, str], ...] = ()
    large: tuple[str, ...] = ()


def place_strata(
    program: Program, sizes: Mapping[str, int], pool: PartnerPool, functions: UserFunctions
) -> list[PlacedStrata]:
    """Return the strata with work to do, neighbours that are kept in one place together.

    `sizes` are the numbers of input facts.
    """
    placed: list[PlacedStrata] = []
    options, has_unread = pool.options, has_unread_values(pool.codec)
    refusal = pool.reason_against()
    known = dict(sizes)
    for stratum in program.strata:
        law = reason_for_one_place(replace(stratum, rules=()), program)
        if not stratum.rules and law is None:
            continue
        facts = sum(known.get(name, 0) for name in {*earlier_relations(stratum), *stratum.relations})
        where, reason = Where.DRIVER, reason_against_workers(stratum, program, functions)
        reason = reason or reason_for_numbering(stratum)
        together = reason_for_one_place(stratum, program)
        # The driver would have to read all texts of workers for the few that the stratum needs.
        is_small = facts <= options.driver_facts
        needs_values = together or reason_for_values(stratum, program)
        is_small &= not (has_unread and facts and needs_values is not None)
        if reason is None and is_small:
            reason = f"no more than {options.driver_facts:,} facts are read"
        elif reason is None and refusal is not None:
            reason = f"there can be no partners: {refusal}"
        elif reason is None and together is not None:
            where, reason = Where.WORKER, f"{together}, so one worker keeps all its facts"
        elif reason is None:
            where, reason = Where.PARTNERS, f"kept by {pool.partners} partners"
        is_forced = where is Where.DRIVER and facts > options.driver_facts
        forced = ((stratum.relations, facts, reason),) if is_forced else ()
        read = sorted(earlier_relations(stratum)) if where is Where.PARTNERS else ()
        large = tuple(name for name in read if known.get(name, 0) > options.replicated_facts)
        # Until it is derived, a relation is assumed to be as large as what it is derived from.
        known.update(dict.fromkeys(stratum.relations, facts))
        last = placed[-1] if placed else None
        if last is not None and last.where is where:
            reasons = last.reason if reason in last.reason else f"{last.reason}; {reason}"
            all_large = tuple(sorted({*last.large, *large}))
            strata = (*last.strata, stratum)
            placed[-1] = PlacedStrata(strata, where, reasons, (*last.forced, *forced), all_large)
        else:
            placed.append(PlacedStrata((stratum,), where, reason, forced, large))
    return placed
