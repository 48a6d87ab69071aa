"""The local engine beyond its answers: widths, threads, plans made again, limits, interruption."""

import _thread
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

from support.programs import ENGINES, build, read, run, run_program
from support.strategies import RandomProgram, dense_programs, programs
from tidelog.engine.local import LocalEngine, steps, stratum, workers
from tidelog.engine.local.state import NeedsWideCodes
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.errors import TidelogError
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import IS_COMPILED
from tidelog.values import Codec

EXAMPLES = 40 if IS_COMPILED else 10
SIZE = 60 if IS_COMPILED else 12
PATH = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""
RING = {"edge": [(node, (node + step) % SIZE) for node in range(SIZE) for step in (1, 7)]}
COUNTING_UP = ".decl p(x: number) p(0). p(x + 1) :- p(x). .output p"


@pytest.fixture
def _small_work_is_shared(monkeypatch):
    """Let threads share the work of rules however little there is."""
    monkeypatch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
    monkeypatch.setattr(workers, "_ROWS_FOR_THREADS", 2)
    monkeypatch.setattr(workers, "_WORK_PER_THREAD", 2)
    monkeypatch.setattr(workers, "_ROWS_PER_THREAD", 1)
    monkeypatch.setattr("tidelog.storage.index.ROWS_TO_DIVIDE", 2)


def engine_of(program: Program, **options: object) -> tuple[LocalEngine, Codec]:
    """Return a local engine for a program, and its codec."""
    codec = Codec(program.types)
    return LocalEngine(program, codec, Settings(**{"jobs": 1, **options}), {}), codec


