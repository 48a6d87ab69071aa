"""The rows of an engine and the derivations around them."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from operator import is_

import numpy as np

from tidelog.explain.blame.suspects import Key, Mask, Rows
from tidelog.explain.blame.tables import StratumTables
from tidelog.maintain import LocalMaintainedEngine
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.program.nodes import Program, Stratum
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s

_NARROW = 1 << 31


class Ground:
    """Looks up rows and enumerates derivations in the present or trial epoch of an engine.

    Row numbers are good until the next epoch or trial, keys for ever. `opaque` are the relations whose
    facts are not simply what rules derive: aggregates, and those with `laws` by which facts have a say
    on one another (choices, equivalences, ...). `unsure` are all that depend on them: nobody can tell
    which facts such a relation might have.
    """

    def __init__(self, engine: LocalMaintainedEngine) -> None:
        self.engine = engine
        # Facts are looked at one by one here, also those that negated atoms ask for.
        engine.complete_projections()
        self.tables = StratumTables(engine)
        self._places: dict[tuple[int, int], tuple[Int64s, Int64s]] = {}
        self.program: Program = engine.program
        self.stratum_of: dict[str, int] = {}
        self.rules: dict[str, list[FlatRule]] = {name: [] for name in self.program.relations}
        self.readers: dict[str, list[tuple[FlatRule, RuleLiteral]]] = {
            name: [] for name in self.program.relations
        }
        # The rules of each stratum in the order of its tables.
        self.stratum_rules: list[list[FlatRule]] = []
        self.laws: set[str] = set()
        self.opaque: set[str] = set()
        self.unsure: set[str] = set()
        for number, stratum in enumerate(self.program.strata):
            self._take(number, stratum)

    def _take(self, number: int, stratum: Stratum) -> None:
        is_grouped = stratum.relations[0] in self.engine.groups.aggregates
        # The engine has looked at the rules once; a ground is made for every question.
        kept = self.engine.kept_stratum(number)
        if kept.obstacle is not None:
            self.laws.update(stratum.relations)
        for name in stratum.relations:
            self.stratum_of[name] = number
        self.stratum_rules.append([])
        if is_grouped or stratum.relations[0] in self.laws:
            self.opaque.update(stratum.relations)
            self.unsure.update(stratum.relations)
            return
        for followed in kept.rules:
            self.rules[followed.relation].append(followed)
            self.stratum_rules[number].append(followed)
            for literal in followed.literals:
                self.readers[literal.relation].append((followed, literal))
                if literal.relation in self.unsure:
                    self.unsure.update(stratum.relations)

    def above(self, names: Collection[str]) -> frozenset[str]:
        """Return relations and all that depend on them."""
        found = set(names)
        for number, stratum in enumerate(self.program.strata):
            reads = self.engine.kept_stratum(number).read
            if not (found.isdisjoint(reads) and found.isdisjoint(stratum.relations)):
                found.update(stratum.relations)
        return frozenset(found)

    def below(self, names: Collection[str]) -> frozenset[str]:
        """Return relations and all that derivations of their facts lead to; none lead on from opaque ones."""
        waiting = list(names)
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [literal.relation for rule in self.rules[name] for literal in rule.literals]
        return frozenset(found)

    def relation(self, name: str) -> StoredRelation:
        """Return a stored relation."""
        return self.engine.relations[name]

    def numbers(self, name: str, rows: Int64s) -> Int64s:
        """Return the row number of each fact, -1 for those that nobody sees now."""
        stored = self.relation(name)
        packed, fits = _packed(rows, stored)
        found = stored.find(packed)
        found[~fits] = -1
        return found

    def locate(self, name: str, rows: Int64s) -> Int64s:
        """Return the row number of each fact; those not stored yet are entered as absent."""
        stored = self.relation(name)
        packed, fits = _packed(rows, stored)
        assert fits.all(), "facts met before fit the width of the state"
        before = stored.count, stored.rows, stored.slots, stored.alive
        numbers = stored.locate(packed)
        after = stored.count, stored.rows, stored.slots, stored.alive
        if not all(map(is_, before, after)):
            self.tables.forget()
        return numbers

    def keys(self, name: str, numbers: Iterable[int] | Int64s) -> list[Key]:
        """Return the facts of rows."""
        chosen = np.asarray(list(numbers) if not isinstance(numbers, np.ndarray) else numbers, np.int64)
        return [(name, tuple(row)) for row in self.relation(name).rows[chosen].tolist()]

    def holds(self, keys: Collection[Key]) -> list[bool]:
        """Say of each fact whether it is one now."""
        places: dict[str, list[int]] = {}
        listed = list(keys)
        for place, (name, _) in enumerate(listed):
            places.setdefault(name, []).append(place)
        answer = [False] * len(listed)
        for name, own in places.items():
            rows = as_rows([listed[place][1] for place in own])
            numbers = self.numbers(name, rows)
            levels = self.relation(name).levels
            for place, number in zip(own, numbers.tolist(), strict=True):
                answer[place] = number >= 0 and levels[number] != ABSENT
        return answer

    def backward(self, name: str, numbers: Int64s) -> Iterator[tuple[FlatRule, Int64s]]:
        """Yield the derivations of rows by rule: the head's row number, then those of the literals."""
        if not self.rules[name]:
            return
        number = self.stratum_of[name]
        small = self.tables.stratum(number)
        if small is not None:
            chains = small.chains_back(name)
            listed = self.tables.list(number, chains, numbers)
            if listed is not None:
                for chain, found in zip(chains, listed, strict=True):
                    if len(found):
                        rule = self.stratum_rules[number][small.chains[chain]["rule"]]
                        yield rule, found[:, : 1 + len(rule.literals)].copy()
                return
        for rule in self.rules[name]:
            batches: list[CodeArray] = []
            self.engine.derivations.backward(rule, numbers, lambda batch: batches.append(batch.copy()))  # noqa: B023 - called at once
            if batches:
                yield rule, np.concatenate(batches).astype(np.int64)

    def forward(self, rule: FlatRule, literal: RuleLiteral, numbers: Int64s) -> Int64s:
        """Return the derivations that use rows at a literal: the head's columns, then row numbers."""
        width = self.relation(rule.relation).arity + len(rule.literals)
        number = self.stratum_of[rule.relation]
        small = self.tables.stratum(number)
        if small is not None:
            chain = small.forward[self.stratum_rules[number].index(rule), rule.literals.index(literal)]
            listed = self.tables.list(number, [chain], numbers)
            if listed is not None:
                return listed[0][:, :width].copy()
        batches: list[CodeArray] = []
        self.engine.derivations.forward(rule, literal, numbers, lambda batch: batches.append(batch.copy()))
        return np.concatenate(batches).astype(np.int64) if batches else np.empty((0, width), np.int64)

    @contextmanager
    def showing(self, rows: Rows) -> Iterator[dict[str, Int64s]]:
        """Let joins see more rows than those of facts while the `with` block lasts; give their numbers."""
        shown: dict[str, Int64s] = {}
        try:
            for name, facts in rows.items():
                numbers = self._located(name, facts)
                stored = self.relation(name)
                hidden = numbers[stored.alive[numbers] == 0]
                stored.show_rows(hidden)
                shown[name] = hidden
            yield shown
        finally:
            for name, hidden in shown.items():
                self.relation(name).hide_absent_rows(hidden)

    def _located(self, name: str, facts: Int64s) -> Int64s:
        """Return the distinct row numbers of facts, looked up once for each version of a relation."""
        stored = self.relation(name)
        known = self._places.get((id(facts), stored.version))
        if known is None:
            # The facts are kept, so that nothing else gets their identity.
            known = self._places[id(facts), stored.version] = facts, distinct(self.locate(name, facts))
        return known[1]


