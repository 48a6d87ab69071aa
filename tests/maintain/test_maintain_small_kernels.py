"""The kernels of small epochs against brute force: derivations, proofs, certainty, and whole epochs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs import Maintained, difference, examples
from support.epochs_programs import tangled_epochs, tangled_programs
from support.kernel_oracles import oracle_of
from support.programs import build
from tidelog.engine.local.by_row.layout import DONE, NEEDS_ROOM
from tidelog.engine.reference.facts import PythonFacts
from tidelog.engine.reference.solve import Solver
from tidelog.engine.reference.variables import name_wildcards
from tidelog.maintain.small import epoch as small_epochs
from tidelog.maintain.small.listing import list_derivations
from tidelog.maintain.small.proving import (
    ASSUMED,
    FOUND_FIRST,
    FOUND_RELATION,
    FOUND_ROW,
    FOUND_RULE,
    INPUT,
    Met,
    ProofMarks,
    SearchState,
    Waiting,
    prove_facts,
    spread_certainty,
)
from tidelog.maintain.small.strata import commit_strata, undo_strata, update_strata
from tidelog.maintain.small.stratum import SmallStratum
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program.nodes import Atom, NegatedAtom
from tidelog.storage.annotations import ABSENT
from tidelog.storage.structs import addresses_of, words_of
from tidelog.values import Fact, NoValueError

STAMP = 3


@dataclass(frozen=True)
class Derivation:
    """A derivation found by trying everything: the rule's number in its stratum, and rows."""

    rule: int
    head: int
    columns: tuple[int, ...]
    rows: tuple[int, ...]


class Case:
    """An engine at some epoch, and what brute force says of its strata; all values are their own codes."""

    def __init__(self, run: Maintained) -> None:
        self.engine = run.engine
        self.program = run.engine.program
        self.relations = run.engine.relations
        self.rows = {name: self._rows(name) for name in self.program.relations}
        facts = PythonFacts(self.program.relations)
        for name, rows in self.rows.items():
            facts.replace(name, frozenset(rows))
        self._solver = Solver(self.program, facts, run.codec, {})

    def _rows(self, name: str) -> dict[Fact, int]:
        """Return the row number of every fact."""
        stored = self.relations[name]
        is_fact = stored.levels[: stored.count] != ABSENT
        if stored.alive.size:
            is_fact &= stored.alive[: stored.count] != 0
        numbers = np.flatnonzero(is_fact).tolist()
        return {tuple(stored.rows[number].tolist()): number for number in numbers}

    def strata(self) -> Iterator[tuple[int, SmallStratum, list[FlatRule]]]:
        """Yield the strata that have rules, none of which makes an aggregate, and that kernels take."""
        for number, stratum in enumerate(self.program.strata):
            is_plain = stratum.rules and stratum.relations[0] not in self.engine.groups.aggregates
            tables = self.engine.tables(number) if is_plain else None
            if tables is not None:
                tables.refresh(self.relations)
                yield number, tables, [flatten_rule(rule, self.program) for rule in stratum.rules]

    def derivations(self, rules: list[FlatRule]) -> list[Derivation]:
        """Return all derivations of a stratum, whether or not their negated atoms hold."""
        found = []
        for number, maintained in enumerate(rules):
            rule = name_wildcards(maintained)
            self._solver.terms.enter(rule.id)
            positive = tuple(each for each in rule.body if not isinstance(each, NegatedAtom))
            for binding in self._solver.bindings(positive, {}):
                atoms = [rule.head, *(rule.body[literal.place] for literal in maintained.literals)]
                try:
                    facts = [
                        tuple(self._solver.terms.value(term, binding) for term in _atom(each).terms)
                        for each in atoms
                    ]
                except NoValueError:
                    continue
                names = [literal.relation for literal in maintained.literals]
                rows = tuple(
                    self.rows[name].get(fact, -1) for name, fact in zip(names, facts[1:], strict=True)
                )
                found.append(
                    Derivation(number, self.rows[rule.head.relation].get(facts[0], -1), facts[0], rows)
                )
        return found

    def level(self, name: str, row: int) -> int:
        """Return the level of a row."""
        return int(self.relations[name].levels[row])


