"""A program that is built but not checked yet."""

from collections.abc import Mapping

from tidelog.dataclass import dataclass
from tidelog.program import nodes
from tidelog.program.declare_relations import Declarations
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.rename_items import Plain
from tidelog.program.resolve_rules import TypedRule


@dataclass(frozen=True, slots=True)
class Draft:
    """What checks look at: the same program at every stage.

    `items` are as written, without components; `flat` its rules without disjunction; `typed` those
    with types, and those that `.proofs` makes; `rules` what is left when inlined relations are gone;
    `relations` those of `rules`.
    """

    items: tuple[Plain, ...]
    declarations: Declarations
    flat: tuple[ConjunctiveRule, ...]
    typed: tuple[TypedRule, ...]
    rules: tuple[TypedRule, ...]
    relations: Mapping[str, nodes.Relation]
    strata: tuple[nodes.Stratum, ...]
    lattices: Mapping[str, nodes.Lattice]
    proved: frozenset[str]
