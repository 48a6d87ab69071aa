"""A random program with its facts and the epochs that follow: changes of facts and of rules."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pprint import pformat
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from support.epochs_programs import SPECIAL, tangled_epochs, tangled_programs
from support.language_functions import FUNCTIONS
from support.lattice_functions import LATTICE_FUNCTIONS
from support.lattice_programs import lattice_epochs, lattice_programs
from support.layered_programs import layered_epochs, layered_programs
from support.programs import build
from support.strategies import (
    RandomEpoch,
    RandomProgram,
    dense_programs,
    epochs,
    programs,
    whole_language_programs,
)
from tidelog.engine.epoch import Strategy
from tidelog.engine.protocol import UserFunctions
from tidelog.program.lattice_tables import fixed_relations
from tidelog.values import Fact

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]
Facts = Mapping[str, tuple[Fact, ...]]
_FAMILIES: Final = ("tangled", "layered", "language", "dense", "laws", "lattices", "whole", "whole")


@dataclass(frozen=True)
class Step:
    """One epoch: facts inserted and deleted, and the lines of the program left out from now on.

    `is_reopened` says that the state moves to a new engine before the epoch, as an image if `is_mapped`.
    """

    inserts: Facts
    deletes: Facts
    left_out: frozenset[int] = frozenset()
    strategy: str = "update"
    switch: float = 0.2
    is_reopened: bool = False
    is_mapped: bool = False


@dataclass(frozen=True)
class History:
    """A program's text, its first facts, and the epochs that follow."""

    text: str
    inputs: Facts
    steps: tuple[Step, ...]
    jobs: int = 1

    @property
    def functions(self) -> UserFunctions:
        """Return the Python functions that the program may call."""
        named = set(re.findall(r"@(\w+)", self.text))
        return {name: each for name, each in {**FUNCTIONS, **LATTICE_FUNCTIONS}.items() if name in named}

    def texts(self) -> Iterator[str]:
        """Return the program's text after each step."""
        lines = self.text.splitlines()
        for step in self.steps:
            yield "\n".join(line for number, line in enumerate(lines) if number not in step.left_out)


def write_script(replay: str, history: History) -> str:
    """Return a Python script that takes the history through `torture.MODULE.FUNCTION`."""
    module, _, function = replay.rpartition(".")
    return f'''"""Found by ./torture; run it in a clone: PYTHONPATH=tests python THIS_FILE"""

from math import inf, nan  # noqa: F401

from {module} import {function}
from torture.histories import History, Step
from tidelog import Branch  # noqa: F401

TEXT = r"""
{history.text}
"""

HISTORY = History(
    TEXT.strip(),
    {pformat(dict(history.inputs), width=100)},
    {pformat(history.steps, width=100)},
    jobs={history.jobs},
)

{function}(HISTORY)
'''


@st.composite
def histories(
    draw: Draw[Any],
    strategies: tuple[str, ...] = tuple(each.value for each in Strategy),
    *,
    max_steps: int = 8,
    changes_rules: bool = True,
) -> History:
    """Draw a program of any kind with epochs; every step has a strategy of its own."""
    program, drawn = draw(_programs_with_epochs(max_steps))
    removable = _removable(program.text) if changes_rules else []
    left_out: frozenset[int] = frozenset()
    steps = []
    for epoch in drawn:
        if removable and draw(st.integers(0, 5)) == 5:
            left_out = draw(st.frozensets(st.sampled_from(removable), max_size=3))
        steps.append(
            Step(
                epoch.inserts,
                epoch.deletes,
                left_out,
                draw(st.sampled_from(strategies)),
                # With no share at all every update is given up, with a large one none.
                draw(st.sampled_from([0.2, 0.2, 0.0, 100.0])),
                draw(st.integers(0, 4)) == 4,
                draw(st.booleans()),
            )
        )
    jobs = draw(st.sampled_from([1, 1, 1, 2]))
    return History(program.text, program.inputs, tuple(steps), jobs)


@st.composite
def _programs_with_epochs(draw: Draw[Any], max_steps: int) -> tuple[RandomProgram, list[RandomEpoch]]:
    match draw(st.sampled_from(_FAMILIES)):
        case "tangled":
            program = draw(tangled_programs())
            return program, draw(tangled_epochs(program, max_epochs=max_steps))
        case "layered":
            program = draw(layered_programs())
            return program, draw(layered_epochs(program, max_epochs=max_steps))
        case "laws":
            program = draw(tangled_programs(special=SPECIAL))
            return program, draw(tangled_epochs(program, max_epochs=max_steps))
        case "lattices":
            program = draw(lattice_programs())
            return program, draw(lattice_epochs(program, max_epochs=max_steps))
        case "whole":
            program = draw(whole_language_programs())
            return program, draw(epochs(program, max_epochs=max_steps))
        case "dense":
            program = draw(dense_programs())
            return program, draw(epochs(program, max_epochs=max_steps))
        case _:
            program = draw(programs())
            return program, draw(epochs(program, max_epochs=max_steps))


def _removable(text: str) -> list[int]:
    """Return the lines that are rules the program can do without.

    A relation that is inlined must keep the rules it is replaced by, a component those it is made of, and a
    rule with a `.plan` is more than its line. What operators of lattices depend on does not change.
    """
    fixed = fixed_relations(build(text))
    lines = text.splitlines()
    inlined = {line.split()[1].split("(")[0] for line in lines if line.endswith(" inline")}
    return [
        number
        for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""], strict=True))
        if line[:1].isalpha()
        and line.endswith(".")
        and " <= " not in line
        and line.split("(")[0] not in inlined | fixed
        and not following.startswith(".plan")
    ]