def _atom(each: object) -> Atom:
    atom = each.atom if isinstance(each, NegatedAtom) else each
    assert isinstance(atom, Atom)
    return atom


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a program, and an engine that followed some changes of its inputs."""
    program = draw(tangled_programs())
    run = Maintained(build(program.text)).start(program.inputs)
    for epoch in draw(tangled_epochs(program, max_epochs=2)):
        run.change(epoch.inserts, epoch.deletes)
    return Case(run)


def listed(tables: SmallStratum, chain: int, rows: list[int], room: int) -> list[tuple[int, ...]] | None:
    """Return what a chain yields from rows, None where there is no room for it."""
    found, ends = np.full((room, tables.widest_output), -7, np.int64), np.empty(1, np.int64)
    count = tables.run(list_derivations, np.array([chain], np.int64), np.array(rows, np.int64), found, ends)
    assert count < 0 or ends.tolist() == [count]
    return None if count < 0 else sorted(map(tuple, found[:count].tolist()))


@oracle_of(list_derivations)
@settings(max_examples=examples(40))
@given(case=cases())
def test_chains_list_all_derivations(case: Case) -> None:
    """From the head, and from each literal, each derivation is listed once; -1 says that room is short."""
    for _, tables, rules in case.strata():
        every = case.derivations(rules)
        for chain, (number, place, relation, *_) in enumerate(tables.chains.tolist()):
            rule = rules[number]
            rows = sorted(case.rows[tables.names[relation]].values())
            own = [each for each in every if each.rule == number]
            if place < 0:
                expected = [(each.head, *each.rows) for each in own if each.head >= 0]
            else:
                expected = [(*each.columns, *each.rows) for each in own if each.rows[place] >= 0]
            width = tables.widest_output
            padded = sorted((*each, *[-7] * (width - len(each))) for each in expected)

            assert rule.relation == tables.names[relation] or place >= 0
            assert listed(tables, chain, rows, len(padded)) == padded
            if padded:
                assert listed(tables, chain, rows, len(padded) - 1) is None


class Marks:
    """Marks of the rows of each relation, drawn at random, and the table that kernels read."""

    def __init__(self, case: Case, tables: SmallStratum, data: st.DataObject) -> None:
        self.table = np.zeros(len(tables.names), words_of(ProofMarks))
        self.arrays: dict[str, dict[str, np.ndarray]] = {}
        for line, name in zip(self.table, tables.names, strict=True):
            count = case.relations[name].count
            flags = st.lists(st.integers(0, 1), min_size=count, max_size=count)
            own = {field: np.array(data.draw(flags), np.uint8) for field in ("changed", "certain", "suspect")}
            own["seen"] = np.zeros(count, np.int32)
            self.arrays[name] = own
            for field, array in own.items():
                line[field] = array.ctypes.data
            for field in ("is_affected", "is_unsure", "is_opaque"):
                line[field] = data.draw(st.integers(0, 1))

    def flag(self, tables: SmallStratum, name: str, field: str) -> bool:
        """Return a flag of a relation."""
        return bool(self.table[tables.names.index(name)][field])

    def is_open(self, tables: SmallStratum, name: str, row: int) -> bool:
        """Say whether a fact has to be proved where it is used."""
        return self.flag(tables, name, "is_affected") and not self.arrays[name]["certain"][row]


def prove(
    tables: SmallStratum, marks: Marks, begun: list[tuple[int, int]], *, assumes: bool
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the lines and what is met, with arrays that are enlarged again and again."""
    width = FOUND_FIRST + int(tables.rules["literal_count"].max(initial=0))
    waiting, met = np.array(begun, words_of(Waiting)), np.zeros(1, words_of(Met))
    found = np.full((1, width), -1, np.int64)
    progress = np.array([(len(begun), 0, 0, STAMP)], words_of(SearchState))
    while (
        status := tables.run(
            prove_facts, addresses_of(marks.table, waiting, met, progress), found, int(assumes)
        )
    ) != DONE:
        assert status == NEEDS_ROOM
        waiting, met = (np.append(each, np.zeros(each.size + 1, each.dtype)) for each in (waiting, met))
        found = np.concatenate([found, np.full((len(found) + 1, width), -1)])
    assert progress["waiting"] == 0
    return found[: progress["found"][0]].tolist(), met[: progress["met"][0]].tolist()


