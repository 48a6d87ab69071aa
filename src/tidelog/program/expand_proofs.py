"""Pass: `.proofs path` becomes relations with the steps of all proofs of `path`, and rules that derive them.

    .proofs path
    path(x, z) :- path(x, y), edge(y, z).

    path.step([name, fact, [_, [_, nil]]], fact, name)

has a fact for each derivation of `path` and of what its proofs rest on. These are ordinary relations above
`path`, so that every engine evaluates them and every strategy follows their changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.proof_cones import ProofCone, find_cones, named_rules
from tidelog.program.proof_sizes import all_sizes, declare_sizes, least_offers, size_type
from tidelog.program.proof_steps import derived_step, leaf_step, premise_rules, smallest_steps
from tidelog.program.rename_items import Plain
from tidelog.source import Span
from tidelog.syntax import tree

# The types that all proof relations share; no type that a user declares has a dot in its name.
FACT: Final = "proof.fact"
FACTS: Final = "proof.facts"
STEP: Final = "proof.step"


@dataclass(frozen=True, slots=True)
class ExpandedProofs:
    """A program in which `.proofs` is declarations and rules.

    `rules` are those of the program, then those made here. `proved` are the derived relations whose steps are
    recorded: an input fact of one could not be told from a derived fact.
    """

    items: tuple[Plain, ...]
    rules: tuple[ConjunctiveRule, ...]
    proved: frozenset[str]


def expand_proofs(
    items: Sequence[Plain], rules: Sequence[ConjunctiveRule]
) -> tuple[ExpandedProofs, list[Diagnostic]]:
    """Return the program without `.proofs`, and what is wrong with it.

    `rules` are the flat rules of `items`. A program without `.proofs` is returned as it is.
    """
    if not any(_is_proofs(item) for item in items):
        return ExpandedProofs(tuple(items), tuple(rules), frozenset()), []
    cones, diagnostics = find_cones(items, rules)
    relations = {item.name: item for item in items if isinstance(item, tree.RelationDeclaration)}
    made_items: list[Plain] = []
    made_rules: list[ConjunctiveRule] = []
    if cones:
        made_items.extend(_types(relations, next(iter(cones.values())).span))
        if any(cone.options.metrics for cone in cones.values()):
            made_items.extend(size_type(next(iter(cones.values())).span))
    for cone in cones.values():
        made_items.extend(_declarations(cone, relations))
        made_rules.extend(_rules(cone, relations, rules))
    kept = tuple(item for item in items if not _is_proofs(item))
    proved = frozenset(name for cone in cones.values() for name in cone.derived)
    return ExpandedProofs((*kept, *made_items), (*rules, *made_rules), proved), diagnostics


def _is_proofs(item: Plain) -> bool:
    return isinstance(item, tree.Directive) and item.kind is tree.DirectiveKind.PROOFS


def _types(relations: Mapping[str, tree.RelationDeclaration], span: Span) -> Iterator[Plain]:
    """Yield the types of facts, of lists of them, and of steps.

    A fact may be of any relation, so that codes keep their meaning when rules come and go.
    """
    branches = tuple(
        tree.BranchDeclaration(
            name,
            tuple(tree.Field(column.name, column.type, span=column.span) for column in relation.columns),
            span=span,
        )
        for name, relation in relations.items()
    )
    yield tree.AlgebraicDeclaration(FACT, branches, span=span)
    first, rest = tree.Field("fact", FACT, span=span), tree.Field("rest", FACTS, span=span)
    yield tree.RecordDeclaration(FACTS, (first, rest), span=span)
    rule, premises = tree.Field("rule", "symbol", span=span), tree.Field("premises", FACTS, span=span)
    yield tree.RecordDeclaration(STEP, (rule, first, premises), span=span)


def _declarations(
    cone: ProofCone, relations: Mapping[str, tree.RelationDeclaration]
) -> Iterator[tree.RelationDeclaration]:
    span = cone.span
    columns: dict[str, tuple[tuple[str, str], ...]] = {
        cone.step: (("id", STEP), ("fact", FACT), ("rule", "symbol")),
        cone.premise: (("id", STEP), ("position", "number"), ("fact", FACT)),
    }
    if cone.options.smallest > 1:
        costs = ((f"cost_{number}", "number") for number in range(len(cone.options.metrics)))
        columns[cone.cost] = (*columns[cone.step], *costs)
    for name, fields in columns.items():
        declared = tuple(tree.Field(column, type_name, span=span) for column, type_name in fields)
        yield tree.RelationDeclaration(name, declared, span=span)
    if cone.options.metrics:
        measured = [relation for name, relation in relations.items() if cone.has_facts_of(name)]
        yield from declare_sizes(cone, measured, FACT)


def _rules(
    cone: ProofCone, relations: Mapping[str, tree.RelationDeclaration], rules: Sequence[ConjunctiveRule]
) -> Iterator[ConjunctiveRule]:
    for name, word in cone.leaves.items():
        yield leaf_step(cone, relations[name], word)
    longest = 0
    for rule_name, rule in named_rules(rules):
        if rule.head.relation in cone.derived:
            step = derived_step(cone, rule_name, rule)
            longest = max(longest, len(step.premises))
            yield step.rule
            yield from step.others
    yield from premise_rules(cone, longest)
    for name in relations if cone.options.metrics else ():
        if cone.has_facts_of(name):
            yield from least_offers(cone, relations[name])
            yield all_sizes(cone, relations[name])
    if cone.options.smallest > 1:
        yield smallest_steps(cone)