def our_threads() -> list[str]:
    """Return the names of the engine's threads that are still there."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("tidelog")]


# --- widening --------------------------------------------------------------------------------


def test_recursion_widens_in_the_middle():
    """A stratum that outgrows 32 bits after some iterations loses no fact and repeats none."""
    text = """
    .decl seed(x: number)
    .input seed
    .decl power(x: number, y: number)
    power(x, 1) :- seed(x).
    power(x, y * 3) :- power(x, y), y < 10000000000000.
    .decl big(y: number)
    big(y) :- power(_, y), y > 4294967296, !seed(y).
    """
    inputs = {"seed": [(1,), (2,)]}

    found = run(text, engine="local", inputs=inputs)

    assert found == run(text, inputs=inputs)
    assert (1, 3**20) in found["power"]


def test_earlier_strata_keep_their_facts_when_a_later_one_widens():
    """Relations that are finished, indexed and dense are widened with the others."""
    text = (
        PATH
        + """
    .decl far(x: number, y: number)
    far(x, y * 1000000007) :- path(x, y).
    far(x, y) :- far(x, z), path(z % 10, y).
    """
    )

    inputs = {"edge": [(node, (node + 1) % 6) for node in range(6)]}

    assert run(text, engine="local", inputs=inputs) == run(text, inputs=inputs)


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1])
def test_constants_at_the_edge_of_the_width(value):
    """A constant in a fact, a head, a key or a filter may ask for 64 bits."""
    text = f"""
    .decl a(x: number, y: number)
    a(1, {value}). a(2, 7).
    .decl b(x: number)
    b(x) :- a(x, {value}).
    .decl c(x: number, y: number)
    c(x, {value}) :- b(x), a(x, y), y != {value - 1 if value > 0 else value + 1}.
    .decl d(x: number)
    d(x) :- a(x, y), a(_, z), y + 0 = z, z >= {value}.
    """

    assert run(text, engine="local") == run(text)


def test_wide_input_after_narrow_input():
    """A wide fact given after narrow ones widens all of them."""
    inputs = {"edge": [(1, 2), (2, 3), (3, 2**40), (2**40, 1)]}

    assert run(PATH, engine="local", inputs=inputs) == run(PATH, inputs=inputs)


@pytest.mark.parametrize("kind", ["eqrel", "choice-domain x", "choice-domain y"])
def test_inputs_of_relations_that_settle_survive_widening(kind):
    """Settling puts other rows in the place of the inputs, which a second run of the stratum begins with."""
    text = f"""
    .decl one(x: number)
    .input one
    .decl r(x: number, y: number) {kind}
    .input r
    r(3, 1) :- one(x), f = range(0.0, 2.0), f < 9.5.
    """
    inputs = {"one": [(1,)], "r": [(2, -1), (2, 7), (5, 6), (8, 6)]}

    assert run(text, engine="local", inputs=inputs) == run(text, inputs=inputs)


def test_relations_that_settle_are_widened_too():
    """Choice, equivalence and subsumption start again from their inputs when codes widen."""
    text = """
    .decl e(x: number, y: number)
    .input e
    .decl same(x: number, y: number) eqrel
    same(x, y) :- e(x, y).
    same(x, x * 100000) :- same(x, _), x > 0, x < 1000000.
    .decl pick(x: number, y: number) choice-domain x
    pick(x, y) :- same(x, y).
    .decl least(x: number, y: number)
    least(x, y) :- same(x, y).
    least(x, y) <= least(x, z) :- z < y.
    """
    inputs = {"e": [(1, 2), (2, 3), (7, 8)]}

    assert run(text, engine="local", inputs=inputs) == run(text, inputs=inputs)


def test_widening_keeps_the_levels_of_inputs():
    """An input fact has level 0 also after its stratum ran again, and no fact is counted."""
    program = build("""
    .decl p(x: number)
    .input p
    p(x * 1000) :- p(x), x < 100000000000.
    """)
    codec = Codec(program.types)
    engine = LocalEngine(program, codec, Settings(jobs=1), {}, annotated=True)
    engine.insert("p", [np.array([1, 1, 1000])])

    engine.evaluate(SilentObserver())

    stored = engine._state.relations["p"]
    annotations = {
        int(row[0]): (int(level), int(count))
        for row, level, count in zip(stored.live_rows(), stored.levels, stored.counts, strict=False)
    }
    assert annotations == {1: (0, 0), 1000: (0, 0), 10**6: (1, 0), 10**9: (2, 0), 10**12: (3, 0)}


def test_narrow_state_refuses_wide_codes():
    """A code that does not fit is never cut short."""
    engine, _ = engine_of(build(PATH))

    with pytest.raises(NeedsWideCodes):
        engine._state.pack([np.array([2**31])], 1)


# --- threads ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("_small_work_is_shared")
@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
def test_threads_find_what_one_thread_finds(program: RandomProgram):
    """The number of jobs changes no relation."""
    built = build(program.text)
    limit = {"iteration_limit": 200}

    def answer(jobs: int) -> object:
        try:
            return run_program(
                built, engine="local", inputs=program.inputs, settings=Settings(jobs=jobs, **limit)
            )
        except TidelogError as error:
            return [diagnostic.code for diagnostic in error.diagnostics]

    assert answer(3) == answer(1)


@pytest.mark.usefixtures("_small_work_is_shared")
def test_threads_share_dense_relations(monkeypatch):
    """Relations that use bits are derived, checked and negated by several threads alike."""
    monkeypatch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", 1)
    text = (
        PATH
        + """
    .decl back(x: number, y: number)
    back(x, y) :- path(x, y), path(y, x), edge(x, _).
    .decl gap(x: number, y: number)
    gap(x, y) :- edge(x, _), edge(_, y), !path(y, x), !edge(x, y).
    """
    )
    inputs = {"edge": [*RING["edge"], *((node, node + 1) for node in range(100, 130))]}

    assert run(text, engine="local", inputs=inputs, settings=Settings(jobs=4)) == run(
        text, engine="local", inputs=inputs
    )


@pytest.mark.usefixtures("_small_work_is_shared")
def test_threads_agree_with_the_closure_of_a_ring():
    """Every node of a strongly connected graph reaches every node."""
    found = run(PATH, engine="local", inputs=RING, settings=Settings(jobs=4))

    assert found["path"] == {(left, right) for left in range(SIZE) for right in range(SIZE)}


@pytest.mark.usefixtures("_small_work_is_shared")
def test_threads_widen_together():
    """A code that asks for 64 bits in one thread stops the others and the stratum runs again."""
    text = (
        PATH
        + """
    .decl grown(x: number, y: number)
    grown(x, y) :- path(x, y).
    grown(x, y * 1000 + x) :- grown(x, y), y < 100000000.
    """
    )

    assert run(text, engine="local", inputs=RING, settings=Settings(jobs=3)) == run(
        text, engine="local", inputs=RING
    )


# --- plans made again ------------------------------------------------------------------------


def test_rules_are_planned_again_when_the_stratum_has_grown(monkeypatch):
    """A stratum that outgrows its plan gets another one, and the same facts."""
    planned = []

    def count_plans(*arguments, **options):
        planned.append(arguments)
        return plan_stratum(*arguments, **options)

    plan_stratum = stratum.plan_stratum
    monkeypatch.setattr(stratum, "plan_stratum", count_plans)
    monkeypatch.setattr(stratum, "_PLAN_AGAIN_ROWS", 8)

    found = run(PATH, engine="local", inputs=RING)

    strata = len(build(PATH).strata)
    assert len(planned) > strata
    assert found["path"] == {(left, right) for left in range(SIZE) for right in range(SIZE)}


def test_only_rules_that_read_a_grown_relation_are_planned_again(monkeypatch):
    """A relation grows beside one that is larger from the start: the rules that read it get other plans."""
    planned = []

    def note_rules(part, *arguments, **options):
        planned.append({rule.head.relation for rule in part.rules})
        return plan_stratum(part, *arguments, **options)

    plan_stratum = stratum.plan_stratum
    monkeypatch.setattr(stratum, "plan_stratum", note_rules)
    monkeypatch.setattr(stratum, "_PLAN_AGAIN_ROWS", 8)
    text = """
    .decl big(x: number)
    .input big
    .decl small(x: number)
    .decl pair(x: number, y: number)
    big(x) :- small(x), big(x).
    small(0).
    small(x + 1) :- small(x), big(x), x < 100.
    pair(x, y) :- small(x), big(y), x = y.
    small(x) :- pair(x, x), x < 0.
    .output pair
    """

    found = run(text, engine="local", inputs={"big": [(x,) for x in range(1000)]})

    assert found["pair"] == {(x, x) for x in range(101)}
    again = planned[len(build(text).strata) :]
    assert {"small", "pair", "big"} in again
    assert {"small"} in again


@settings(max_examples=EXAMPLES)
@given(program=programs() | dense_programs())
def test_plans_made_again_in_every_iteration_find_the_same(program: RandomProgram):
    """Rules planned anew keep their indexes, rules that are not keep theirs, and no fact is lost."""
    built = build(program.text)

    def answer() -> object:
        try:
            return run_program(
                built, engine="local", inputs=program.inputs, settings=Settings(iteration_limit=200)
            )
        except TidelogError as error:
            return [diagnostic.code for diagnostic in error.diagnostics]

    once = answer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stratum, "_PLAN_AGAIN_ROWS", 0)
        patch.setattr(stratum, "_PLAN_AGAIN_FACTOR", 1)
        again = answer()

    assert again == once


@settings(max_examples=2 * EXAMPLES)
@given(program=programs() | dense_programs())
@pytest.mark.parametrize("bits", [1, 1 << 18])
@pytest.mark.parametrize("jobs", [1, 3])
def test_presence_without_numbers_finds_the_same(bits: int, jobs: int, program: RandomProgram):
    """Membership by bits or packed words, from a relation's first rows on, changes no fact."""
    built = build(program.text)

    def answer() -> object:
        limits = Settings(iteration_limit=200, jobs=jobs)
        try:
            return run_program(built, engine="local", inputs=program.inputs, settings=limits)
        except TidelogError as error:
            return [diagnostic.code for diagnostic in error.diagnostics]

    by_slots = answer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidelog.storage.relation._SMALLEST", 1)
        patch.setattr("tidelog.storage.packed._SMALLEST_ROWS", 1)
        patch.setattr("tidelog.storage.pairs._SMALLEST_ROWS", bits)
        patch.setattr(stratum, "_ROWS_FOR_THREADS", 4)
        patch.setattr(workers, "_ROWS_FOR_THREADS", 1)
        patch.setattr(workers, "_WORK_PER_THREAD", 1)
        patch.setattr(workers, "_ROWS_PER_THREAD", 1)
        patch.setattr("tidelog.storage.index.ROWS_TO_DIVIDE", 1)
        patch.setattr(stratum, "_ROWS_TO_TRY", 1)
        by_presence = answer()

    assert by_presence == by_slots