def scores(
    case: Case, marks: Marks, rules: list[FlatRule]
) -> dict[tuple[str, int], dict[tuple[int, ...], int]]:
    """Return the derivations that hold of each fact, with how many of their facts may be others."""
    found: dict[tuple[str, int], dict[tuple[int, ...], int]] = {}
    own = {rule.relation for rule in rules}
    for each in case.derivations(rules):
        rule = rules[each.rule]
        if each.head < 0:
            continue
        level = case.level(rule.relation, each.head)
        score, holds = 0, True
        for literal, row in zip(rule.literals, each.rows, strict=True):
            if literal.is_negated:
                holds &= row < 0
            else:
                holds &= literal.relation not in own or case.level(literal.relation, row) < level
                score += int(marks.arrays[literal.relation]["changed"][row])
        if holds:
            found.setdefault((rule.relation, each.head), {})[each.rule, *each.rows] = score
    return found


@oracle_of(prove_facts, spread_certainty)
@settings(max_examples=examples(40))
@given(case=cases(), data=st.data(), assumes=st.booleans())
def test_proofs_are_the_least_changed_and_certainty_spreads(
    case: Case, data: st.DataObject, *, assumes: bool
) -> None:
    """Every fact that a proof uses has one too; facts whose proofs rest on sure ones become certain."""
    for _, tables, rules in case.strata():
        marks = Marks(case, tables, data)
        own = [name for name in tables.names if name in {rule.relation for rule in rules}]
        facts = [(name, row) for name in own for row in sorted(case.rows[name].values())]
        begun = data.draw(st.lists(st.sampled_from(facts), unique=True, max_size=5)) if facts else []
        for name, row in begun:
            marks.arrays[name]["seen"][row] = STAMP

        lines, met = prove(
            tables, marks, [(tables.names.index(name), row) for name, row in begun], assumes=assumes
        )

        known = scores(case, marks, rules)
        proved = [(tables.names[line[FOUND_RELATION]], line[FOUND_ROW]) for line in lines]
        assert len(set(proved)) == len(proved)
        reached, other, absent = set(begun), set(), []
        for (name, row), line in zip(proved, lines, strict=True):
            if assumes and not marks.arrays[name]["changed"][row]:
                assert line[FOUND_RULE] == ASSUMED
                continue
            if case.level(name, row) == 0:
                assert line[FOUND_RULE] == INPUT
                continue
            literals = rules[line[FOUND_RULE]].literals
            premises = line[FOUND_FIRST : FOUND_FIRST + len(literals)]
            assert known[name, row][line[FOUND_RULE], *premises] == min(known[name, row].values())
            for literal, premise in zip(literals, premises, strict=True):
                if literal.is_negated:
                    if marks.flag(tables, literal.relation, "is_unsure"):
                        absent.append((literal.relation, premise))
                elif marks.is_open(tables, literal.relation, premise):
                    (reached if literal.relation in own else other).add((literal.relation, premise))
        assert set(proved) == reached
        found = [(tables.names[relation], row, bool(negated)) for relation, row, negated in met]
        assert sorted(found) == sorted(
            [*((*each, False) for each in other), *((*each, True) for each in absent)]
        )
        check_certainty(case, tables, marks, rules, lines)