def distinct(numbers: Int64s) -> Int64s:
    """Return numbers in order, each once."""
    if numbers.size < 2:
        return numbers
    ordered = np.sort(numbers)
    kept = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=kept[1:])
    return ordered if kept.all() else ordered[kept]


def as_rows(facts: Collection[tuple[int, ...]]) -> Int64s:
    """Return facts of one relation as rows."""
    listed = list(facts)
    width = len(listed[0]) if listed else 0
    return np.array(listed, np.int64).reshape(len(listed), width)


def by_relation(keys: Iterable[Key]) -> Rows:
    """Return facts as rows by relation."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for name, codes in keys:
        found.setdefault(name, []).append(codes)
    return {name: as_rows(facts) for name, facts in found.items()}


def _packed(rows: Int64s, stored: StoredRelation) -> tuple[CodeArray, Mask]:
    """Return rows in the width of a relation, and which of them fit it."""
    fits: Mask = np.ones(len(rows), np.bool_)
    if stored.dtype.itemsize < rows.itemsize and rows.shape[1]:
        fits = np.logical_and.reduce((rows >= -_NARROW) & (rows < _NARROW), axis=1)
        rows = np.where(fits[:, None], rows, 0)
    return np.ascontiguousarray(rows.astype(stored.dtype)), fits


def merged(*many: Rows) -> dict[str, Int64s]:
    """Return the facts of all."""
    found: dict[str, list[Int64s]] = {}
    for each in many:
        for name, rows in each.items():
            found.setdefault(name, []).append(rows)
    return {name: np.concatenate(groups) for name, groups in found.items()}
