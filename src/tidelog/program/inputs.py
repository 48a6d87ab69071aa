"""The relations of a program that have input facts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.lattice_tables import fixed_relations
from tidelog.program.nodes import Directive, Program
from tidelog.program.proof_cones import mixed_proofs
from tidelog.program.suggest import undeclared_relation


def name_inputs(program: Program, inputs: Sequence[str]) -> Program:
    """Return the program with every relation that is given facts named as an input.

    Engines may leave out what no rule and no input can fill, so they are told first.
    """
    unknown = [name for name in inputs if name not in program.relations]
    if unknown:
        raise TidelogError(undeclared_relation(name, program.relations) for name in unknown)
    mixed = [name for name in inputs if name in program.proved]
    if mixed:
        raise TidelogError(mixed_proofs(name, None) for name in mixed)
    fixed = fixed_relations(program)
    if not fixed.isdisjoint(inputs):
        raise TidelogError(fixed_relation(name) for name in inputs if name in fixed)
    added = tuple(Directive("input", name, {}) for name in inputs if not program.is_input(name))
    return replace(program, directives=(*program.directives, *added)) if added else program


def find_changeable(program: Program, inputs: Iterable[str]) -> frozenset[str]:
    """Return the relations whose input facts may change.

    These are the `.input` relations, those in `inputs`, which were given facts, and those that no rule with a
    body derives.
    """
    derived = {rule.head.relation for rule in program.rules if rule.body}
    declared = {directive.relation for directive in program.directives if directive.kind == "input"}
    free = program.relations.keys() - derived
    changeable = declared | free | (set(inputs) & program.relations.keys())
    return frozenset(changeable) - fixed_relations(program)


def fixed_relation(name: str) -> Diagnostic:
    """Return what to tell who changes facts, or rules, that the operators of a lattice depend on."""
    return Diagnostic(
        code="fixed-relation",
        message=f"an operator of a lattice depends on `{name}`, which therefore stays as it is",
        hint="open a new session with the other facts and rules",
    )
