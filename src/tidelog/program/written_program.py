"""The rules of a program before relations are inlined: the ones a proof quotes."""

from collections.abc import Iterable
from dataclasses import replace

from tidelog.program import nodes
from tidelog.program.declare_lattices import declare_lattices
from tidelog.program.declare_relations import declare_relations
from tidelog.program.declare_types import TypeDeclaration, declare_types
from tidelog.program.expand_components import expand_components
from tidelog.program.expand_lookups import expand_lookups
from tidelog.program.expand_proofs import expand_proofs
from tidelog.program.flatten_rules import flatten_rules
from tidelog.program.ground_witnesses import ground_witnesses
from tidelog.program.meet_lattices import meet_lattices
from tidelog.program.resolve_rules import resolve_rules
from tidelog.program.stratify import stratify
from tidelog.syntax import tree


def written_program(text: tree.SyntaxTree, checked: nodes.Program) -> nodes.Program:
    """Return the program with every relation and rule that was written, inlined ones too.

    `checked` is what `build_program` made of the same text; it is the answer where nothing asks to be
    inlined. Relations that only the answer has are inlined in `checked`: no engine holds their facts,
    and their rules need not bind all their variables.
    """
    if not _has_inline(text.items):
        return checked
    expanded, _ = expand_components(text.items)
    looked_up, _ = expand_lookups(expanded)
    flat, _ = flatten_rules(looked_up)
    proofs, _ = expand_proofs(looked_up, flat)
    items = proofs.items
    types, _ = declare_types(items)
    known_types = [*types.table, *(item.name for item in items if isinstance(item, TypeDeclaration))]
    declarations, _ = declare_relations(items, types, known_types)
    lattices, _ = declare_lattices(declarations)
    typed, _ = resolve_rules(proofs.rules, declarations)
    met = (meet_lattices(rule, declarations, lattices) for rule in typed.rules)
    rules = tuple(map(ground_witnesses, met))
    relations = {**declarations.relations, **{made.name: made for made in typed.made_relations}}
    return replace(checked, relations=relations, strata=stratify(relations, rules))


def _has_inline(items: Iterable[tree.Item]) -> bool:
    return any(
        (isinstance(item, tree.RelationDeclaration) and "inline" in item.qualifiers)
        or (isinstance(item, tree.Component) and _has_inline(item.items))
        for item in items
    )
