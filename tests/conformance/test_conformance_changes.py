"""The conformance cases epoch by epoch: facts that a program has are inserted and deleted instead."""

from dataclasses import replace

import pytest

from conformance.functions import FUNCTIONS
from conformance.test_conformance import CASES, NAMES
from support.epochs import Maintained
from support.programs import Facts, build, outputs, read_inputs, run_program, show
from tidelog.engine.epoch import Strategy
from tidelog.program.lattice_tables import fixed_relations
from tidelog.program.nodes import Directive, Program
from tidelog.values.functors import order_key

# Numbers of `autoinc()` depend on the order in which derivations were found.
NUMBERED = frozenset(
    name for name in NAMES if "$," in (text := (CASES / f"{name}.dl").read_text()) or "autoinc" in text
)


def with_inputs(program: Program) -> tuple[Program, Facts]:
    """Return the program without the facts of relations that only have facts, and these facts.

    A relation that is read as well keeps its facts: those that were read come first. So does one in which a
    lattice looks values up.
    """
    derived = {rule.head.relation for rule in program.rules if rule.body}
    written = dict.fromkeys(rule.head.relation for rule in program.rules)
    kept = derived | fixed_relations(program)
    free = [name for name in written if name not in kept and not program.is_input(name)]
    strata = tuple(
        replace(stratum, rules=tuple(rule for rule in stratum.rules if rule.head.relation not in free))
        for stratum in program.strata
    )
    inputs = tuple(Directive("input", name, {}) for name in free)
    found = run_program(program, functions=FUNCTIONS)
    changed = replace(program, strata=strata, directives=(*program.directives, *inputs))
    return changed, {name: sorted(found[name], key=order_key) for name in free}


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.UPDATE], ids=lambda each: each.value)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NUMBERED])
def test_case_gives_its_relations_after_changes(name: str, strategy: Strategy) -> None:
    """Half of the facts, all of them, the other half and all again: each epoch is what evaluating gives."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    expected = (CASES / f"{name}.expected").read_text(encoding="utf-8")
    changed, written = with_inputs(program)
    facts = {**written, **read_inputs(program, CASES / f"{name}.facts")}
    halves = [{relation: list(some)[start::2] for relation, some in facts.items()} for start in (0, 1)]
    run = Maintained(changed, FUNCTIONS).start()

    for first, second in (halves, halves[::-1]):
        run.change(insert=first, delete=second, strategy=strategy)
        assert run.relations() == run.from_nothing()
        run.change(insert=second, strategy=strategy)
        assert show(run.relations(), outputs(program)) == expected
