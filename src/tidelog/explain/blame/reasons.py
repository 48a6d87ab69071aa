"""Why facts are there, or not there, in one world: the suspects that this rests on.

A reason is sound for every world: wherever its suspects are taken back, or not, as they are here,
the facts are there, or not there, as they are here.

* A fact is there because of a proof: its input facts must be there, and its negated facts must not.
* Facts are not there because of one another: every derivation that some world may have of any of
  them lacks one of them, lacks an input fact, or has a negated fact that is there.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from tidelog.explain.blame.cone import Cones
from tidelog.explain.blame.explanation import Explanation, Place, Proved, RowDerivation
from tidelog.explain.blame.ground import Ground, as_rows
from tidelog.explain.blame.marks import Marks
from tidelog.explain.blame.suspects import Key, Mask
from tidelog.maintain.small.proving import ASSUMED, FOUND_RELATION, FOUND_ROW, FOUND_RULE, INPUT
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import Int64s
from tidelog.storage.structs import Structs

# Derivations of absent facts that one explanation looks at.
_MOST_DERIVATIONS: Final = 500_000
_FIRST_ROOM: Final = 1024
_Rows = dict[str, list[Int64s]]


class Explainer:
    """Explains facts of the world that the engine stands in, as long as it does.

    All possible facts must be visible to joins. Proofs go around changed facts where they can, and with
    `assumes` stop at all others.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what there is to know about a case
        self, ground: Ground, suspects: Mapping[Key, int], cones: Cones, marks: Marks,
        taken: frozenset[int], end: float = math.inf, *, assumes: bool = False,
    ) -> None:  # fmt: skip
        self._ground = ground
        self._suspects = suspects
        self._cones = cones
        self._marks = marks
        self._taken = taken
        self._assumes = assumes
        self._end = end
        self._search = 0
        self._tables: dict[int, tuple[SmallStratum, Structs] | None] = {}

    def explain(self, facts: Iterable[Key], *, are_there: bool) -> Explanation:
        """Return why the facts are all there, or all not there.

        Raises `TimeoutError` when it is later than the end of the case.
        """
        by_name: dict[str, list[tuple[int, ...]]] = {}
        for name, codes in facts:
            by_name.setdefault(name, []).append(codes)
        return self.explain_rows(
            {name: as_rows(listed) for name, listed in by_name.items()}, are_there=are_there
        )

    def explain_rows(self, facts: Mapping[str, Int64s], *, are_there: bool) -> Explanation:
        """Return the same for facts given as rows of codes."""
        found = Explanation()
        self._search = self._marks.begin_search()
        present: _Rows = {}
        absent: dict[str, set[int]] = {}
        for name, rows in facts.items():
            numbers = self._ground.numbers(name, rows)
            is_known = numbers >= 0
            if are_there:
                self._meet(name, numbers[is_known], present)
            elif is_known.any():
                absent[name] = set(numbers[is_known].tolist())
            if name in self._ground.unsure:
                for row in rows[~is_known].tolist():
                    self._note(self._cones.of((name, tuple(row))), found)
        while present or absent:
            if time.monotonic() > self._end:
                raise TimeoutError
            if present:
                self._prove(present, found, absent)
            else:
                name, asked = absent.popitem()
                self._absent(name, asked - found.absent.get(name, set()), found, present, absent)
        self._remember(found)
        return found

    # --- facts that are there --------------------------------------------------------------------

    def _meet(self, name: str, numbers: Int64s, present: _Rows) -> None:
        """Let facts wait for a proof, unless they hold always or were met already."""
        if name not in self._marks.affected or not numbers.size:
            return
        marks = self._marks.of(name)
        numbers = numbers[(marks.seen[numbers] != self._search) & (marks.certain[numbers] == 0)]
        if numbers.size:
            marks.seen[numbers] = self._search
            # A fact may be asked for twice at once.
            present.setdefault(name, []).append(np.array(sorted(set(numbers.tolist())), np.int64))

    def _prove(self, present: _Rows, found: Explanation, absent: dict[str, set[int]]) -> None:
        """Prove the waiting facts of the highest stratum that has some."""
        ground = self._ground
        highest = max(ground.stratum_of[name] for name in present)
        names = [name for name in present if ground.stratum_of[name] == highest]
        waiting = {name: np.concatenate(present.pop(name)) for name in names}
        if names[0] in ground.opaque:
            for name, numbers in waiting.items():
                self._by_cone(name, numbers, found)
            return
        tables = self._tables_of(highest) if any(ground.rules[name] for name in names) else None
        if tables is not None:
            self._prove_fast(highest, tables, waiting, found, present, absent)
            return
        for name, numbers in waiting.items():
            self._prove_slowly(name, numbers, found, present, absent)

    def _tables_of(self, number: int) -> tuple[SmallStratum, Structs] | None:
        if number not in self._tables:
            small = self._ground.tables.stratum(number)
            if small is not None:
                marks = self._marks.table(small.names)
                # Marks may have added rows of suspects.
                small = self._ground.tables.stratum(number)
            self._tables[number] = None if small is None else (small, marks)
        return self._tables[number]

    def _prove_fast(  # noqa: PLR0913, PLR0917 - where facts come from and go to
        self, number: int, tables: tuple[SmallStratum, Structs], waiting: Mapping[str, Int64s],
        found: Explanation, present: _Rows, absent: dict[str, set[int]],
    ) -> None:  # fmt: skip
        small, marks = tables
        begun = [(small.numbers[name], row) for name, rows in waiting.items() for row in rows.tolist()]
        room = max(_FIRST_ROOM, 2 * len(begun))
        proved, met = small.prove(marks, begun, self._search, assumes=self._assumes, room=room)
        found.proved.append(Proved(number, small, self._ground.stratum_rules[number], proved))
        for kind in (INPUT, ASSUMED):
            chosen = proved[proved[:, FOUND_RULE] == kind]
            for place in set(chosen[:, FOUND_RELATION].tolist()):
                rows = chosen[chosen[:, FOUND_RELATION] == place, FOUND_ROW]
                self._leaves(small.names[place], rows, found, is_input=kind == INPUT)
        for place in set(met["relation"].tolist()):
            own = met[met["relation"] == place]
            is_negated = own["is_negated"] != 0
            name = small.names[place]
            if not is_negated.all():
                present.setdefault(name, []).append(own["row"][~is_negated])
            self._deny(name, own["row"][is_negated].tolist(), found, absent)

    def _leaves(self, name: str, numbers: Int64s, found: Explanation, *, is_input: bool) -> None:
        """Note input facts that are suspects, or facts that are taken for granted."""
        if is_input:
            suspects = self._marks.of(name).suspects
            self._note((suspects[row] for row in numbers.tolist() if row in suspects), found)
        elif numbers.size:
            found.assume(name, self._ground.relation(name).rows[numbers].astype(np.int64))

    def _deny(self, name: str, rows: Iterable[int], found: Explanation, absent: dict[str, set[int]]) -> None:
        """Ask why negated facts are not there; -1 stands for one that has no row."""
        for row in rows:
            if row >= 0:
                absent.setdefault(name, set()).add(row)
            elif name in self._ground.unsure:
                self._by_whole_cone(name, found)

    def _prove_slowly(
        self, name: str, numbers: Int64s, found: Explanation, present: _Rows, absent: dict[str, set[int]]
    ) -> None:
        """Prove facts of one relation, one step deep."""
        marks = self._marks.of(name)
        levels = self._ground.relation(name).levels[numbers]
        if not self._ground.rules[name]:
            # Input facts that nobody suspects hold always.
            is_open = (marks.suspect[numbers] != 0) | (levels != 0)
            numbers, levels = numbers[is_open], levels[is_open]
        if self._assumes:
            is_touched = marks.changed[numbers] != 0
            self._leaves(name, numbers[~is_touched], found, is_input=False)
            numbers, levels = numbers[is_touched], levels[is_touched]
        self._leaves(name, numbers[levels == 0], found, is_input=True)
        for number, derivation in self._proofs(name, numbers[levels != 0]).items():
            found.slow[name, number] = derivation
            for literal, row in zip(derivation.rule.literals, derivation.numbers, strict=True):
                if literal.is_negated:
                    self._deny(literal.relation, (row,), found, absent)
                else:
                    self._meet(literal.relation, np.array([row], np.int64), present)

    def _proofs(self, name: str, numbers: Int64s) -> dict[int, RowDerivation]:
        """Return a derivation of each row from rows of lower level, with few changed facts in it."""
        best: dict[int, tuple[int, RowDerivation]] = {}
        if not numbers.size:
            return {}
        for rule, batch in self._ground.backward(name, numbers):
            valid = batch[self._holds(name, rule, batch)]
            if not len(valid):
                continue
            scores = self._scores(rule, valid)
            order = np.lexsort((scores, valid[:, 0]))
            heads = valid[order, 0]
            firsts = order[np.flatnonzero(np.diff(heads, prepend=-1))]
            for row, score in zip(valid[firsts].tolist(), scores[firsts].tolist(), strict=True):
                if row[0] not in best or score < best[row[0]][0]:
                    best[row[0]] = score, RowDerivation(rule, tuple(row[1:]))
        assert len(best) == numbers.size, "every fact has a proof"
        return {number: derivation for number, (_, derivation) in best.items()}

    def _holds(self, name: str, rule: FlatRule, batch: Int64s) -> Mask:
        """Say of derivations whether they hold here, from rows of lower level than their heads."""
        ground = self._ground
        levels = ground.relation(name).levels[batch[:, 0]]
        holds = np.ones(len(batch), np.bool_)
        for place, literal in enumerate(rule.literals, start=1):
            numbers = batch[:, place]
            of_rows = ground.relation(literal.relation).levels[np.maximum(numbers, 0)]
            if literal.is_negated:
                holds &= (numbers < 0) | (of_rows == ABSENT)
                continue
            holds &= of_rows != ABSENT
            if ground.stratum_of[literal.relation] == ground.stratum_of[name]:
                holds &= of_rows < levels
        return holds

    def _scores(self, rule: FlatRule, batch: Int64s) -> Int64s:
        """Return how many facts of each derivation may be others in other worlds."""
        scores = np.zeros(len(batch), np.int64)
        for place, literal in enumerate(rule.literals, start=1):
            numbers = batch[:, place]
            if literal.is_negated:
                # A row that joins see and that is not a fact here is one in another world.
                scores += numbers >= 0
            else:
                scores += self._marks.of(literal.relation).changed[numbers]
        return scores

    # --- facts that hold in every world ----------------------------------------------------------------

    def _remember(self, found: Explanation) -> None:
        """Mark the facts whose proofs rest on no suspect, those of earlier strata first."""
        stratum_of = self._ground.stratum_of
        slow: dict[int, list[Place]] = {}
        for place in found.slow:
            slow.setdefault(stratum_of[place[0]], []).append(place)
        fast: dict[int, list[Proved]] = {}
        for each in found.proved:
            fast.setdefault(each.stratum, []).append(each)
        for number in sorted({*slow, *fast}):
            for each in fast.get(number, []):
                self._remember_fast(each)
            places = slow.get(number, [])
            levels = {name: self._ground.relation(name).levels for name, _ in places}
            for name, row in sorted(places, key=lambda place: levels[place[0]][place[1]]):
                derivation = found.slow[name, row]
                pairs = zip(derivation.rule.literals, derivation.numbers, strict=True)
                if all(self._is_certain(literal, premise) for literal, premise in pairs):
                    self._marks.of(name).certain[row] = 1

    def _remember_fast(self, proved: Proved) -> None:
        lines = proved.lines
        if not len(lines):
            return
        tables = self._tables[proved.stratum]
        assert tables is not None, "proofs were found with them"
        small, marks = tables
        levels = np.zeros(len(lines), np.int64)
        for place in set(lines[:, FOUND_RELATION].tolist()):
            is_own = lines[:, FOUND_RELATION] == place
            levels[is_own] = self._ground.relation(small.names[place]).levels[lines[is_own, FOUND_ROW]]
        order = np.argsort(levels, kind="stable")
        small.spread_certainty(marks, lines, order)

    def _is_certain(self, literal: RuleLiteral, row: int) -> bool:
        name = literal.relation
        if literal.is_negated:
            return row < 0 and (name not in self._ground.unsure or name not in self._marks.affected)
        return self.is_certain((name, row))

    def is_certain(self, place: Place) -> bool:
        """Say whether a fact is known to hold in every world."""
        name, row = place
        if name not in self._marks.affected:
            return True
        marks = self._marks.of(name)
        if marks.certain[row]:
            return True
        # An input fact that nobody suspects.
        is_input = name not in self._ground.opaque and marks.stored.levels[row] == 0
        return bool(is_input and not marks.suspect[row])

    # --- facts that are not there ------------------------------------------------------------------

    def _absent(
        self, name: str, asked: set[int], found: Explanation, present: _Rows, absent: dict[str, set[int]]
    ) -> None:
        numbers = np.array(sorted(asked), np.int64)
        found.absent.setdefault(name, set()).update(asked)
        if name in self._ground.unsure or found.work > _MOST_DERIVATIONS:
            found.is_bounded |= name not in self._ground.unsure
            self._by_cone(name, numbers, found)
            return
        self._suspected(name, numbers, found)
        open_ones: list[tuple[int, RowDerivation, list[int]]] = []
        for rule, batch in self._ground.backward(name, numbers):
            found.work += len(batch)
            blocked = self._blocked(rule, batch)
            for row, flags in zip(batch.tolist(), blocked.tolist(), strict=True):
                failing = [place for place, is_failing in enumerate(flags) if is_failing]
                assert failing, "a fact with a derivation is there"
                open_ones.append((row[0], RowDerivation(rule, tuple(row[1:])), failing))
        for head, derivation, place in self._choose(open_ones, found):
            found.failures.setdefault((name, head), []).append((derivation, place))
            literal, row = derivation.rule.literals[place], derivation.numbers[place]
            if literal.is_negated:
                self._meet(literal.relation, np.array([row], np.int64), present)
            else:
                absent.setdefault(literal.relation, set()).add(row)

    def _blocked(self, rule: FlatRule, batch: Int64s) -> Mask:
        """Say of each literal of derivations whether it fails here."""
        blocked = np.zeros((len(batch), len(rule.literals)), np.bool_)
        for place, literal in enumerate(rule.literals):
            numbers = batch[:, place + 1]
            of_rows = self._ground.relation(literal.relation).levels[np.maximum(numbers, 0)]
            if literal.is_negated:
                blocked[:, place] = (numbers >= 0) & (of_rows != ABSENT)
            else:
                blocked[:, place] = of_rows == ABSENT
        return blocked

    def _choose(
        self, open_ones: list[tuple[int, RowDerivation, list[int]]], found: Explanation
    ) -> list[tuple[int, RowDerivation, int]]:
        """Return which literal fails in each derivation: as few facts as possible altogether.

        Facts that are explained already cost nothing; then the one that fails in most derivations is
        taken, an input fact before a derived one, until all are covered.
        """
        chosen: list[tuple[int, RowDerivation, int]] = []
        left = []
        for each in open_ones:
            head, derivation, failing = each
            free = [place for place in failing if self._is_explained(derivation, place, found)]
            if free:
                chosen.append((head, derivation, free[0]))
            else:
                left.append(each)
        while left:
            counts = Counter(
                _place(derivation, place) for _, derivation, failing in left for place in failing
            )
            best = max(
                counts, key=lambda each: (counts[each], each[0] and not self._ground.rules[each[1]], each)
            )
            kept = []
            for head, derivation, failing in left:
                places = [place for place in failing if _place(derivation, place) == best]
                if places:
                    chosen.append((head, derivation, places[0]))
                else:
                    kept.append((head, derivation, failing))
            left = kept
        return chosen

    def _is_explained(self, derivation: RowDerivation, place: int, found: Explanation) -> bool:
        is_positive, name, number = _place(derivation, place)
        if is_positive:
            return number in found.absent.get(name, ())
        if name not in self._marks.affected:
            return True
        marks = self._marks.of(name)
        return bool(marks.certain[number] or marks.seen[number] == self._search)

    # --- both ----------------------------------------------------------------------------------------

    def _note(self, suspects: Iterable[int], found: Explanation) -> None:
        found.literals.update((suspect, suspect in self._taken) for suspect in suspects)

    def _suspected(self, name: str, numbers: Int64s, found: Explanation) -> None:
        """Note the suspects among facts that are not input facts."""
        keys = self._ground.keys(name, numbers)
        self._note((self._suspects[key] for key in keys if key in self._suspects), found)

    def _by_whole_cone(self, name: str, found: Explanation) -> None:
        """Note all that a relation depends on, for a fact of it that has no row."""
        if name in self._marks.affected:
            self._note(self._cones.of((name, (None,) * self._ground.relation(name).arity)), found)

    def _by_cone(self, name: str, numbers: Int64s, found: Explanation) -> None:
        for key in self._ground.keys(name, numbers):
            self._note(self._cones.of(key), found)


def _place(derivation: RowDerivation, place: int) -> tuple[bool, str, int]:
    literal = derivation.rule.literals[place]
    return not literal.is_negated, literal.relation, derivation.numbers[place]
