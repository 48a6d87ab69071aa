"""What `.proofs` records: the relations that proofs of a relation lead through, and where they end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.flat_terms import literals_of
from tidelog.program.flatten_bodies import NONE
from tidelog.program.flatten_rules import ConjunctiveRule
from tidelog.program.proof_options import ProofOptions, read_options
from tidelog.program.rename_items import Plain
from tidelog.program.strongly_connected import strongly_connected
from tidelog.program.suggest import undeclared_relation
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import Node, children, deep_atoms, walk, walk_down

# What `step` has in the place of a rule: for input facts, and for facts that a law decides about.
INPUT: Final = "input"
LAW: Final = "law"


@dataclass(frozen=True, slots=True)
class ProofCone:
    """The relation that a `.proofs` names, and what proofs of it rest on.

    `derived` are the relations whose derivations are steps, `leaves` those whose facts are not looked
    into, with the word that their steps have for a rule. `lattices` has the positions of lattice columns;
    `recursive` are the derived relations whose facts rest on others of the same stratum.
    """

    relation: str
    derived: frozenset[str]
    leaves: Mapping[str, str]
    lattices: Mapping[str, tuple[int, ...]]
    recursive: frozenset[str]
    options: ProofOptions
    span: Span = field(compare=False, repr=False)

    @property
    def step(self) -> str:
        """Return the name of the relation of steps."""
        return f"{self.relation}.step"

    @property
    def premise(self) -> str:
        """Return the name of the relation of premises."""
        return f"{self.relation}.premise"

    @property
    def made(self) -> tuple[str, ...]:
        """Return the names of the relations that others read."""
        return (self.step, self.premise, self.size)

    @property
    def size(self) -> str:
        """Return the name of the relation of sizes."""
        return f"{self.relation}.size"

    @property
    def cost(self) -> str:
        """Return the name of the relation of all steps with their sizes, of which the smallest are kept."""
        return f"_cost.{self.relation}"

    def has_facts_of(self, relation: str) -> bool:
        """Say whether facts of a relation are premises."""
        return relation in self.derived or relation in self.leaves


def find_cones(
    items: Sequence[Plain], rules: Sequence[ConjunctiveRule]
) -> tuple[dict[str, ProofCone], list[Diagnostic]]:
    """Return the cone of each relation that a `.proofs` names, and what is wrong with these directives."""
    finder = _Finder(items, rules)
    directives = [
        item for item in items if isinstance(item, tree.Directive) and item.kind is tree.DirectiveKind.PROOFS
    ]
    diagnostics: list[Diagnostic] = []
    cones: dict[str, ProofCone] = {}
    for item in directives:
        if item.relation not in finder.relations:
            diagnostics.append(undeclared_relation(item.relation, finder.relations, item.span))
        elif item.relation in cones:
            diagnostics.append(_twice(item, cones[item.relation].span))
        else:
            names = [*finder.relations, *(name for name, _ in named_rules(rules))]
            options, found = read_options(item, names)
            diagnostics.extend(found)
            cones[item.relation] = finder.cone(item, options)
    for cone in cones.values():
        diagnostics.extend(finder.mistakes(cone, cones))
    return cones, diagnostics


class _Finder:
    """The relations of a program and what their rules read."""

    def __init__(self, items: Sequence[Plain], rules: Sequence[ConjunctiveRule]) -> None:
        self.relations = {item.name: item for item in items if isinstance(item, tree.RelationDeclaration)}
        self.inputs: dict[str, tree.Directive] = {}
        self.limited: set[str] = set()
        self.stateful: set[str] = set()
        for item in items:
            if isinstance(item, tree.Directive) and item.kind is tree.DirectiveKind.INPUT:
                self.inputs[item.relation] = item
            elif isinstance(item, tree.Directive) and item.kind is tree.DirectiveKind.LIMITSIZE:
                self.limited.add(item.relation)
            elif isinstance(item, tree.FunctorDeclaration) and item.is_stateful:
                self.stateful.add(item.name)
        self.rules: dict[str, list[ConjunctiveRule]] = {}
        for rule in rules:
            self.rules.setdefault(rule.head.relation, []).append(rule)

    def cone(self, directive: tree.Directive, options: ProofOptions) -> ProofCone:
        derived: set[str] = set()
        leaves: dict[str, str] = {}
        waiting = [directive.relation]
        while waiting:
            name = waiting.pop()
            if name in derived or name in leaves or name not in self.relations:
                continue
            word = self._leaf_word(name)
            if word is not None:
                leaves[name] = word
                continue
            derived.add(name)
            for rule in self.rules[name]:
                waiting.extend(atom.relation for atom in premise_atoms(rule))
        ordered = {name: leaves[name] for name in self.relations if name in leaves}
        lattices = {
            name: tuple(place for place, column in enumerate(relation.columns) if column.is_lattice)
            for name, relation in self.relations.items()
        }
        recursive = self._recursive(derived)
        return ProofCone(
            directive.relation, frozenset(derived), ordered, lattices, recursive, options, directive.span
        )

    def _recursive(self, derived: set[str]) -> frozenset[str]:
        graph = {
            name: [
                atom.relation
                for rule in self.rules[name]
                for atom in premise_atoms(rule)
                if atom.relation in derived
            ]
            for name in self.relations
            if name in derived
        }
        parts = strongly_connected(graph)
        return frozenset(name for part in parts for name in part if len(part) > 1 or name in graph[name])

    def _leaf_word(self, name: str) -> str | None:
        """Return what decides about the facts of a relation if not its rules alone."""
        relation = self.relations[name]
        rules = self.rules.get(name, [])
        has_law = relation.choices or "eqrel" in relation.qualifiers or name in self.limited
        if has_law or any(column.is_lattice for column in relation.columns):
            return LAW if any(rule.body for rule in rules) else INPUT
        if any(rule.greater is not None or self._counts(rule) for rule in rules):
            return LAW
        return None if any(rule.body for rule in rules) else INPUT

    def _counts(self, rule: ConjunctiveRule) -> bool:
        """Say whether a rule gives other values when it is applied again."""
        return any(
            isinstance(node, tree.Counter)
            or (isinstance(node, tree.UserApplication) and node.name in self.stateful)
            for node in walk(literals_of(rule))
        )

    def mistakes(self, cone: ProofCone, cones: Mapping[str, ProofCone]) -> Iterator[Diagnostic]:
        for name in sorted(cone.derived):
            relation = self.relations[name]
            if name in self.inputs:
                yield mixed_proofs(name, self.inputs[name].span)
            if "inline" in relation.qualifiers and "no_inline" not in relation.qualifiers:
                yield Diagnostic(
                    code="inlined-directive",
                    message=f"`.proofs {cone.relation}` needs the facts of `{name}`, which is inlined",
                    span=cone.span,
                    hint=f"remove `inline` from `{name}`",
                    related=(("declared here", relation.span),),
                )
            if cone.options.metrics and any(map(_aggregates, self.rules[name])):
                yield _behind_aggregate(cone, name)
        yield from self._recursion(cone, cones)

    def _recursion(self, cone: ProofCone, cones: Mapping[str, ProofCone]) -> Iterator[Diagnostic]:
        """Yield a diagnostic if the relation depends, in whatever way, on its own proofs."""
        made = {name: each.relation for each in cones.values() for name in each.made}
        seen = {cone.relation}
        waiting = [cone.relation]
        while waiting:
            name = waiting.pop()
            if name in made:
                reads: Iterator[tree.Atom | None] = iter((None,))
            else:
                reads = (atom for rule in self.rules.get(name, ()) for atom in deep_atoms(literals_of(rule)))
            for atom in reads:
                read = made[name] if atom is None else atom.relation
                if atom is not None and made.get(read) == cone.relation:
                    yield _recursive(cone.relation, name, atom)
                    return
                if read not in seen:
                    seen.add(read)
                    waiting.append(read)


def premise_atoms(rule: ConjunctiveRule) -> Iterator[tree.Atom]:
    """Yield the positive atoms of a rule's body, those in its aggregates included."""
    nodes: Sequence[Node] = (*rule.head.terms, *rule.body)
    for node in walk_down(nodes, _not_negated):
        if isinstance(node, tree.Atom):
            yield node


