"""Random epochs with faults in them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st

import tidelog
from support.epochs_programs import FUNCTIONS, tangled_epochs, tangled_programs
from support.explanations_oracle import Faults, Worlds
from support.programs import build
from support.strategies import RandomProgram
from tidelog.session import Session
from tidelog.views import Delta
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
    faults: Faults

    def __repr__(self) -> str:
        return f"{self.program!r}// epoch: {self.script}\n// {self.faults}\n"

    def _repr_pretty_(self, printer: Any, _: object) -> None:
        printer.text(repr(self))

    def open_before(self, engine: str = "local") -> Session:
        """Return a session before the epoch."""
        return open_program(self.program, engine)

    def open(self, engine: str = "local") -> Session:
        """Return a session after the epoch."""
        session = self.open_before(engine)
        session.apply(self.script)
        return session

    def worlds(self, session: Session) -> Worlds:
        """Return the worlds of the session's last epoch."""
        changes = session.history[-1].changes
        found = tuple(
            (name, fact, is_insert)
            for name in changes
            for is_insert, facts in ((True, changes[name].inserted), (False, changes[name].deleted))
            for fact in facts
        )
        return Worlds(build(self.program.text), self.program.inputs, found, functions_of(self.program))


def open_program(program: RandomProgram, engine: str = "local") -> Session:
    """Return a session over a random program."""
    facts, functions = dict(program.inputs), functions_of(program)
    return tidelog.open(program.text, facts=facts, functions=functions, engine=engine)


def functions_of(program: RandomProgram) -> dict[str, Any] | None:
    """Return the functions that a random program is opened with."""
    return FUNCTIONS if ".functor spread" in program.text else None


@st.composite
def random_faults(
    draw: Draw[Any], *, special: tuple[str, ...] = (), aggregates: tuple[str, ...] = ("count",)
) -> RandomFaults:
    """Draw an epoch of a few changes and some of the facts that it brought or took away."""
    program = draw(tangled_programs(special=special, aggregates=aggregates))
    epoch = draw(tangled_epochs(program, max_epochs=1))[0]
    changes = [f"-{write_fact(name, fact)}." for name, facts in epoch.deletes.items() for fact in facts]
    changes += [f"+{write_fact(name, fact)}." for name, facts in epoch.inserts.items() for fact in facts]
    assume(changes)
    script = " ".join(draw(st.permutations(changes))[:MOST_CHANGES])
    delta = _applied(program, script)
    sides = [
        [(name, fact) for name in delta for fact in side(delta[name])]
        for side in (lambda each: each.inserted, lambda each: each.deleted)
    ]
    unwanted, missing = (
        tuple(draw(st.lists(st.sampled_from(side), unique=True, max_size=2))) if side else ()
        for side in sides
    )
    assume(unwanted or missing)
    return RandomFaults(program, script, Faults(unwanted, missing))


def _applied(program: RandomProgram, script: str) -> Delta:
    """Return what an epoch does; one that gives a key two values is of no use here."""
    with open_program(program) as session:
        try:
            return session.apply(script)
        except tidelog.TidelogError as refused:
            assume("two-values" not in str(refused))
            raise
