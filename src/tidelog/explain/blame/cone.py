"""Which changes a fact can depend on at all, told from the rules without any evaluation."""

from collections.abc import Iterable, Sequence
from typing import Final

from tidelog.explain.blame.ground import Ground
from tidelog.explain.blame.suspects import Suspect
from tidelog.program.nodes import (
    Aggregate,
    Atom,
    Constant,
    Rule,
    Subsumption,
    Term,
    Variable,
)
from tidelog.program.walk_nodes import Node, children, walk
from tidelog.values import Codec

Pattern = tuple[int | None, ...]
# A recursion may ask for one pattern after the other; from so many on it asks for the whole relation.
_MOST_PATTERNS: Final = 64


class Cones:
    """The suspects that a fact's being there is a function of: all others may be as they like.

    A pattern of a relation asks for the patterns of the atoms that its rules could match, down to
    the suspects that match; it holds for every construct of the language. Where facts of a relation
    have a say on each other (a choice, a subsumption, an equivalence, a lattice) the whole relation
    is asked for.
    """

    def __init__(self, ground: Ground, codec: Codec, suspects: Sequence[Suspect]) -> None:
        program = ground.program
        self._codec = codec
        self._laws = ground.laws
        self._groups = ground.engine.groups.aggregates
        self._by_relation: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        for number, suspect in enumerate(suspects):
            self._by_relation.setdefault(suspect.key[0], []).append((number, suspect.key[1]))
        self._rules: dict[str, list[Rule | Subsumption]] = {}
        for stratum in program.strata:
            for rule in stratum.rules:
                self._rules.setdefault(rule.head.relation, []).append(rule)
            for subsumption in stratum.subsumptions:
                self._rules.setdefault(subsumption.less.relation, []).append(subsumption)
        for name, aggregate in self._groups.items():
            if aggregate.some is not None:
                # The groups that are not empty have no rules of their own.
                self._rules[aggregate.some] = self._rules.get(name, [])
        self._known: dict[tuple[str, Pattern], frozenset[int]] = {}

    def of(self, key: tuple[str, Pattern]) -> frozenset[int]:
        """Return the numbers of the suspects that decide which facts of a pattern are there."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._search(key)
        return found

    def _search(self, key: tuple[str, Pattern]) -> frozenset[int]:
        found: set[int] = set()
        asked: dict[str, set[Pattern]] = {}
        waiting: list[tuple[str, Pattern]] = [key]
        while waiting:
            name, pattern = waiting.pop()
            if name in self._groups:
                # Whatever the value: it depends on all of the group.
                width = len(self._groups[name].group_types)
                pattern = (*pattern[:width], *(None for _ in pattern[width:]))
            if name in self._laws or len(asked.get(name, ())) >= _MOST_PATTERNS:
                pattern = (None,) * len(pattern)
            known = asked.setdefault(name, set())
            if any(_covers(other, pattern) for other in known):
                continue
            known.add(pattern)
            found.update(n for n, codes in self._by_relation.get(name, ()) if _covers(pattern, codes))
            for rule in self._rules.get(name, ()):
                waiting += self._asks(rule, pattern)
        return frozenset(found)

    def _asks(self, rule: Rule | Subsumption, pattern: Pattern) -> Iterable[tuple[str, Pattern]]:
        """Yield the patterns that a rule's atoms have when its head has this one."""
        known: dict[str, int] = {}
        if isinstance(rule, Rule):
            # The rules of an aggregate have the group and the target in their heads, if there is one.
            for term, code in zip(rule.head.terms, pattern, strict=False):
                if code is None:
                    continue
                if isinstance(term, Variable):
                    if known.setdefault(term.name, code) != code:
                        return
                elif isinstance(term, Constant) and self._code(term) != code:
                    return
            yield from self._atoms((*rule.head.terms, *rule.body), known)
        else:
            yield from self._atoms((rule,), known)

    def _atoms(self, nodes: Iterable[Node], known: dict[str, int]) -> Iterable[tuple[str, Pattern]]:
        shared: dict[int, tuple[str, ...]] = {}
        for node in walk(nodes):
            if isinstance(node, Aggregate):
                # Its other variables are its own, whatever they are called outside.
                shared.update({id(inner): node.outer for inner in walk(children(node))})
            if isinstance(node, Atom):
                outer = shared.get(id(node))
                bound = known if outer is None else {name: known[name] for name in outer if name in known}
                yield node.relation, tuple(self._known_code(term, bound) for term in node.terms)

    def _known_code(self, term: Term, known: dict[str, int]) -> int | None:
        match term:
            case Variable(name=name):
                return known.get(name)
            case Constant():
                return self._code(term)
        return None

    def _code(self, constant: Constant) -> int:
        return self._codec.encode(constant.value, constant.type)


def _covers(pattern: Pattern, other: Pattern) -> bool:
    return all(code is None or code == asked for code, asked in zip(pattern, other, strict=True))
