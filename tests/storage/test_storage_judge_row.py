"""The judge of derivations against its definition, for all marks and levels of up to four literals."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import examples
from support.kernel_oracles import oracle_of
from tidelog.storage.address import address_of
from tidelog.storage.annotations import TOUCHED
from tidelog.storage.judge_row import (
    ABSENT_LEVEL,
    AFFECTED,
    CURRENT,
    GAINING,
    HOLDING,
    IMPROVED,
    LOSING,
    SETTLING,
    UNTOUCHED,
    Literal,
    judge_batch,
)
from tidelog.storage.structs import addresses_of, words_of

ABSENT = int(ABSENT_LEVEL)


@dataclass(frozen=True)
class Fact:
    """What is known of the row at a literal: levels in both epochs, and in the own stratum also marks."""

    previous: int = 0
    level: int = 0
    mark: int = UNTOUCHED


EARLIER = tuple(Fact(was, now) for was, now in product((0, 5, ABSENT), repeat=2))
# While facts are lost nothing is settled yet; later an affected fact has no level until it is settled.
OWN = {
    LOSING: tuple(Fact(level=level, mark=mark) for level in (1, 3, ABSENT) for mark in (0, 1, 2)),
    GAINING: (Fact(level=1), Fact(level=3), Fact(level=ABSENT), Fact(level=ABSENT, mark=AFFECTED)),
    SETTLING: (
        *(Fact(level=level, mark=CURRENT) for level in (1, 2)),
        *(Fact(was, level, IMPROVED) for was, level in ((2, 1), (3, 1), (3, 2))),
        *(Fact(level=level) for level in (0, 1, 2, 3, ABSENT)),
        Fact(level=ABSENT, mark=AFFECTED),
    ),
}
OWN[HOLDING] = OWN[GAINING]


@dataclass(frozen=True)
class Kind:
    """What a literal of a rule is."""

    is_own: bool
    is_negated: bool = False

    def facts(self, reading: int) -> tuple[Fact | None, ...]:
        """Return all that can be known of its row; a negated fact may have none."""
        if self.is_own:
            return OWN[reading]
        return (*EARLIER, None) if self.is_negated else EARLIER


KINDS = (Kind(is_own=True), Kind(is_own=False), Kind(is_own=False, is_negated=True))


def levels(kind: Kind, fact: Fact | None, reading: int) -> tuple[int, int]:
    """Return the level that a literal has as the reading takes the old and the new state."""
    if not kind.is_own:
        epochs = [False, False] if fact is None else [fact.previous != ABSENT, fact.level != ABSENT]
        was, now = (0 if is_fact != kind.is_negated else ABSENT for is_fact in epochs)
        return (was, now) if reading in {LOSING, GAINING} else (now, now)
    assert fact is not None
    if reading == LOSING:
        return fact.level, fact.level if fact.mark == UNTOUCHED else ABSENT
    if reading == SETTLING and fact.mark in {CURRENT, IMPROVED}:
        return ABSENT if fact.mark == CURRENT else fact.previous, fact.level
    return fact.level, fact.level


def finds(kind: Kind, fact: Fact | None, reading: int) -> int | None:
    """Return when a literal finds derivations: earlier strata first, then affected, then current facts."""
    was, now = levels(kind, fact, reading)
    if kind.is_own:
        assert fact is not None
        is_told = reading in {LOSING, SETTLING} and fact.mark != UNTOUCHED
        return min(fact.mark, CURRENT) if is_told else None
    return 0 if was != now else None


def judged(kinds: list[Kind], facts: tuple[Fact | None, ...], place: int, reading: int) -> tuple[int, int]:
    """Return what the definition says of a derivation that is found through a literal."""
    pairs = [levels(kind, fact, reading) for kind, fact in zip(kinds, facts, strict=True)]
    was, now = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    if (was if reading == LOSING else now) == ABSENT:
        return ABSENT, ABSENT
    if place >= 0:
        turns = [
            (finds(kind, fact, reading), at) for at, (kind, fact) in enumerate(zip(kinds, facts, strict=True))
        ]
        if min((turn, at) for turn, at in turns if turn is not None)[1] != place:
            return ABSENT, ABSENT
    return was, now


def may_be_found(kinds: list[Kind], facts: tuple[Fact | None, ...], place: int, reading: int) -> bool:
    """Say whether a derivation can be found through a literal: a current fact's, or one that changed."""
    if place < 0:
        return True
    turn = finds(kinds[place], facts[place], reading)
    return turn == (CURRENT if kinds[place].is_own else 0)


@oracle_of(judge_batch)
@pytest.mark.parametrize("reading", [LOSING, GAINING, HOLDING, SETTLING])
@settings(max_examples=examples(15))
@given(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4), data=st.data())
def test_derivations_are_judged_by_the_definition(
    reading: int, kinds: list[Kind], data: st.DataObject
) -> None:
    """What was, what is, at which level and found through which literal, for all marks and levels."""
    place = data.draw(st.integers(-1, len(kinds) - 1))
    states = [kind.facts(reading) for kind in kinds]
    literals = np.zeros(len(kinds), words_of(Literal))
    kept = []
    for literal, kind, known in zip(literals, kinds, states, strict=True):
        facts = [fact for fact in known if fact is not None]
        literal["is_own"], literal["is_negated"], literal["must_check"] = kind.is_own, kind.is_negated, 1
        # Complements of earlier levels; a row that did not change may have been touched or not.
        untouched = [fact.previous == fact.level and data.draw(st.booleans()) for fact in facts]
        before = [0 if same else ~fact.previous for same, fact in zip(untouched, facts, strict=True)]
        for field, values in ("before", before), ("levels", [fact.level for fact in facts]):
            kept.append(np.array(values, np.int32))
            literal[field] = address_of(kept[-1])
        # The flags in a mark are not part of its status.
        marks = [fact.mark + TOUCHED * data.draw(st.booleans()) for fact in facts]
        kept.append(np.array(marks, np.uint8))
        literal["marks"] = address_of(kept[-1])
    combined = [each for each in product(*states) if may_be_found(kinds, each, place, reading)]
    rows = [
        [-1 if fact is None else states[at].index(fact) for at, fact in enumerate(each)] for each in combined
    ]
    batch = np.array(rows, np.int32).reshape(len(combined), len(kinds))
    was, now = np.empty((2, len(combined)), np.int32)

    judge_batch(addresses_of(literals), batch, 0, place, reading, was, now)

    expected = [judged(kinds, each, place, reading) for each in combined]
    assert list(zip(was.tolist(), now.tolist(), strict=True)) == expected
