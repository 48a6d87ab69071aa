"""Random epochs with faults: 50 insertions and 50 deletions, and 3 to 10 facts that came or went."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from benchmarks.epochs.subject import Rows, Subject, columns_of, deletion
from tidelog.engine.epoch import EpochResult, MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Codes, SilentObserver
from tidelog.explain.blame.case import Case, Faults
from tidelog.explain.blame.suspects import Key, Suspect
from tidelog.maintain import LocalMaintainedEngine

CHANGES: Final = 50
FEWEST_FAULTS: Final = 3
MOST_FAULTS: Final = 10
# Random facts may be ones that nothing follows from; other ones are tried then.
_TRIES: Final = 50
_MOST_CANDIDATES: Final = 2000
_SETTINGS = MaintenanceSettings()


@dataclass(frozen=True)
class FaultyEpoch:
    """Facts to insert and to delete, and the facts chosen as faults among those that differ."""

    inserted: Mapping[str, Rows]
    deleted: Mapping[str, Rows]
    faults: Faults
    result: EpochResult


def draw_epochs(
    subject: Subject, engine: LocalMaintainedEngine, numbers: Sequence[int], seed: int
) -> Iterator[tuple[int, FaultyEpoch]]:
    """Yield epochs with faults by their numbers.

    The facts that an epoch inserts are inputs of the data set, which are deleted before it.
    """
    for number in numbers:
        random = np.random.default_rng([seed, number])
        for _ in range(_TRIES):
            epoch = _draw(subject, engine, number, random)
            if epoch is not None:
                yield number, epoch
                break


def _draw(
    subject: Subject, engine: LocalMaintainedEngine, number: int, random: np.random.Generator
) -> FaultyEpoch | None:
    chosen = subject.sample(2 * CHANGES, random)
    inserted, deleted = _halved(chosen, random)
    with applied(engine, deletion(inserted)), engine.trial(_both(inserted, deleted), _SETTINGS) as result:
        changed = {(name, tuple(fact)) for name, rows in chosen.items() for fact in rows.tolist()}
        faults = _choose(subject, result, changed, number, random)
    return FaultyEpoch(inserted, deleted, faults, result) if faults is not None else None


def _halved(
    facts: Mapping[str, Rows], random: np.random.Generator
) -> tuple[dict[str, Rows], dict[str, Rows]]:
    every = [(name, place) for name, rows in facts.items() for place in range(len(rows))]
    is_inserted = np.zeros(len(every), np.bool_)
    is_inserted[random.choice(len(every), CHANGES, replace=False)] = True
    sides: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for (name, place), is_in in zip(every, is_inserted, strict=True):
        sides[0 if is_in else 1].setdefault(name, []).append(place)
    first, second = ({name: facts[name][places] for name, places in side.items()} for side in sides)
    return first, second


def _both(inserted: Mapping[str, Rows], deleted: Mapping[str, Rows]) -> dict[str, RelationChange]:
    changes = {}
    for name in {*inserted, *deleted}:
        some = inserted[name] if name in inserted else deleted[name]
        changes[name] = RelationChange(
            columns_of(inserted.get(name, some[:0])), columns_of(deleted.get(name, some[:0]))
        )
    return changes


def _choose(
    subject: Subject, result: EpochResult, changed: AbstractSet[Key], number: int, random: np.random.Generator
) -> Faults | None:
    """Return facts that appeared, that vanished, or both, in turn; none of those that were changed."""
    kind = number % 3
    appeared = _derived(subject, result.inserted, changed) if kind != 1 else []
    vanished = _derived(subject, result.deleted, changed) if kind != 0 else []
    if len(appeared) + len(vanished) < FEWEST_FAULTS or (kind == 2 and not (appeared and vanished)):
        return None
    wanted = int(random.integers(FEWEST_FAULTS, MOST_FAULTS + 1))
    share = wanted if not vanished else 0 if not appeared else max(1, wanted // 2)
    unwanted = _some(appeared, share, random)
    missing = _some(vanished, wanted - len(unwanted), random)
    return Faults(tuple(unwanted), tuple(missing))


def _derived(subject: Subject, sides: Mapping[str, Sequence[Codes]], changed: AbstractSet[Key]) -> list[Key]:
    """Return facts that rules derive, at most so many of each relation, without the changed input facts."""
    heads = {rule.head.relation for rule in subject.program.rules}
    return [
        (name, tuple(fact))
        for name, columns in sides.items()
        if name in heads
        for fact in np.column_stack(list(columns))[:_MOST_CANDIDATES].tolist()
        if (name, tuple(fact)) not in changed
    ]


def _some(facts: Sequence[Key], count: int, random: np.random.Generator) -> list[Key]:
    if not facts or count <= 0:
        return []
    return [facts[place] for place in random.choice(len(facts), min(count, len(facts)), replace=False)]


@contextmanager
def applied(engine: LocalMaintainedEngine, changes: Mapping[str, RelationChange]) -> Iterator[EpochResult]:
    """Take the engine to an epoch, and back again."""
    result = engine.apply(changes, _SETTINGS, SilentObserver())
    try:
        yield result
    finally:
        turned = {name: RelationChange(each.deleted, each.inserted) for name, each in changes.items()}
        engine.apply(turned, _SETTINGS, SilentObserver())


@contextmanager
def standing_after(engine: LocalMaintainedEngine, epoch: FaultyEpoch) -> Iterator[None]:
    """Take the engine to the end of an epoch, and back again."""
    with applied(engine, deletion(epoch.inserted)), applied(engine, _both(epoch.inserted, epoch.deleted)):
        yield


C = TypeVar("C", bound=Case)


def make_case(subject: Subject, engine: LocalMaintainedEngine, epoch: FaultyEpoch, kind: type[C]) -> C:
    """Return a case; the engine stands at the end of the epoch."""
    suspects = [
        Suspect((name, tuple(row)), is_insert)
        for is_insert, sides in ((True, epoch.inserted), (False, epoch.deleted))
        for name, rows in sides.items()
        for row in rows.tolist()
    ]
    inserted, deleted = (
        {name: np.column_stack(list(columns)) for name, columns in side.items()}
        for side in (epoch.result.inserted, epoch.result.deleted)
    )
    return kind(engine, subject.codec, tuple(suspects), epoch.faults, inserted, deleted)
