"""Partners in threads derive what the local engine derives, without Spark."""

import threading
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.epochs_oracle import annotations_by_force
from support.programs import build, insert, read
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState, NeedsWideCodes, fits_narrow
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark import candidates
from tidelog.engine.spark.candidates import Candidates
from tidelog.engine.spark.dividing import divide_stratum
from tidelog.engine.spark.outside import divide_outside
from tidelog.engine.spark.ownership import is_kept, owned_rows
from tidelog.engine.spark.partner import PartnerContext, PartnerRun
from tidelog.engine.spark.placement import reason_against_codes
from tidelog.engine.spark.routes import find_routes
from tidelog.engine.spark.skew import with_heavy
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.wire import PartnerLostError, between_threads
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values import Codec
from tidelog.values.functors import canonical_value

LIMIT = Settings(jobs=1, iteration_limit=500)


def check(program: RandomProgram, partners: int, *, counting: bool, most: int = 1 << 60, heavy=()) -> None:
    """Run every stratum that partners can run on partners, and compare with the local engine."""
    built = split_rules(build(program.text))
    codec = Codec(built.types)
    local = LocalEngine(built, codec, LIMIT, {}, annotated=counting)
    for name, facts in program.inputs.items():
        insert(local, built.relations[name], codec, facts)
    given = {name: local._state.relations[name].live_rows().copy() for name in built.relations}
    local.evaluate(SilentObserver())
    if counting:
        count_by_force(local, built, codec, program.inputs)
    for stratum in built.strata:
        if reason_against_codes(stratum, built) is None and stratum.rules:
            check_stratum(stratum, built, codec, Chosen(local._state, given, partners, most, tuple(heavy)))


@dataclass(frozen=True)
class Chosen:
    """What a stratum is compared with, and how partners divide it."""

    local: LocalState
    given: dict[str, np.ndarray]
    partners: int
    most: int
    heavy: tuple[int, ...]

    def divide(self, stratum, program):
        """Return the stratum as partners run it."""
        sizes = {name: len(self.local.relations[name]) for name in earlier_relations(stratum)}
        found = divide_stratum(program, stratum, sizes, self.most, is_connected=False)
        if self.heavy and not found.routes.is_decomposed:
            return replace(found, routes=with_heavy(found.routes, self.heavy))
        return found


def count_by_force(local, built, codec, inputs) -> None:
    """Write the number of derivations of every fact, which evaluation alone does not count."""
    relations = {name: read(local, relation, codec) for name, relation in built.relations.items()}
    given = {name: [tuple(map(canonical_value, fact)) for fact in facts] for name, facts in inputs.items()}
    for name, of_facts in annotations_by_force(built, given, relations).items():
        stored, columns = local._state.relations[name], built.relations[name].columns
        rows = stored.rows[: stored.count].T
        values = [
            map(canonical_value, codec.decode_column(codes, each.type))
            for codes, each in zip(rows, columns, strict=True)
        ]
        facts = zip(*values, strict=True) if columns else [()] * stored.count
        stored.counts[: stored.count] = [of_facts[fact].count for fact in facts]


def check_stratum(stratum, program, codec, chosen: Chosen, dtype=None):
    """Compare one stratum, given what the local engine derived below it."""
    local, given, partners = chosen.local, chosen.given, chosen.partners
    divided = chosen.divide(stratum, program)
    routes, run = divided.routes, divided.program.strata[program.strata.index(stratum)]
    found = [None] * partners
    failures = []
    width = dtype or local.dtype

    def work(wire):
        state = LocalState(divided.program, counting=local.annotated, dtype=width)
        for name, relation in local.relations.items():
            rows = (given[name] if name in stratum.relations else relation.live_rows()).astype(width)
            route = routes.relations.get(name) or routes.outside.get(name)
            if route is not None:
                rows = is_kept(rows, route, wire)
            state.relations[name].insert(rows, first_new=relation.NEVER)
            state.show_all(name)
        context = PartnerContext(state, Expressions(divided.program, codec, {}), LIMIT, wire)
        try:
            PartnerRun(run, routes, context).run(0, SilentObserver())
        except (NeedsWideCodes, PartnerLostError) as failure:
            # Another order of atoms computes other values on the way: the engine starts anew with wide codes.
            failures.append(failure)
            wire.give_up("wide codes are needed")
        found[wire.me] = state

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    if failures and width != np.int64:
        check_stratum(stratum, program, codec, chosen, np.int64)
        return
    assert not failures

    for name in stratum.relations:
        expected = facts_of(local.relations[name])
        pieces = []
        for wire, state in zip(between_threads(partners), found, strict=True):
            assert state is not None
            relation = state.relations[name]
            own = owned_rows(relation.rows[: relation.count], routes.relations[name], wire)
            pieces += facts_of(relation, own)
            copies = facts_of(relation, counts=False)
            all_kept = [row[: relation.arity] for row in expected]
            kept = is_kept(
                np.array(all_kept, relation.dtype).reshape(len(all_kept), relation.arity),
                routes.relations[name],
                wire,
            )
            assert sorted(row[: relation.arity] for row in copies) == sorted(map(tuple, kept.tolist()))
        assert sorted(pieces) == sorted(expected), (name, routes)


