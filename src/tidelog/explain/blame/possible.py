"""Facts that may hold in some mixture of the old and the new input, though they do not hold now.

A change may be taken back or not, so between two epochs lie as many worlds as there are sets of
changes. A fact can hold in one of them and in neither epoch, for example if it needs an inserted and
a deleted fact at once. To say that a fact holds in no world one must know them all.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import field
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.explain.blame.ground import Ground, by_relation, distinct, merged
from tidelog.explain.blame.suspects import Mask, Rows, Suspect
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s

# Derivations looked at before giving up.
_MOST_DERIVATIONS: Final = 2_000_000


@dataclass(frozen=True)
class Possible:
    """The facts that may hold in some world and do not hold now.

    `is_complete` says whether these are all; relations that are `unsure` in the ground are left out.
    """

    rows: Rows
    is_complete: bool


@dataclass
class _Search:
    """Goes through the strata in order; what is found is visible to joins at once."""

    ground: Ground
    # The relations whose possible facts are asked for.
    asked: frozenset[str]
    # Rows of each relation whose facts may differ between worlds, where that matters.
    touched: dict[str, list[Int64s]] = field(default_factory=dict)
    # Rows of each relation that do not hold now.
    fresh: dict[str, list[Int64s]] = field(default_factory=dict)
    work: int = 0
    end: float = math.inf

    def matters(self) -> frozenset[str]:
        """Return the relations of which must be known what may differ: negated ones and all below."""
        return self.ground.below(_negated(self.ground, self.asked))

    def run(self, matters: frozenset[str]) -> bool:
        """Find all; return False if the search was given up."""
        for stratum in self.ground.program.strata:
            names = [name for name in stratum.relations if name in self.asked]
            if not self._spread(names, self.fresh, is_touching=False):
                return False
            if matters.intersection(names) and not self._spread(names, self.touched, is_touching=True):
                return False
        return True

    def _spread(self, names: list[str], start: dict[str, list[Int64s]], *, is_touching: bool) -> bool:
        """Follow rows of this and of earlier strata into the heads of this stratum's rules."""
        rules = [rule for name in names for rule in self.ground.rules[name]]
        # Rows wait together for the same literal: a long recursion goes one step for all of them at once.
        waiting: dict[tuple[int, int], tuple[FlatRule, RuleLiteral, list[Int64s]]] = {}
        for rule in rules:
            for literal in rule.literals:
                rows = (self.touched if literal.is_negated and not is_touching else start).get(
                    literal.relation
                )
                if rows:
                    _wait(waiting, rule, literal, rows)
        while waiting:
            if self.work > _MOST_DERIVATIONS or time.monotonic() > self.end:
                return False
            rule, literal, rows = waiting.pop(next(iter(waiting)))
            batch = self.ground.forward(rule, literal, np.concatenate(rows))
            found = self._heads(rule, batch, is_touching=is_touching)
            if found.size:
                for reader, place in self.ground.readers[rule.relation]:
                    if reader.relation in names and not (place.is_negated and not is_touching):
                        _wait(waiting, reader, place, [found])
        return True

    def _heads(self, rule: FlatRule, batch: Int64s, *, is_touching: bool) -> Int64s:
        """Return the rows of heads that were not found before."""
        self.work += len(batch)
        arity = self.ground.relation(rule.relation).arity
        heads = batch[self._may_hold(rule, batch, arity), :arity]
        if not len(heads):
            return np.empty(0, np.int64)
        numbers = self.ground.locate(rule.relation, heads)
        stored = self.ground.relation(rule.relation)
        known = self.touched if is_touching else self.fresh
        if is_touching:
            numbers = distinct(numbers)
            numbers = numbers[~_among(numbers, known.get(rule.relation, []))]
        else:
            numbers = distinct(numbers[stored.alive[numbers] == 0])
            stored.show_rows(numbers)
            self.touched.setdefault(rule.relation, []).append(numbers)
        if numbers.size:
            known.setdefault(rule.relation, []).append(numbers)
        return numbers

    def _may_hold(self, rule: FlatRule, batch: Int64s, arity: int) -> Mask:
        """Say of derivations whether some world may have them.

        Joins see only facts that are possible; a negated fact that holds in every world rules the
        derivation out.
        """
        may_hold = np.ones(len(batch), np.bool_)
        for place, literal in enumerate(rule.literals):
            if literal.is_negated:
                numbers = batch[:, arity + place]
                stored = self.ground.relation(literal.relation)
                is_now = (numbers >= 0) & (stored.levels[np.maximum(numbers, 0)] != ABSENT)
                if is_now.any():
                    may_hold &= ~is_now | _among(numbers, self.touched.get(literal.relation, []))
        return may_hold


def _wait(
    waiting: dict[tuple[int, int], tuple[FlatRule, RuleLiteral, list[Int64s]]],
    rule: FlatRule,
    literal: RuleLiteral,
    rows: list[Int64s],
) -> None:
    """Let rows wait to be followed from a literal of a rule."""
    waiting.setdefault((rule.id, literal.place), (rule, literal, []))[2].extend(rows)


def find_possible(  # noqa: PLR0913, PLR0917 - what there is to know about two epochs
    ground: Ground, suspects: Sequence[Suspect], inserted: Rows, deleted: Rows,
    unwanted: frozenset[str], missing: frozenset[str], end: float = math.inf,
) -> Possible:  # fmt: skip
    """Return the facts that may hold in a world, of relations that explanations of faults meet absent.

    These are the relations of missing facts with all below them, and the same of negated relations.
    The engine stands in the newer epoch; the difference from the older one is given.
    """
    met = ground.below(unwanted | missing)
    asked = (ground.below(missing) | ground.below(_negated(ground, met))) - ground.unsure
    if not asked:
        return Possible({}, is_complete=True)
    deleted_facts = merged(deleted, by_relation(s.key for s in suspects if not s.is_insert))
    inserted_facts = merged(inserted, by_relation(s.key for s in suspects if s.is_insert))
    with ground.showing(deleted_facts) as shown:
        search = _Search(ground, asked, end=end)
        try:
            search.fresh = {name: [hidden] for name, hidden in shown.items()}
            if matters := search.matters():
                for name in deleted_facts.keys() & matters:
                    search.touched[name] = [distinct(ground.locate(name, deleted_facts[name]))]
                for name in inserted_facts.keys() & matters:
                    numbers = ground.numbers(name, inserted_facts[name])
                    search.touched.setdefault(name, []).append(distinct(numbers[numbers >= 0]))
            is_complete = search.run(matters)
            # No row is found twice: it is visible from then on.
            found = {
                name: ground.relation(name).rows[np.concatenate(groups)].astype(np.int64)
                for name, groups in search.fresh.items()
                if sum(map(len, groups))
            }
        finally:
            for name, groups in search.fresh.items():
                for each in groups:
                    ground.relation(name).hide_absent_rows(each)
    return Possible(found, is_complete)


def _negated(ground: Ground, heads: frozenset[str]) -> frozenset[str]:
    """Return the relations that rules with these heads negate."""
    return frozenset(
        literal.relation
        for name in heads
        for rule in ground.rules[name]
        for literal in rule.literals
        if literal.is_negated
    )


def _among(numbers: Int64s, groups: list[Int64s]) -> Mask:
    if not groups or not numbers.size:
        return np.zeros(len(numbers), np.bool_)
    return np.isin(numbers, np.concatenate(groups))
