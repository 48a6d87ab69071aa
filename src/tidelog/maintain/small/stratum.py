"""One stratum on its own, as kernels read it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from tidelog.engine.local.by_row import layout
from tidelog.engine.local.by_row.stratum import StratumLayout
from tidelog.engine.local.by_row.sync import Sync
from tidelog.engine.local.by_row.tables import AnyArray, StrataTables
from tidelog.engine.local.derive import LocalDerivations
from tidelog.maintain.small.listing import list_derivations
from tidelog.maintain.small.proving import (
    FOUND_FIRST,
    Met,
    SearchState,
    Waiting,
    prove_facts,
    spread_certainty,
)
from tidelog.plan.flatten import FlatRule
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import Int64s
from tidelog.storage.structs import Structs, addresses_of, words_of

Result = TypeVar("Result")


class SmallStratum(StrataTables):
    """The tables of one stratum on its own: its relations come first in `names`, then those it reads.

    `forward` are its chains by rule and place of a literal, those from heads are `backs`.
    """

    def __init__(
        self,
        rules: Sequence[FlatRule],
        own: Sequence[str],
        relations: Mapping[str, StoredRelation],
        derivations: LocalDerivations,
    ) -> None:
        names = list(dict.fromkeys([*own, *(x.relation for rule in rules for x in rule.literals)]))
        super().__init__(names, relations, [len(own)], [set(names) - set(own)])
        self.forward = StratumLayout(self, 0, own, rules, derivations).enter()
        # Kernels also visit rows that are facts in other worlds.
        self.literals["must_check"] = 1
        self._sync = Sync(self, marks_of=None)
        self._idle: list[tuple[AnyArray, ...]] = []

    def refresh(self, relations: Mapping[str, StoredRelation]) -> None:
        """Update addresses, sizes and counts; afterwards indexes cover all rows."""
        self._sync.write(relations)

    def chains_back(self, name: str) -> Int64s:
        """Return the chains from the head of a relation of the stratum."""
        relation = self.relations[self.numbers[name]]
        return self.backs[relation["first_back"] : relation["first_back"] + relation["back_count"]]

    def run(self, kernel: Callable[..., Result], *arguments: object) -> Result:
        """Run a kernel over the tables; concurrent threads have registers of their own."""
        try:
            arrays = self._idle.pop()
        except IndexError:
            arrays = self.arrays(np.zeros(1, words_of(layout.Counters)))
            arrays = addresses_of(*arrays), *arrays
        try:
            return kernel(arrays[0], self.like, *arguments)
        finally:
            self._idle.append(arrays)

    def list(self, chains: Int64s, rows: Int64s, found: Int64s, ends: Int64s) -> int:
        """Write the outputs of chains from rows; see `list_derivations`."""
        return int(self.run(list_derivations, chains, rows, found, ends))

    def prove(
        self, marks: Structs, begun: Sequence[tuple[int, int]], search: int, *, assumes: bool, room: int
    ) -> tuple[Int64s, Structs]:
        """Return a line for each fact of the stratum that proofs of some facts use, and what else they use.

        The facts are relations and rows; `room` is the expected number of facts.
        """
        waiting = np.zeros(max(room, len(begun)), words_of(Waiting))
        waiting[: len(begun)] = np.array(begun, waiting.dtype)
        met = np.zeros(room, words_of(Met))
        found = np.full((room, FOUND_FIRST + int(self.rules["literal_count"].max(initial=0))), -1, np.int64)
        progress = np.zeros(1, words_of(SearchState))
        progress["waiting"], progress["search"] = len(begun), search
        while True:
            searched = addresses_of(marks, waiting, met, progress)
            if self.run(prove_facts, searched, found, int(assumes)) == layout.DONE:
                return found[: progress["found"][0]], met[: progress["met"][0]]
            waiting, met = (np.concatenate([each, np.zeros_like(each)]) for each in (waiting, met))
            found = np.concatenate([found, np.full_like(found, -1)])

    def spread_certainty(self, marks: Structs, lines: Int64s, order: Int64s) -> None:
        """Mark the proved facts whose proofs rest only on facts that hold in every world."""
        self.run(spread_certainty, addresses_of(marks), lines, order)
