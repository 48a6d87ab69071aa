"""From a tree as written to a checked program."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tidelog.errors import Diagnostic, Severity, raise_if_any
from tidelog.program import nodes
from tidelog.program.check_arity import check_arity
from tidelog.program.check_columns import check_columns
from tidelog.program.check_counters import check_counters
from tidelog.program.check_directives import check_directives
from tidelog.program.check_division import check_division
from tidelog.program.check_lattice_tables import check_lattice_tables
from tidelog.program.check_monotone import check_monotone
from tidelog.program.check_patterns import check_patterns
from tidelog.program.check_plan import check_plan
from tidelog.program.check_relations import check_relations
from tidelog.program.check_safety import check_safety
from tidelog.program.check_single_variables import check_single_variables
from tidelog.program.check_sources import check_sources
from tidelog.program.check_strata import check_strata
from tidelog.program.check_subsumption import check_subsumption
from tidelog.program.check_unknown_types import check_unknown_types
from tidelog.program.declare_lattices import declare_lattices
from tidelog.program.declare_relations import declare_relations
from tidelog.program.declare_types import TypeDeclaration, declare_types
from tidelog.program.draft import Draft
from tidelog.program.expand_components import expand_components
from tidelog.program.expand_lookups import expand_lookups
from tidelog.program.expand_proofs import expand_proofs
from tidelog.program.flatten_rules import flatten_rules
from tidelog.program.ground_witnesses import ground_witnesses
from tidelog.program.inline_relations import inline_relations
from tidelog.program.lattice_tables import table_functors
from tidelog.program.meet_lattices import meet_lattices
from tidelog.program.resolve_rules import resolve_rules
from tidelog.program.stratify import stratify
from tidelog.program.virtual_relations import define_virtual_relations
from tidelog.syntax.tree import SyntaxTree

CHECKS: Final[tuple[Callable[[Draft], Iterator[Diagnostic]], ...]] = (
    check_relations,
    check_arity,
    check_columns,
    check_subsumption,
    check_plan,
    check_patterns,
    check_division,
    check_safety,
    check_strata,
    check_lattice_tables,
    check_monotone,
    check_counters,
    check_directives,
    check_sources,
    check_single_variables,
)


def build_program(tree: SyntaxTree) -> tuple[nodes.Program, tuple[Diagnostic, ...]]:
    """Return the checked program and the warnings about it.

    Raises `TidelogError` with every mistake found and every warning, in the order of the text.
    """
    draft, diagnostics = make_draft(tree)
    for check in CHECKS:
        diagnostics.extend(check(draft))
    if not any(each.severity is Severity.ERROR for each in diagnostics):
        diagnostics.extend(found for rule in draft.rules for found in check_unknown_types(rule))
    warnings = raise_if_any(_in_order(diagnostics))
    declarations = draft.declarations
    program = nodes.Program(
        types=declarations.types.table,
        relations=draft.relations,
        strata=draft.strata,
        directives=declarations.directives,
        functors={**declarations.functors, **table_functors(draft.lattices)},
        lattices=draft.lattices,
        pragmas=declarations.pragmas,
        proved=draft.proved,
    )
    return program, warnings


def make_draft(tree: SyntaxTree) -> tuple[Draft, list[Diagnostic]]:
    """Return the program at every stage, and what the passes found wrong."""
    diagnostics: list[Diagnostic] = []
    expanded, found = expand_components(tree.items)
    diagnostics.extend(found)
    looked_up, found = expand_lookups(expanded)
    diagnostics.extend(found)
    flat, found = flatten_rules(defined := define_virtual_relations(looked_up))
    diagnostics.extend(found)
    proofs, found = expand_proofs(defined, flat)
    diagnostics.extend(found)
    items = proofs.items
    types, found = declare_types(items)
    diagnostics.extend(found)
    known_types = [*types.table, *(item.name for item in items if isinstance(item, TypeDeclaration))]
    declarations, found = declare_relations(items, types, known_types)
    diagnostics.extend(found)
    lattices, found = declare_lattices(declarations)
    diagnostics.extend(found)
    typed, found = resolve_rules(proofs.rules, declarations)
    diagnostics.extend(found)
    met = (meet_lattices(rule, declarations, lattices) for rule in typed.rules)
    grounded = tuple(map(ground_witnesses, met))
    inlined, found = inline_relations(replace(typed, rules=grounded), declarations)
    diagnostics.extend(found)
    rules = inlined.rules.rules
    relations = {
        name: relation for name, relation in declarations.relations.items() if name not in inlined.relations
    }
    relations.update((made.name, made) for made in typed.made_relations)
    strata = stratify(relations, rules)
    draft = Draft(
        items, declarations, tuple(flat), typed.rules, rules, relations, strata, lattices, proofs.proved
    )
    return draft, diagnostics


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Return each diagnostic once, in the order of the text.

    A rule with several heads or alternatives repeats what is wrong with its parts, and a variable
    that nothing binds need not be told to occur once.
    """
    unbound = {_place(each) for each in diagnostics if each.code == "unbound-variable"}
    kept: dict[tuple[object, ...], Diagnostic] = {}
    for each in diagnostics:
        if each.code != "single-variable" or _place(each) not in unbound:
            kept.setdefault((each.code, each.message, _place(each)), each)
    return sorted(kept.values(), key=_place)


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    span = diagnostic.span
    return ("", 0, 0) if span is None else (span.source.name, span.start, span.end)