def check_certainty(
    case: Case, tables: SmallStratum, marks: Marks, rules: list[FlatRule], lines: list[list[int]]
) -> None:
    """Spread certainty over proofs, and compare with a loop."""
    certain = {name: set(np.flatnonzero(own["certain"]).tolist()) for name, own in marks.arrays.items()}

    def is_sure(name: str, row: int) -> bool:
        if not marks.flag(tables, name, "is_affected") or row in certain[name]:
            return True
        is_input = case.level(name, row) == 0 and not marks.arrays[name]["suspect"][row]
        return is_input and not marks.flag(tables, name, "is_opaque")

    levels = [case.level(tables.names[line[FOUND_RELATION]], line[FOUND_ROW]) for line in lines]
    order = sorted(range(len(lines)), key=levels.__getitem__)
    for number in order:
        line = lines[number]
        if line[FOUND_RULE] < 0:
            continue
        literals = rules[line[FOUND_RULE]].literals
        if all(
            (
                not marks.flag(tables, each.relation, "is_unsure")
                or not marks.flag(tables, each.relation, "is_affected")
            )
            and row < 0
            if each.is_negated
            else is_sure(each.relation, row)
            for each, row in zip(literals, line[FOUND_FIRST:], strict=False)
        ):
            certain[tables.names[line[FOUND_RELATION]]].add(line[FOUND_ROW])

    width = FOUND_FIRST + int(tables.rules["literal_count"].max(initial=0))
    proved = np.array(lines, np.int64).reshape(-1, width)
    tables.run(spread_certainty, addresses_of(marks.table), proved, np.array(order, np.int64))

    assert {
        name: set(np.flatnonzero(own["certain"]).tolist()) for name, own in marks.arrays.items()
    } == certain


class Watched:
    """Stands in for the kernels of an epoch, calls them, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.updated = self.committed = self.undone = 0
        monkeypatch.setattr(small_epochs, "update_strata", self.update)
        monkeypatch.setattr(small_epochs, "commit_strata", self.commit)
        monkeypatch.setattr(small_epochs, "undo_strata", self.undo)

    def update(self, *arguments: object) -> int:
        """Run the kernel."""
        self.updated += 1
        return int(update_strata(*arguments))

    def commit(self, *arguments: object) -> None:
        """Run the kernel."""
        self.committed += 1
        commit_strata(*arguments)

    def undo(self, *arguments: object) -> None:
        """Run the kernel."""
        self.undone += 1
        undo_strata(*arguments)


@oracle_of(update_strata, commit_strata)
def test_small_epochs_are_as_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts, levels and counts after each epoch of the kernel are those that brute force finds."""
    watched = Watched(monkeypatch)

    @settings(max_examples=examples(30))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        program = data.draw(tangled_programs())
        run = Maintained(build(program.text)).start(program.inputs)
        before = run.check()
        for epoch in data.draw(tangled_epochs(program, max_epochs=4)):
            found = run.change(epoch.inserts, epoch.deletes)
            after = run.check()
            assert found == difference(before, after)
            before = after

    check()
    assert watched.updated
    assert watched.committed


@oracle_of(undo_strata)
def test_undone_epochs_never_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """An epoch that fails when the kernel is done leaves facts, levels and counts, and can be tried again."""
    watched = Watched(monkeypatch)
    fails = False
    changes = small_epochs.SmallEpochs.changes

    def fail(small: small_epochs.SmallEpochs, first: int, last: int) -> object:
        if fails:
            raise KeyboardInterrupt
        return changes(small, first, last)

    monkeypatch.setattr(small_epochs.SmallEpochs, "changes", fail)

    @settings(max_examples=examples(30))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        nonlocal fails
        program = data.draw(tangled_programs())
        run = Maintained(build(program.text)).start(program.inputs)
        for epoch in data.draw(tangled_epochs(program, max_epochs=3)):
            before = run.relations(), run.annotations()
            fails = True
            try:
                run.change(epoch.inserts, epoch.deletes)
            except KeyboardInterrupt:
                assert (run.relations(), run.annotations()) == before
            finally:
                fails = False
            run.change(epoch.inserts, epoch.deletes)
            run.check()

    check()
    assert watched.undone