def test_a_rule_that_finds_much_for_few_facts_is_shared(monkeypatch):
    """The first facts are tried by one thread; how much they lead to says whether others take part."""
    program = build(
        ".decl a(k: number, x: number) .input a .decl b(k: number, y: number) .input b "
        ".decl pair(x: number, y: number) .output pair pair(x, y) :- a(k, x), b(k, y)."
    )
    inputs = {"a": [(1, x) for x in range(600)], "b": [(1, y) for y in range(100)]}
    ranges: list[tuple[int, int]] = []
    run_chains = workers.Workers.run_chains

    def watched(self, chains, insertion, rows, work_per_fact):
        ranges.append(rows)
        run_chains(self, chains, insertion, rows, work_per_fact)

    monkeypatch.setattr(workers.Workers, "run_chains", watched)
    monkeypatch.setattr(stratum, "_ROWS_TO_TRY", 7)

    found = run_program(program, engine="local", inputs=inputs, settings=Settings(jobs=2))

    # Whichever of the two is scanned.
    assert ranges in ([(7, 600)], [(2, 100)])
    assert found["pair"] == {(x, y) for x in range(600) for y in range(100)}


# --- limits and interruption -----------------------------------------------------------------


def test_memory_limit_is_a_diagnostic():
    """Too much memory is reported with the sizes of relations, not as a failure of Python."""
    program = build(PATH)
    engine, _ = engine_of(program, memory_limit_bytes=1 << 20)

    with pytest.raises(TidelogError) as caught:
        engine.insert("edge", [np.arange(1234), np.arange(1234)])

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "memory-limit"
    assert "over the limit of 1 MiB" in diagnostic.message
    assert "edge 1,234" in diagnostic.message
    assert diagnostic.hint


