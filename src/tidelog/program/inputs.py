"""The relations of a program that have input facts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import written
from tidelog.program.nodes import Directive, Program
from tidelog.program.suggest import did_you_mean


def name_inputs(program: Program, inputs: Sequence[str]) -> Program:
    """Return the program with every relation that is given facts named as an input.

    Engines may leave out what no rule and no input can fill, so they are told first.
    """
    unknown = [name for name in inputs if name not in program.relations]
    if unknown:
        raise TidelogError(_undeclared(name, program) for name in unknown)
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
    return frozenset(declared | free | (set(inputs) & program.relations.keys()))


def _undeclared(name: str, program: Program) -> Diagnostic:
    return Diagnostic(
        code="undeclared-relation",
        message=f"facts are given for `{written(name)}`, which the program does not declare",
        hint=did_you_mean(written(name), program.relations, f"declare it: .decl {written(name)}(...)"),
    )