def _not_negated(node: Node) -> Sequence[Node]:
    if isinstance(node, tree.Negation) or (isinstance(node, tree.Aggregate) and node.functor == NONE):
        return ()
    return children(node)


def mixed_proofs(name: str, span: Span | None) -> Diagnostic:
    """Return what to tell where a derived relation with recorded steps is given input facts."""
    return Diagnostic(
        code="mixed-proofs",
        message=f"`{name}` is derived by rules whose steps `.proofs` records, so it takes no input facts",
        span=span,
        hint=f"give these facts to a relation of their own, with a rule: `{name}(...) :- {name}_input(...).`",
    )


def named_rules(rules: Iterable[ConjunctiveRule]) -> Iterator[tuple[str, ConjunctiveRule]]:
    """Yield the rules with the names that proofs quote them by, such as `path#2`."""
    places: dict[str, int] = {}
    for rule in rules:
        if rule.greater is None:
            relation = rule.head.relation
            places[relation] = places.get(relation, 0) + 1
            yield f"{relation}#{places[relation]}", rule


def _aggregates(rule: ConjunctiveRule) -> bool:
    """Say whether a rule has an aggregate that rests on facts."""
    return any(isinstance(node, tree.Aggregate) and node.functor != NONE for node in walk(literals_of(rule)))


def _behind_aggregate(cone: ProofCone, name: str) -> Diagnostic:
    return Diagnostic(
        code="bad-proofs",
        message=f"`{name}` is derived by an aggregate, so that no sizes of its proofs are kept",
        span=cone.span,
        hint=f'leave out the metric, or search when you ask: db.why("{cone.relation}(...)", metric=...)',
    )


def _twice(directive: tree.Directive, first: Span) -> Diagnostic:
    return Diagnostic(
        code="bad-proofs",
        message=f"the proofs of `{directive.relation}` are asked for twice",
        span=directive.span,
        hint="delete one of the directives",
        related=(("first asked for here", first),),
    )


def _recursive(relation: str, reader: str, atom: tree.Atom) -> Diagnostic:
    how = "reads" if reader == relation else f"depends on `{reader}`, which reads"
    return Diagnostic(
        code="recursive-proofs",
        message=f"`{relation}` {how} `{atom.relation}`, the proofs of `{relation}` itself",
        span=atom.span,
        hint=f"read `{atom.relation}` only in rules of relations that `{relation}` does not depend on",
    )
