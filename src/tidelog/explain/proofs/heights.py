"""Proofs of minimal height, from iterations that are heights.

The engine runs a program whose strata were merged so that, in most relations, the iteration of a fact is
the height of its smallest proof (`plan.heights`); maintenance keeps it so from epoch to epoch. The facts
of other relations, those behind aggregates, laws and some negations, are few as a rule: their heights are
found when asked for, by a search that ends at facts whose height is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.cone import Place
from tidelog.explain.proofs.metric import HEIGHT, no_smallest_proof, smallest_steps
from tidelog.explain.proofs.proof import Explorer
from tidelog.explain.proofs.prover import Prover
from tidelog.explain.proofs.source import FactSource, Level, OtherLevels
from tidelog.explain.proofs.steps import Step
from tidelog.values import Fact, Value


@dataclass
class Heights:
    """The heights of facts, and the steps that attain those that had to be searched for.

    `prover` finds steps by levels; in the relations of `exact` the iteration is the height.
    """

    prover: Prover
    exact: frozenset[str]
    found: dict[Place, tuple[int, Step]] = field(default_factory=dict)
    asserted: dict[GroundAtom, Step] = field(default_factory=dict)

    def known(self, atom: GroundAtom) -> int | None:
        """Return a height that needs no search."""
        if atom.relation in self.exact:
            level = self.prover.source.level(atom.relation, atom.fact)
            return None if level is None else level[1]
        found = self.found.get((atom, None, False))
        return None if found is None else found[0]

    def height(self, atom: GroundAtom) -> int:
        """Return the height of a fact that holds."""
        known = self.known(atom)
        return self._search((atom, None, False))[0] if known is None else known

    def step(self, atom: GroundAtom, *, asserted: bool) -> Step:
        """Return the step that attains the height of a fact that is not exact.

        An asserted one belongs to a step that was found before.
        """
        return self.asserted[atom] if asserted else self._search((atom, None, False))[1]

    def _search(self, place: Place) -> tuple[int, Step]:
        if place not in self.found:
            for each, result in smallest_steps(self.prover, place[0], HEIGHT, known=self.known).items():
                atom, _, asserted = each
                if asserted:
                    self.asserted.setdefault(atom, result[1])
                elif atom.relation not in self.exact:
                    self.found.setdefault(each, result)
        if place not in self.found:
            raise TidelogError([no_smallest_proof(place[0])])
        return self.found[place]


class HeightFacts(OtherLevels):
    """A source whose levels are heights; see `FactSource` and `Searching`."""

    def __init__(self, source: FactSource, heights: Heights) -> None:
        super().__init__(source)
        self._heights = heights

    def contains(self, relation: str, fact: Fact) -> bool:
        """Say whether the fact holds."""
        return self._source.contains(relation, fact)

    def matches(self, relation: str, bound: Mapping[int, Value]) -> Iterator[Fact]:
        """Yield the facts with these values in these columns."""
        return self._source.matches(relation, bound)

    def count(self, relation: str, bound: Mapping[int, Value]) -> int:
        """Return at least the number of matching facts."""
        return self._source.count(relation, bound)

    def level(self, relation: str, fact: Fact) -> Level | None:
        """Return the height as an iteration of one stratum for all."""
        return 0, self._heights.height(GroundAtom(relation, fact))

    def searches(self, relation: str) -> bool:
        """Say whether the rows of a relation know their heights."""
        searching = self._searching
        return searching is not None and relation in self._heights.exact and searching.searches(relation)


@dataclass
class HeightExplorer(Explorer):
    """Nodes whose steps attain the height of their facts."""

    heights: Heights | None = None

    def step(self, key: Place) -> Step:
        """Return the step of a node."""
        atom, _, asserted = key
        assert self.heights is not None
        book = self.prover.book
        if asserted or (book.is_stored(atom.relation) and atom.relation not in self.heights.exact):
            return self.heights.step(atom, asserted=asserted)
        return super().step(key)