def facts_of(relation, numbers=None, *, counts=True):
    """Return rows with their annotations."""
    numbers = np.arange(relation.count) if numbers is None else numbers
    rows = [tuple(row) for row in relation.rows[numbers].tolist()]
    if not relation.counts.size or not counts:
        return rows
    annotations = zip(relation.levels[numbers].tolist(), relation.counts[numbers].tolist(), strict=True)
    return [(*row, *annotation) for row, annotation in zip(rows, annotations, strict=True)]


@pytest.mark.parametrize("counting", [False, True])
@settings(max_examples=60)
@given(program=programs())
def test_partners_agree_with_the_local_engine(counting, program: RandomProgram):
    """Three partners derive the same facts, in the same iterations by as many derivations."""
    check(program, 3, counting=counting)


@pytest.mark.parametrize("counting", [False, True])
@settings(max_examples=60)
@given(program=dense_programs())
def test_partners_agree_where_much_is_derived(counting, program: RandomProgram):
    """Partners agree over numbers too, with many more derivations for each fact."""
    check(program, 2, counting=counting)


@pytest.mark.parametrize("counting", [False, True])
@settings(max_examples=40)
@given(program=dense_programs())
def test_candidates_sent_while_rules_run_are_sent_once(counting, program: RandomProgram):
    """However few are sent ahead, facts and derivations are the same, and nothing is sent twice."""
    seen, twice = defaultdict(set), []
    sort, take = Candidates._sort, Candidates.take

    def sort_and_note(found, name, tables):
        fresh = [[] for _ in tables]
        sort(found, name, fresh)
        for mine, new in zip(tables, fresh, strict=True):
            mine.extend(new)
        rows = [(name, *row) for new in fresh for table in new for row in table.rows.tolist()]
        twice.extend(row for row in rows if row in seen[found])
        seen[found].update(rows)

    def take_and_forget(found):
        tables = take(found)
        seen[found].clear()
        return tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_AHEAD_ROWS", 1)
        patch.setattr(Candidates, "_sort", sort_and_note)
        patch.setattr(Candidates, "take", take_and_forget)
        check(program, 2, counting=counting)

    assert not twice


MUTUAL = """
.decl e(x: number, y: number)
.input e
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
a(x, y) :- e(x, y).
a(x, y) :- a(x, z), a(z, y).
a(x, y) :- e(x, z), b(z, y).
b(x, w) :- e(y, x), c(y, z), e(z, w).
b(x, y) :- a(x, y), d().
c(x, y) :- a(z, x), a(z, y).
c(x, y) :- a(z, x), b(z, w), a(w, y).
.decl d()
d() :- e(1, _).
d() :- a(x, x), d().
.decl f(x: number)
f(3).
f(x) :- a(x, _), f(y), x != y.
"""


@pytest.mark.parametrize("partners", [1, 2, 3])
@settings(max_examples=10)
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14, unique=True))
def test_mutual_and_nonlinear_recursion_is_divided(partners, edges):
    """Rules of three atoms are cut, relations without a shared variable are everywhere."""
    check(RandomProgram(MUTUAL, {"e": tuple(edges)}, {}), partners, counting=True)


def _outside(text: str) -> dict[str, tuple[int, ...]]:
    """Return the columns by which relations of earlier strata are kept, for the last stratum."""
    program = split_rules(build(text))
    routes = divide_outside(program.strata[-1], program, find_routes(program.strata[-1], program))
    return {name: route.columns for name, route in routes.outside.items()}


