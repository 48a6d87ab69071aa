"""Partners in threads under every strategy they have, `auto` among them.

After each epoch what they own together is the reference engine's, with its levels and counts, all copies
agree, and their deltas add up to the difference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from support.epochs_oracle import annotations_by_force
from support.epochs_programs import SIZE, tangled_epochs, tangled_programs
from support.partner_epochs import follow, followable
from support.programs import run_program
from tidelog.engine.epoch import Strategy
from torture.histories import Facts
from torture.searching import RandomKind

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

_STRATEGIES: Final = ("auto", "auto", "update", "recompute")


@dataclass(frozen=True)
class Shared:
    """A program that several partners follow through epochs: the facts of each input after each of them.

    Rows with `heavy` values are spread over all partners.
    """

    text: str
    inputs: tuple[Facts, ...]
    partners: int
    strategy: str
    heavy: tuple[int, ...] = ()


@st.composite
def _cases(draw: Draw[Any]) -> Shared:
    program = draw(tangled_programs())
    history = [{name: set(facts) for name, facts in program.inputs.items()}]
    for epoch in draw(tangled_epochs(program, max_epochs=5)):
        history.append(
            {
                name: (facts - set(epoch.deletes[name])) | set(epoch.inserts[name])
                for name, facts in history[-1].items()
            }
        )
    inputs = tuple({name: tuple(sorted(facts)) for name, facts in each.items()} for each in history)
    heavy = draw(st.one_of(st.just(()), st.sets(st.integers(0, SIZE - 1)).map(sorted).map(tuple)))
    return Shared(program.text, inputs, draw(st.integers(1, 3)), draw(st.sampled_from(_STRATEGIES)), heavy)


def replay(case: Shared) -> int:
    """Take partners through the epochs, checking everything after each of them."""
    program = followable(case.text)
    history = [{name: set(facts) for name, facts in inputs.items()} for inputs in case.inputs]
    states, deltas = follow(program, history, case.partners, Strategy(case.strategy), heavy=case.heavy)
    before: dict[str, set[tuple[int, ...]]] = {}
    for number, inputs in enumerate(case.inputs):
        given = {name: facts for name, facts in inputs.items() if facts}
        expected = run_program(program, inputs=given)
        annotations = annotations_by_force(program, inputs, expected)
        for name in program.relations:
            together: dict[tuple[int, ...], tuple[int, int]] = {}
            for state in states[number]:
                assert not together.keys() & state[name].keys(), f"{name}: a fact with two owners"
                together.update(state[name])
            assert together.keys() == expected[name], f"the facts of {name}"
            if name in annotations:
                wanted = {
                    fact: (annotation.level, annotation.count)
                    for fact, annotation in annotations[name].items()
                }
                assert together == wanted, f"levels and counts of {name}"
            for state in states[number]:
                for fact, level in state[f"{name} kept"].items():
                    assert together[fact][0] == level, f"{name}: a copy with another level"
            if number:
                sides = [delta.get(name, (set(), set())) for delta in deltas[number]]
                assert set().union(*(side[0] for side in sides)) == expected[name] - before[name]
                assert set().union(*(side[1] for side in sides)) == before[name] - expected[name]
            before[name] = set(expected[name])
    return len(case.inputs)


def _script(case: Shared) -> str:
    return f'''"""Found by ./torture; run it in a clone: PYTHONPATH=tests python THIS_FILE"""

from torture.partners import Shared, replay

TEXT = r"""
{case.text}
"""

replay(Shared(TEXT, {case.inputs!r}, {case.partners}, {case.strategy!r}, {case.heavy!r}))
'''


PARTNERS: Final = RandomKind("partners", "epochs", _cases, replay, _script)
