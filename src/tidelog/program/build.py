"""From a tree as written to a checked program."""

from tidelog.errors import Diagnostic, raise_if_any
from tidelog.program import nodes
from tidelog.program.check_safety import check_safety
from tidelog.program.declare_relations import Declarations, declare_relations
from tidelog.program.declare_types import TypeDeclaration, declare_types
from tidelog.program.flatten_rules import flatten_rules
from tidelog.program.resolve_rules import resolve_rules
from tidelog.program.stratify import stratify
from tidelog.syntax.tree import Tree


def build_program(tree: Tree) -> tuple[nodes.Program, tuple[Diagnostic, ...]]:
    """Return the checked program and the warnings about it.

    Raises `TidelogError` with every mistake found and every warning, in the order of the text.
    """
    diagnostics: list[Diagnostic] = []
    types, found = declare_types(tree.items)
    diagnostics.extend(found)
    known_types = [*types.table, *(item.name for item in tree.items if isinstance(item, TypeDeclaration))]
    declarations, found = declare_relations(tree.items, types, known_types)
    diagnostics.extend(found)
    flat, found = flatten_rules(tree.items)
    diagnostics.extend(found)
    typed, found = resolve_rules(flat, declarations)
    diagnostics.extend(found)
    for rule in typed.rules:
        diagnostics.extend(check_safety(rule))
    relations = {**declarations.relations, **{made.name: made for made in typed.made_relations}}
    strata, found = stratify(relations, typed.rules)
    diagnostics.extend(found)
    warnings = raise_if_any(diagnostics)
    return _program(declarations, relations, strata), warnings


def _program(
    declarations: Declarations, relations: dict[str, nodes.Relation], strata: tuple[nodes.Stratum, ...]
) -> nodes.Program:
    return nodes.Program(
        types=declarations.types.table,
        relations=relations,
        strata=strata,
        directives=declarations.directives,
        functors=declarations.functors,
        lattices={},
        pragmas=declarations.pragmas,
    )