ALIASES = """
.decl assign(x: number, y: number)
.decl deref(x: number, y: number)
.decl off(x: number)
.input assign, deref, off
.decl alias(x: number, y: number)
.output alias
alias(x, y) :- assign(x, y), !off(x).
alias(x, y) :- assign(x, z), alias(z, y).
alias(x, y) :- deref(z, x), alias(z, w), deref(w, y).
alias(x, y) :- alias(x, z), alias(z, y).
"""


def test_earlier_strata_are_divided_where_the_deciding_variable_stands():
    """`assign` and the negated `off` have it in every rule, `deref` in one of two atoms."""
    assert _outside(ALIASES) == {"assign": (0, 1), "off": (0,)}


@pytest.mark.parametrize("partners", [2, 3])
@settings(max_examples=10)
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14, unique=True))
def test_divided_earlier_strata_lose_nothing(partners, edges):
    """Partners that keep parts of what they read derive what the local engine derives from all of it."""
    inputs = {"assign": tuple(edges), "deref": tuple(edges[::2]), "off": tuple((x,) for x, _ in edges[:2])}
    check(RandomProgram(ALIASES, inputs, {}), partners, counting=True)


def divided(text: str, sizes: dict[str, int], most: int):
    """Return how the last stratum of a program is divided."""
    program = split_rules(build(text))
    return divide_stratum(program, program.strata[-1], sizes, most, is_connected=True)


def test_large_relations_are_not_copied_to_all_partners():
    """Rules are cut so that each half has the variable of its large relation; small ones are copied."""
    sizes = {"assign": 10, "deref": 1000, "off": 5}

    large, small = divided(ALIASES, sizes, 100), divided(ALIASES, sizes, 1000)

    assert {name: route.columns for name, route in large.routes.outside.items()} == {
        "assign": (0, 1),
        "deref": (0,),
        "off": (0,),
    }
    assert large.remark == "; rules are cut to divide `deref`"
    assert len(large.made) == 1
    assert "deref" not in small.routes.outside
    assert small.remark == "; all of them have `deref` (1,000 facts)"
    assert small.made == ()


def test_a_large_negated_relation_is_divided():
    """Where the recursion is divided by another variable, what it finds is sent to where the facts are."""
    text = """
    .decl e(x: number, y: number)
    .decl off(x: number)
    .input e, off
    .decl p(x: number, y: number)
    .output p
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), p(y, z), !off(x), x < z.
    """
    found = divided(text, {"e": 10, "off": 1000}, 100)

    assert set(found.routes.outside) == {"e", "off"}
    check(RandomProgram(text, {"e": ((1, 2), (2, 3), (3, 4), (4, 5)), "off": ((2,),)}, {}), 3, counting=False)


def test_a_large_relation_without_variables_stops_no_cut():
    """What is looked up by constants alone is everywhere, and rules are cut a finite number of times."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number)
    .output p
    p(x) :- e(x, y), e(y, z), !e(3, 3).
    p(z) :- p(x), e(x, y), e(y, z).
    """
    found = divided(text, {"e": 1000}, 100)

    assert found.remark == "; all of them have `e` (1,000 facts)"
    check(RandomProgram(text, {"e": ((1, 2), (2, 3), (3, 4))}, {}), 2, counting=False, most=0)


def test_a_rule_may_be_cut_several_times():
    """A chain of large relations becomes a chain of rules, each with one variable for both its atoms."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number, y: number)
    .output p
    p(x, v) :- e(x, y), e(y, z), e(z, w), e(w, v).
    """
    found = divided(text, {"e": 1000}, 100)

    assert len(found.made) == 2
    assert set(found.routes.outside) == {"e"}
    check(RandomProgram(text, {"e": tuple((n, n + 1) for n in range(9))}, {}), 3, counting=False, most=0)


def test_parts_that_never_talk_do_not_copy_large_relations():
    """A recursion that could be decomposed is not, if every partner would need a large relation."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl p(x: number, y: number)
    .output p
    p(x, y) :- e(x, y).
    p(x, z) :- p(x, y), e(y, z).
    """
    program = build(text)

    large = divide_stratum(program, program.strata[-1], {"e": 11}, 10, is_connected=False)
    small = divide_stratum(program, program.strata[-1], {"e": 10}, 10, is_connected=False)

    assert not large.routes.is_decomposed
    assert large.routes.outside["e"].columns == (0,)
    assert small.routes.is_decomposed


