"""Random epochs with faults, and what all subsets of their changes do by the reference engine."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st

import tidelog
from epochs_programs import tangled_epochs, tangled_programs
from strategies import RandomProgram
from tidelog.session import Session
from tidelog.values import Fact
from tidelog.views.blame.answers import InputChange
from tidelog.views.fact_text import write_fact

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]
# Exhaustive search looks at 2 ** n worlds.
MOST_CHANGES = 5


@dataclass(frozen=True)
class RandomFaults:
    """A program, the change script of an epoch, and facts that came or went with it."""

    program: RandomProgram
    script: str
    unwanted: tuple[tuple[str, Fact], ...]
    missing: tuple[tuple[str, Fact], ...]

    def __repr__(self) -> str:
        return f"{self.program!r}// epoch: {self.script}\n// {self.unwanted=}\n// {self.missing=}\n"

    def _repr_pretty_(self, printer: Any, _: object) -> None:
        printer.text(repr(self))

    def open(self) -> Session:
        """Return a session after the epoch."""
        session = tidelog.open(self.program.text, facts=dict(self.program.inputs))
        session.apply(self.script)
        return session

    @property
    def unwanted_texts(self) -> list[str]:
        """Return the unwanted facts as texts."""
        return [write_fact(*each) for each in self.unwanted]

    @property
    def missing_texts(self) -> list[str]:
        """Return the missing facts as texts."""
        return [write_fact(*each) for each in self.missing]


@st.composite
def random_faults(draw: Draw[Any], *, special: tuple[str, ...] = ()) -> RandomFaults:
    """Draw an epoch of a few changes and some of the facts that it brought or took away."""
    program = draw(tangled_programs(special=special))
    epoch = draw(tangled_epochs(program, max_epochs=1))[0]
    changes = [f"-{write_fact(name, fact)}." for name, facts in epoch.deletes.items() for fact in facts]
    changes += [f"+{write_fact(name, fact)}." for name, facts in epoch.inserts.items() for fact in facts]
    assume(changes)
    script = " ".join(draw(st.permutations(changes))[:MOST_CHANGES])
    with tidelog.open(program.text, facts=dict(program.inputs)) as session:
        delta = session.apply(script)
    sides = [
        [(name, fact) for name in delta for fact in side(delta[name])]
        for side in (lambda each: each.inserted, lambda each: each.deleted)
    ]
    unwanted, missing = (
        tuple(draw(st.lists(st.sampled_from(side), unique=True, max_size=2))) if side else ()
        for side in sides
    )
    assume(unwanted or missing)
    return RandomFaults(program, script, unwanted, missing)


class Oracle:
    """Evaluates worlds from nothing by the reference engine."""

    def __init__(self, faults: RandomFaults, session: Session, epoch: int = 1) -> None:
        self._faults = faults
        delta = next(each for each in session.history if each.epoch == epoch)
        self.changes = tuple(
            (name, fact, is_insert)
            for name in delta.changes
            for is_insert, facts in (
                (True, delta.changes[name].inserted),
                (False, delta.changes[name].deleted),
            )
            for fact in facts
        )

    def world(self, applied: Iterable[tuple[str, Fact, bool]]) -> Session:
        """Return the older epoch with some of the changes."""
        inputs = {name: set(facts) for name, facts in self._faults.program.inputs.items()}
        for name, fact, is_insert in applied:
            (inputs[name].add if is_insert else inputs[name].discard)(fact)
        return tidelog.open(
            self._faults.program.text, facts={name: list(facts) for name, facts in inputs.items()},
            engine="reference",
        )  # fmt: skip

    def faults_of(self, applied: Iterable[tuple[str, Fact, bool]]) -> tuple[int, int]:
        """Return how many of the faults a world has, and how many there are."""
        with self.world(applied) as session:
            there = sum(fact in session[name] for name, fact in self._faults.unwanted)
            gone = sum(fact not in session[name] for name, fact in self._faults.missing)
        return there + gone, len(self._faults.unwanted) + len(self._faults.missing)

    def repairs(self) -> Iterator[tuple[tuple[str, Fact, bool], ...]]:
        """Yield every set of changes whose taking back leaves no fault, small ones first."""
        for taken in subsets(self.changes):
            if not self.faults_of(change for change in self.changes if change not in taken)[0]:
                yield taken

    def reproduces(self, applied: Iterable[tuple[str, Fact, bool]]) -> bool:
        """Say whether these changes alone bring all faults about."""
        found, wanted = self.faults_of(applied)
        return found == wanted


def as_triples(changes: Iterable[InputChange]) -> tuple[tuple[str, Fact, bool], ...]:
    """Return changes as the oracle has them."""
    return tuple((change.relation, change.fact, change.is_insert) for change in changes)


def subsets(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Yield all subsets, small ones first."""
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))
