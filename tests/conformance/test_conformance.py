"""Small programs with the relations they must give, for every engine.

A case is `cases/NAME.dl` with its output relations in `cases/NAME.expected`, one fact per line
in value order, and its input facts, if it has any, in `cases/NAME.facts/`.
"""

from pathlib import Path

import pytest

from conformance.functions import FUNCTIONS
from support.programs import build, each_engine, outputs, read_inputs, run_program, show

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.dl"))

# What an engine cannot do yet: by case, then by engine, with the reason.
GAPS: dict[str, dict[str, str]] = {}


def _parameters() -> list[object]:
    return [
        pytest.param(name, *engine.values, id=f"{name}-{engine.id}", marks=engine.marks)
        for name in NAMES
        for engine in each_engine(GAPS.get(name))
    ]


@pytest.mark.parametrize(("name", "engine"), _parameters())
def test_case_gives_its_relations(name, engine):
    """The engine derives exactly the facts that stand beside the program."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, CASES / f"{name}.facts")
    expected = (CASES / f"{name}.expected").read_text(encoding="utf-8")

    relations = run_program(program, engine=engine, inputs=inputs, functions=FUNCTIONS)

    assert show(relations, outputs(program)) == expected


def test_every_case_is_complete():
    """Every program has its expected relations, and nothing else lies in the folder."""
    expected = {path.stem for path in CASES.glob("*.expected")}
    inputs = {path.stem for path in CASES.glob("*.facts")}

    assert set(NAMES) == expected
    assert inputs <= set(NAMES)
    assert set(GAPS) <= set(NAMES)