@settings(max_examples=60)
@given(program=programs())
def test_nothing_is_lost_where_nothing_is_copied(program: RandomProgram):
    """Partners derive the same facts if no relation of earlier strata may be copied to all."""
    check(program, 3, counting=False, most=0)


@settings(max_examples=60)
@given(program=dense_programs())
def test_nothing_is_lost_where_much_is_derived_and_nothing_is_copied(program: RandomProgram):
    """The same over numbers, with many more derivations for each fact."""
    check(program, 2, counting=False, most=0)


@settings(max_examples=60)
@given(program=dense_programs(), most=st.sampled_from([0, 1 << 60]), partners=st.integers(2, 3))
def test_heavy_values_lose_nothing(program: RandomProgram, most, partners):
    """Partners derive the same facts, whatever values are spread over them and shared."""
    check(program, partners, counting=False, most=most, heavy=(0, 1, 2))


@settings(max_examples=60)
@given(program=programs(), heavy=st.sets(st.integers(-1, 6), max_size=4))
def test_heavy_codes_lose_nothing(program: RandomProgram, heavy):
    """The same over texts and records, whose codes may be any of these."""
    check(program, 3, counting=False, heavy=tuple(sorted(heavy)))


@pytest.mark.parametrize("partners", [2, 3])
@settings(max_examples=10)
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14, unique=True))
def test_heavy_values_of_mutual_recursion(partners, edges):
    """Rules with several atoms of the stratum and of others find each derivation at one partner at least."""
    inputs = {"assign": tuple(edges), "deref": tuple(edges[::2]), "off": tuple((x,) for x, _ in edges[:2])}
    check(RandomProgram(ALIASES, inputs, {}), partners, counting=False, heavy=(1, 2, 3))
    check(RandomProgram(MUTUAL, {"e": tuple(edges)}, {}), partners, counting=False, heavy=(0, 1, 2))


@pytest.mark.parametrize("partners", [2, 3])
@settings(max_examples=10)
@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=14, unique=True))
def test_cut_rules_lose_nothing(partners, edges):
    """Rules of several atoms, recursive or not, derive the same from divided relations."""
    inputs = {"assign": tuple(edges), "deref": tuple(edges[::2]), "off": tuple((x,) for x, _ in edges[:2])}
    check(RandomProgram(ALIASES, inputs, {}), partners, counting=False, most=0)
    check(RandomProgram(MUTUAL, {"e": tuple(edges)}, {}), partners, counting=False, most=0)


TOTALS = """
.decl shop(x: number, y: number)
.decl sale(x: number, p: number)
.decl shut(x: number, y: number)
.input shop, sale, shut
.decl total(x: number, n: number, m: number, k: number)
.output total
total(x, n, m, k) :-
    shop(x, y), !shut(y, x), n = sum p : { sale(x, p), p < 9 }, m = count : { shop(x, _) },
    k = count : { shop(y, _), sale(_, y), z = max p : { sale(x, p) }, z > 1 }.
"""


def test_aggregates_are_divided_by_their_groups():
    """Atoms with the variable of the group are kept in parts; one without it needs all facts."""
    assert _outside(TOTALS.replace(", sale(_, y)", "")) == {"sale": (0,), "shut": (1,)}
    assert _outside(TOTALS) == {"shut": (1,)}


@pytest.mark.parametrize("partners", [2, 3])
@settings(max_examples=10)
@given(
    shops=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=10, unique=True),
    sales=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=10, unique=True),
)
def test_divided_aggregates_and_negations_lose_nothing(partners, shops, sales):
    """Partners that keep the groups of their values count and sum what the local engine does."""
    for text in (TOTALS, TOTALS.replace(", sale(_, y)", "")):
        inputs = {"shop": tuple(shops), "sale": tuple(sales), "shut": tuple(shops[::3])}
        check(RandomProgram(text, inputs, {}), partners, counting=False)


def test_parts_that_never_talk_read_all_of_earlier_strata():
    """A recursion that is decomposed derives from every fact below it, wherever its own facts go."""
    assert _outside(PATHS) == {}


PATHS = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.mark.parametrize("rows", [1, 40])
def test_rows_of_codes_are_known_to_fit_narrow(rows):
    """Partners ask of whole rows, few or many, whether all codes have 32 bits."""
    codes = np.arange(2 * rows, dtype=np.int64).reshape(rows, 2)

    assert fits_narrow(codes)
    codes[-1, 0] = 1 << 31
    assert not fits_narrow(codes)
