"""Where the strata of a maintained program are kept: by partners, or in the driver."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import UserFunctions
from tidelog.engine.spark.engine import Where
from tidelog.engine.spark.equivalences import closed_for_partners, closing_remark
from tidelog.engine.spark.law_columns import law_columns
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
    program: Program, sizes: Mapping[str, int], pool: PartnerPool, functions: UserFunctions,
    derived: Collection[str] = (),
) -> list[PlacedStrata]:  # fmt: skip
    """Return the strata with work to do, neighbours that are kept in one place together.

    `sizes` are the numbers of input facts; `derived` are relations whose derived facts partners have from a
    program of before. If no rules are left, partners find out which of these facts go.
    """
    placed: list[PlacedStrata] = []
    options = pool.options
    choose = _Choice(program, pool, functions)
    known = dict(sizes)
    for stratum in program.strata:
        law = reason_for_one_place(replace(stratum, rules=()), program)
        is_left = not stratum.rules and law is None
        if is_left and not set(stratum.relations) & set(derived):
            continue
        facts = sum(known.get(name, 0) for name in {*earlier_relations(stratum), *stratum.relations})
        where, reason = (Where.PARTNERS, choose.kept) if is_left else choose.place(stratum, facts)
        is_forced = where is Where.DRIVER and facts > options.driver_facts
        forced = ((stratum.relations, facts, reason),) if is_forced else ()
        read = sorted(earlier_relations(stratum)) if where is Where.PARTNERS else ()
        large = tuple(name for name in read if known.get(name, 0) > options.replicated_facts)
        # Until it is derived, a relation is assumed to be as large as what it is derived from.
        known.update(dict.fromkeys(stratum.relations, facts))
        last = placed[-1] if placed else None
        if last is not None and last.where is where:
            reasons = "; ".join(dict.fromkeys([*last.reason.split("; "), *reason.split("; ")]))
            all_large = tuple(sorted({*last.large, *large}))
            strata = (*last.strata, stratum)
            placed[-1] = PlacedStrata(strata, where, reasons, (*last.forced, *forced), all_large)
        else:
            placed.append(PlacedStrata((stratum,), where, reason, forced, large))
    return placed


class _Choice:
    """Chooses where each stratum is kept, and says why there."""

    def __init__(self, program: Program, pool: PartnerPool, functions: UserFunctions) -> None:
        self._program = program
        self._functions = functions
        self._options, self._partners = pool.options, pool.partners
        self._has_unread = has_unread_values(pool.codec)
        self._refusal = pool.reason_against()

    @property
    def kept(self) -> str:
        """Return who keeps what is with partners."""
        return f"kept by {self._partners} partners"

    def place(self, stratum: Stratum, facts: int) -> tuple[Where, str]:
        """Return where a stratum that reads so many facts is kept."""
        program, options = self._program, self._options
        reason = reason_against_workers(stratum, program, self._functions) or reason_for_numbering(stratum)
        if reason is not None:
            return Where.DRIVER, reason
        law = reason_for_one_place(stratum, program)
        # The driver would have to read all texts of workers for the few that the stratum needs.
        needs_values = law or reason_for_values(stratum, program)
        if facts <= options.driver_facts and not (self._has_unread and facts and needs_values is not None):
            return Where.DRIVER, f"no more than {options.driver_facts:,} facts are read"
        if self._refusal is not None:
            return Where.DRIVER, f"there can be no partners: {self._refusal}"
        kept = self.kept
        if law is None:
            return Where.PARTNERS, kept
        closed = closed_for_partners(stratum, program)
        undivided = law_columns(closed.stratum, closed.program).refusal
        if undivided is not None:
            return Where.WORKER, f"{undivided}, so one worker keeps all its facts"
        if facts <= options.replicated_facts:
            few = f"no more than {options.replicated_facts:,} facts are read"
            return Where.WORKER, f"{law} and {few}, so one worker follows changes"
        if closed.pairs:
            return Where.PARTNERS, kept + closing_remark(closed)
        return Where.PARTNERS, f"{kept}; {law}, and each partner decides about the facts that it owns"