def test_memory_is_checked_between_iterations():
    """A recursion that never ends is stopped by the limit."""
    engine, _ = engine_of(build(COUNTING_UP))
    checks = []

    def give_up_later() -> None:
        checks.append(engine.size("p"))
        if len(checks) == 5:
            raise MemoryError

    engine._check_memory = give_up_later

    with pytest.raises(MemoryError):
        engine.evaluate(SilentObserver())

    assert checks == [1, 2, 3, 4, 5]


def test_iteration_limit_is_a_diagnostic():
    """A stratum without a fixpoint is reported once the limit is reached."""
    with pytest.raises(TidelogError) as caught:
        run(COUNTING_UP, engine="local", settings=Settings(jobs=1, iteration_limit=10))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "iteration-limit"
    assert "`p`" in diagnostic.message
    assert "10" in diagnostic.message


class InterruptingObserver(SilentObserver):
    """Interrupts the run after some iterations, as a user's Ctrl-C would."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration
        self.seen = 0

    def iteration_finished(self, stratum: int, iteration: int, new_facts: int, total_facts: int) -> None:
        """Interrupt once."""
        del stratum, new_facts, total_facts
        self.seen = iteration
        if iteration == self.iteration:
            _thread.interrupt_main()


@pytest.mark.parametrize("jobs", [1, 3])
def test_interrupted_run_stops_and_lets_its_threads_go(jobs):
    """Ctrl-C ends an endless recursion with KeyboardInterrupt; no thread stays behind."""
    engine, codec = engine_of(build(COUNTING_UP), jobs=jobs)
    observer = InterruptingObserver(20)

    with pytest.raises(KeyboardInterrupt):
        engine.evaluate(observer)

    assert observer.seen >= 20
    assert our_threads() == []
    found = read(engine, build(COUNTING_UP).relations["p"], codec)
    assert {(number,) for number in range(20)} <= found


@pytest.mark.usefixtures("_small_work_is_shared")
def test_failure_in_one_thread_ends_the_run():
    """What goes wrong in a worker reaches the caller; the relation stays sound and threads go."""
    engine, codec = engine_of(build(PATH), jobs=3)
    relation = engine._state.relations["path"]
    engine.insert("edge", [np.array(column) for column in zip(*RING["edge"], strict=True)])
    insert_shared = relation.insert_shared

    def fail_late(*arguments: object) -> int:
        if relation.count > SIZE:
            raise RuntimeError("out of luck")
        return insert_shared(*arguments)

    relation.insert_shared = fail_late

    with pytest.raises(RuntimeError, match="out of luck"):
        engine.evaluate(SilentObserver())

    assert our_threads() == []
    found = read(engine, build(PATH).relations["path"], codec)
    assert set(RING["edge"]) <= found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_negated_pattern_with_a_term_without_a_value_does_not_hold(engine):
    """Where a term has no value, neither an atom nor its negation holds, also next to an open record."""
    text = """
    .type Pair = [a: number, b: symbol]
    .decl p(x: number)
    p(0). p(2).
    .decl e(c: Pair, x: number)
    e([1, "a"], 5).
    .decl r(x: number)
    r(x) :- p(x), !e([1, _], x / x).
    .decl s(x: number)
    s(x) :- p(x), !e([2 / x, _], 5).
    """
    found = run(text, engine=engine)

    assert found["r"] == {(2,)}
    assert found["s"] == set()


# --- buffers ---------------------------------------------------------------------------------


def test_buffers_grow_with_what_is_written():
    """A step begins with a small buffer, which grows while batches fill it, and no further."""
    buffer = steps.first_buffer(3, np.int32)
    sizes = [len(buffer)]

    for _ in range(4):
        buffer = steps.next_buffer(buffer, len(buffer))
        sizes.append(len(buffer))

    assert sizes == [256, 2048, steps.BUFFER_ROWS, steps.BUFFER_ROWS, steps.BUFFER_ROWS]
    assert steps.next_buffer(buffer, len(buffer) - 1) is buffer
    assert buffer.shape[1] == 3


def test_a_program_of_many_rules_reserves_little():
    """The steps of rules that yield little take little: their buffers used to take gigabytes of addresses."""
    rules = [f"p{n + 1}(x, z) :- p{n}(x, y), p{n}(y, z)." for n in range(100)]
    declared = [f".decl p{n}(x: number, y: number)" for n in range(101)]
    engine, _ = engine_of(build("\n".join([*declared, "p0(1, 2). p0(2, 3).", *rules])))

    tracemalloc.start()
    engine.evaluate(SilentObserver())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 << 20, peak


@pytest.mark.parametrize("jobs", [1, 2])
def test_facts_that_no_rule_derives_twice_are_appended(monkeypatch, jobs):
    """A rule whose head has all variables of its body appends to an empty relation; others insert."""
    monkeypatch.setattr(stratum, "_ROWS_FOR_THREADS", 2)
    monkeypatch.setattr(workers, "_WORK_PER_THREAD", 2)
    text = """
        .decl e(x: number, y: number)
        .decl all(x: number, y: number, z: number)
        .decl both(x: number, y: number)
        .decl some(x: number)
        .decl left(x: number, y: number)
        .input e
        .output all, both, some, left
        all(x, y, z) :- e(x, y), e(y, z).
        both(x, y) :- e(x, y).
        both(y, x) :- e(x, y).
        some(x) :- e(x, _).
        left(x, y) :- e(x, y), !both(y, 3), all(x, y, _).
    """
    appended = []
    append = StoredRelation.append
    monkeypatch.setattr(
        StoredRelation, "append", lambda self, rows: (appended.append(self.arity), append(self, rows))
    )
    facts = {"e": [(x, x * y % 13) for x in range(20) for y in range(5)]}

    found = run(text, engine="local", inputs=facts, settings=Settings(jobs=jobs))

    assert found == run(text, inputs=facts)
    assert set(appended) == {2, 3}


def test_indexes_go_with_the_last_stratum_that_looks_at_them():
    """Later strata find the indexes of earlier ones that they join; nobody finds those of others."""
    program = build(
        """
        .decl edge(x: number, y: number)
        .input edge
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
        .decl round(x: number)
        round(x) :- path(x, y), edge(y, x).
        .decl last(x: number)
        last(x) :- round(x), !path(x, 1000), edge(x, _).
        .output last
        """
    )
    engine, _ = engine_of(program)
    engine.insert("edge", list(np.array(RING["edge"]).T))
    held = []

    class Watch(SilentObserver):
        def stratum_finished(self, number, statistics):  # noqa: ARG002 - an observer's method
            relations = engine._state.relations
            indexed = {name for name in ("edge", "path") if relations[name].all_indexes()}
            held.append((statistics.relations, indexed))

    engine.evaluate(Watch())
    assert [indexed for relations, indexed in held if "path" in relations] == [{"edge"}]
    assert held[-1] == (("last",), set())
    assert engine.size("last") == SIZE
