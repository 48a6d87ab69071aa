"""Epochs: facts inserted and deleted, and the exact difference that comes back."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tidelog
from tidelog import Branch, Session, TidelogError
from tidelog.options import EngineName

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl lonely(x: number)
lonely(x) :- node(x), !path(x, _).
.decl node(x: number)
.decl busy()
busy() :- n = count : { path(_, _) }, n > 3.
.decl flag()
.decl on(s: symbol)
on("yes") :- flag().
.decl both(x: number)
.input both
both(x) :- edge(x, _).
.type Shape = Dot {} | Box {w: number, next: List}
.type List = [head: symbol, tail: List]
.decl shape(s: Shape, f: float, u: unsigned)
"""


@pytest.fixture(params=["local", "reference"])
def engine(request: pytest.FixtureRequest) -> EngineName:
    """Return the name of each engine in turn."""
    name: EngineName = request.param
    return name


@pytest.fixture
def db(engine: EngineName) -> Iterator[Session]:
    """Return a session with two edges and three nodes."""
    facts = {"edge": [(1, 2), (2, 3)], "node": [1, 2, 3]}
    with tidelog.open(PROGRAM, facts=facts, engine=engine, jobs=1) as session:
        yield session


def codes(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    """Return the codes of the diagnostics of an error."""
    return [each.code for each in error.value.diagnostics]


def contents(db: Session) -> dict[str, set[tuple[object, ...]]]:
    """Return all facts of all relations."""
    return {name: set(db[name]) for name in db}


# --- what a delta says ------------------------------------------------------------------------


def test_a_delta_is_the_exact_difference(db: Session) -> None:
    """Every relation's inserted and deleted facts lead from the old epoch to the new one."""
    before = contents(db)

    delta = db.apply(insert={"edge": [(3, 4)]}, delete={"edge": [(1, 2)]})

    after = contents(db)
    for name in db:
        assert delta[name].inserted == after[name] - before[name]
        assert delta[name].deleted == before[name] - after[name]
    assert set(delta) == {name for name in db if before[name] != after[name]}
    assert set(delta["path"]) == {(-1, (1, 2)), (-1, (1, 3)), (1, (2, 4)), (1, (3, 4))}
    assert db.epoch == delta.epoch == 1


def test_impact_counts_what_was_derived(db: Session) -> None:
    """The changes themselves are no impact, also in a relation that is input and derived."""
    assert db.apply(insert={"edge": [(3, 1)]}).impact == 6 + 1 + 1 + 1
    assert db.apply(insert={"both": [(9,)]}).impact == 0
    assert db.apply(insert={"both": [(1,)]}).impact == 0
    assert db.apply("-both(9).").impact == 0


def test_the_input_of_a_derived_fact_may_go_while_the_fact_stays(db: Session) -> None:
    """A fact can be input and derived at once."""
    db.apply(insert={"both": [(1,)]})

    delta = db.apply(delete={"both": [(1,)]})

    assert len(delta) == 0
    assert delta.changes["both"].deleted == {(1,)}
    assert (1,) in db["both"]
    assert db.apply(delete={"edge": [(1, 2)]})["both"].deleted == {(1,)}


def test_changes_without_effect_are_told(db: Session) -> None:
    """Inserting what is there and deleting what is not changes nothing, and the delta says so."""
    delta = db.apply(insert="edge(1, 2)", delete="edge(7, 7)")

    assert not delta
    assert delta.without_effect["edge"].inserted == {(1, 2)}
    assert delta.without_effect["edge"].deleted == {(7, 7)}
    assert not delta.changes
    assert "without effect: +edge(1, 2), it is an input fact already" in str(delta)
    assert "without effect: -edge(7, 7), it is not an input fact" in str(delta)
    assert db.epoch == 1


def test_a_delta_reads_as_a_change_script(db: Session) -> None:
    """Printed, a delta is a title and the changes, which another session can apply."""
    delta = db.apply("+edge(3, 4). -edge(1, 2).")

    lines = str(delta).splitlines()
    assert lines[0] == "// epoch 1: 5 facts inserted, 5 facts deleted, impact 8"
    assert lines[1:] == [
        "-edge(1, 2).",
        "+edge(3, 4).",
        "-path(1, 2).",
        "-path(1, 3).",
        "+path(2, 4).",
        "+path(3, 4).",
        "-lonely(3).",
        "+lonely(1).",
        "-both(1).",
        "+both(3).",
    ]
    assert "<delta to epoch 1:" in repr(delta)
    assert "<td>path</td><td>2</td><td>2</td>" in delta._repr_html_()
    assert repr(delta["path"]) == "<path: 2 inserted, 2 deleted>"


def test_a_long_delta_is_cut_in_print(db: Session) -> None:
    """Only the first facts of each relation are shown, and how many more there are."""
    delta = db.apply(insert={"node": range(100, 200)})

    assert "// ... and 80 more inserted into node" in str(delta)


def test_a_delta_is_arrow(db: Session) -> None:
    """The change feed of a relation has its columns and a diff."""
    delta = db.apply("+edge(3, 4). -edge(1, 2). +flag().")

    table = delta["path"].to_arrow()
    assert table.column_names == ["x", "y", "diff"]
    assert table.to_pylist()[0] == {"x": 1, "y": 2, "diff": -1}
    assert pa.table(delta["path"]) == table
    assert delta.to_arrow().keys() == set(delta)
    assert delta["flag"].to_arrow().to_pydict() == {"diff": [1]}
    assert delta["path"].inserted.to_pandas().to_numpy().tolist() == [[2, 4], [3, 4]]


def test_a_delta_of_a_relation_that_did_not_change_is_empty(db: Session) -> None:
    """Asking for an unchanged relation is no mistake; asking for an unknown one is."""
    delta = db.apply("+node(8).")

    assert "path" not in delta
    assert len(delta["path"]) == 0
    assert delta["path"].to_arrow().num_rows == 0
    with pytest.raises(TidelogError) as error:
        _ = delta["paths"]
    assert codes(error) == ["undeclared-relation"]


def test_each_stratum_is_reported(db: Session) -> None:
    """What was done to each stratum is told with the work it took and a reason in words."""
    delta = db.apply("+edge(3, 4).")

    assert {name for each in delta.strata for name in each.relations} >= {"path", "edge"}
    assert all(each.reason and each.work >= 0 for each in delta.strata)
    assert delta.explain_strategy().startswith("epoch 1\n")
    assert "path: " in delta.explain_strategy()
    assert delta.seconds > 0


def test_an_epoch_can_be_taken_back(db: Session) -> None:
    """Applying the inverse of a delta gives the state before it."""
    before = contents(db)
    delta = db.apply("+edge(3, 4). -edge(1, 2). +flag(). +edge(2, 3).")

    db.apply(delta.inverse())

    assert contents(db) == before


def test_a_delta_can_be_applied_to_another_session(db: Session, engine: EngineName) -> None:
    """The changes of one session bring another one to the same facts, whatever its codes."""
    other = tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)], "node": [1, 2, 3]}, engine=engine)
    delta = db.apply("+edge(3, 4). -edge(1, 2). +shape($Box(1, ['b', nil]), 1.5, 2).")

    other.apply(delta.changes)

    assert contents(other) == contents(db)


# --- forms of changes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        [(3, 4), (4, 5)],
        iter([(3, 4), (4, 5)]),
        {"x": [3, 4], "y": [4, 5]},
        pd.DataFrame({"x": [3, 4], "y": [4, 5]}),
        pl.DataFrame({"y": [4, 5], "x": [3, 4]}),
        pa.table({"x": [3, 4], "y": [4, 5]}),
    ],
    ids=["tuples", "iterator", "columns", "pandas", "polars", "arrow"],
)
def test_facts_come_in_every_form_that_open_takes(rows: object) -> None:
    """Whatever holds facts can be inserted and deleted."""
    with tidelog.open(PROGRAM, engine="reference") as db:
        assert db.apply(insert={"edge": rows})["edge"].inserted == {(3, 4), (4, 5)}


def test_facts_come_from_files(tmp_path: Path) -> None:
    """A path in the place of facts is read."""
    (tmp_path / "edge.csv").write_text("5\t6\n")
    with tidelog.open(PROGRAM, engine="reference") as db:
        db.apply(insert={"edge": tmp_path / "edge.csv"})

        assert db["edge"] == {(5, 6)}


def test_facts_come_as_text(db: Session) -> None:
    """One text with several facts, or several texts; values of all types are read."""
    db.apply(insert="edge(3, 4). edge(4, 5)")
    db.apply(insert=["edge(5, 6)", "flag(). node(-7)"], delete=["edge(3, 4)"])
    db.apply(insert="shape($Box(-1, ['a', [\"b\", nil]]), -1.5, 18446744073709551615u)")
    db.apply(insert="shape($Dot(), 2, 3)")

    assert db["edge"] == {(1, 2), (2, 3), (4, 5), (5, 6)}
    assert db["on"] == {("yes",)}
    assert (-7,) in db["lonely"]
    assert db["shape"] == {
        (Branch("Box", (-1, ("a", ("b", None)))), -1.5, 2**64 - 1),
        (Branch("Dot"), 2.0, 3),
    }


def test_changes_come_by_relation(db: Session) -> None:
    """A mapping says what to do to each relation."""
    db.apply({"edge": tidelog.Change(insert=[(3, 4)], delete=[(1, 2)]), "node": {"insert": [9]}})

    assert db["edge"] == {(2, 3), (3, 4)}
    assert (9,) in db["node"]


def test_relations_and_answers_are_facts_too(db: Session) -> None:
    """What a session shows can be handed back to it, or to another one."""
    with tidelog.open(PROGRAM, engine="reference") as other:
        other.apply(insert={"edge": db["edge"], "node": db.query("path(1, x)")})

        assert other["edge"] == {(1, 2), (2, 3)}
        assert other["node"] == {(2,), (3,)}

    assert db.apply(delete={"edge": db["edge"]})["path"].deleted == {(1, 2), (1, 3), (2, 3)}
    assert len(db["edge"]) == 0


def test_a_relation_without_columns_comes_and_goes(db: Session) -> None:
    """Its one fact is given as text, as a truth, or as an empty tuple."""
    assert db.apply("+flag().")["on"].inserted == {("yes",)}
    assert not db.apply(insert={"flag": True})
    assert db.apply(delete={"flag": [()]})["flag"].deleted == {()}
    assert db.apply(insert={"flag": True})["flag"].inserted == {()}
    assert db.apply(delete={"flag": True})["on"].deleted == {("yes",)}
    assert not db.apply(insert={"flag": False})
    assert not db.query("flag()")


# --- net effect -----------------------------------------------------------------------------------


def test_a_fact_in_both_is_inserted(db: Session) -> None:
    """What counts is whether the fact is there at the end."""
    assert not db.apply(insert={"edge": [(1, 2)]}, delete={"edge": [(1, 2)]})
    assert db.apply(insert={"edge": [(8, 9)]}, delete={"edge": [(8, 9)]})["edge"].inserted == {(8, 9)}


def test_the_last_word_about_a_fact_counts(db: Session) -> None:
    """In a script and in a transaction changes happen in their order."""
    assert not db.apply("+edge(8, 9). -edge(8, 9).")
    assert not db.apply("-edge(1, 2). +edge(1, 2). -edge(5, 5). -edge(5, 5).")
    with db.transaction() as t:
        t.delete("edge", [(1, 2)])
        t.insert("edge(1, 2)")
        t.insert({"edge": [(4, 4), (4, 4)]})
        t.change("-edge(2, 3).")
    assert t.delta["edge"].inserted == {(4, 4)}
    assert t.delta["edge"].deleted == {(2, 3)}


def test_an_exception_in_a_transaction_leaves_all_as_it_was(db: Session) -> None:
    """Nothing is applied, the epoch stays, and the exception goes on."""
    before = contents(db)

    with pytest.raises(ZeroDivisionError), db.transaction() as t:  # noqa: PT012 - a block is what is tested
        t.insert("edge(3, 4)")
        _ = 1 // 0

    assert contents(db) == before
    assert db.epoch == 0
    with pytest.raises(TidelogError) as error:
        t.insert("edge(3, 4)")
    assert codes(error) == ["transaction-ended"]
    with pytest.raises(TidelogError):
        _ = t.delta


def test_a_transaction_can_be_ended_by_hand(db: Session) -> None:
    """`commit` inside the block gives the delta; `rollback` forgets the changes."""
    with db.transaction() as t:
        t.insert("edge(3, 4)")
        assert t.commit()["edge"].inserted == {(3, 4)}
    with db.transaction() as t:
        t.insert("edge(4, 5)")
        t.rollback()
    assert db.epoch == 1


# --- mistakes -----------------------------------------------------------------------------------


def test_all_mistakes_reject_the_epoch_at_once(db: Session) -> None:
    """Unknown relations, derived ones, wrong arities and types are told together; nothing changes."""
    before = contents(db)

    with pytest.raises(TidelogError) as error:
        db.apply(
            insert={"path": [(1, 1)], "edg": [(1, 2)], "edge": [("a", 1)], "node": [(5,)]},
            delete="edge(1). edge(x, 2). path(1, 2). edge('a', 3). none(1). edge(1, 2)",
        )

    assert sorted(codes(error)) == sorted(
        [
            "wrong-arity",
            "not-a-constant",
            "not-an-input",
            "type-clash",
            "undeclared-relation",
            "not-an-input",
            "undeclared-relation",
            "wrong-value-type",
        ]
    )
    assert contents(db) == before
    assert db.epoch == 0


def test_mistakes_in_a_transaction_are_told_at_its_end(db: Session) -> None:
    """The block runs through, and then all its mistakes are raised."""
    with pytest.raises(TidelogError) as error, db.transaction() as t:  # noqa: PT012 - a block is what is tested
        t.insert("edges", [(1, 2)])
        t.insert("edge(1, 2, 3)")
        t.insert("edge(7, 8)")

    assert codes(error) == ["undeclared-relation", "wrong-arity"]
    assert (7, 8) not in db["edge"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("+shape($Bux(1, nil), 1.0, 1).", "undeclared-branch"),
        ("+shape($Box(1), 1.0, 1).", "wrong-field-count"),
        ("+shape($Box(1, [1, nil]), 1.0, 1).", "type-clash"),
        ("+shape($Box(1, ['a']), 1.0, 1).", "wrong-field-count"),
        ("+shape([1, 2], 1.0, 1).", "type-clash"),
        ("+shape($Dot(), 'a', 1).", "type-clash"),
        ("+shape($Dot(), 1.0, -1).", "number-too-large"),
        ("+shape(nil, 1.0, 1).", "type-clash"),
        ("+node(1 + 1).", "not-a-constant"),
        ("+node(1u).", "type-clash"),
        ("+node(_).", "not-a-constant"),
        ("+node(1.5).", "type-clash"),
        ("+path(1, 2).", "not-an-input"),
        ("+lonely(1). +busy().", "not-an-input"),
    ],
)
def test_a_written_fact_must_fit_its_relation(text: str, code: str) -> None:
    """Each mistake is a diagnostic with its place in the text."""
    with tidelog.open(PROGRAM, engine="reference") as db, pytest.raises(TidelogError) as error:
        db.apply(text)

    assert set(codes(error)) == {code}
    assert all(each.span is not None for each in error.value.diagnostics)


@pytest.mark.parametrize(
    "changes",
    [{"edge": [(1, 2)]}, {"edge": {"insert": [], "remove": []}}],
)
def test_changes_of_another_form_are_mistakes(changes: dict[str, object]) -> None:
    """What is given in the place of changes is named."""
    with tidelog.open(PROGRAM, engine="reference") as db, pytest.raises(TidelogError) as error:
        db.apply(changes)  # type: ignore[arg-type]

    assert codes(error) == ["bad-changes"]


def test_strategies_are_chosen_per_session_and_per_epoch(engine: EngineName) -> None:
    """A strategy that does not exist and a share that is no number are mistakes, told together."""
    is_local = engine == "local"
    with tidelog.open(PROGRAM, engine=engine, strategy="recompute") as db:
        strategy = "update" if is_local else "auto"
        assert db.apply("+edge(1, 2).", strategy=strategy)["path"].inserted == {(1, 2)}
        assert db.apply("+edge(2, 3).", max_update_share=0 if is_local else None)["path"].inserted == {
            (2, 3),
            (1, 3),
        }
        assert db.apply("-edge(1, 2).")["path"].deleted == {(1, 2), (1, 3)}
        with pytest.raises(TidelogError) as error:
            db.apply("+edge(1, 2).", strategy="updates", max_update_share=float("nan"))

    assert codes(error) == ["unknown-strategy", "bad-update-share"]
    assert error.value.diagnostics[0].hint == "did you mean `update`?"


def test_a_closed_session_takes_no_changes(db: Session) -> None:
    """All ways to change a closed session are refused."""
    transaction = db.transaction()
    db.close()

    for use in (
        lambda: db.apply("+edge(1, 2)."),
        transaction.commit,
        db.transaction,
        lambda: db.add_rules("node(1)."),
        lambda: db.subscribe("path", print),
        db.deltas,
        lambda: list(db["path"]),
    ):
        with pytest.raises(TidelogError) as error:
            use()
        assert codes(error) == ["session-closed"]


# --- views ------------------------------------------------------------------------------------------


def test_a_relation_shows_the_present_epoch(db: Session) -> None:
    """A view taken earlier follows the epochs; a snapshot of it does not."""
    view = db["path"]
    kept = view.snapshot()
    assert list(view) == [(1, 2), (1, 3), (2, 3)]

    db.apply("-edge(1, 2).")

    assert list(view) == [(2, 3)]
    assert (1, 2) not in view
    assert len(view) == 1
    assert list(kept) == [(1, 2), (1, 3), (2, 3)]
    assert (1, 2) in kept


def test_a_loop_over_a_relation_sees_one_epoch(db: Session) -> None:
    """Applying changes inside a loop does not disturb it."""
    seen = []
    for x, y in db["path"]:
        seen.append((x, y))
        db.apply(insert={"edge": [(x + 10, y + 10)]})

    assert seen == [(1, 2), (1, 3), (2, 3)]
    assert db.epoch == 3


def test_threads_see_whole_epochs(db: Session) -> None:
    """While one thread applies changes, another never sees half of one."""
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            edges = db["edge"].snapshot()
            if ((20, 21) in edges) != ((21, 22) in edges):
                wrong.append(list(edges))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(10):
        db.apply("+edge(20, 21). +edge(21, 22).")
        db.apply("-edge(20, 21). -edge(21, 22).")
    stop.set()
    reader.join()

    assert wrong == []
    assert db.epoch == 20


# --- many random epochs --------------------------------------------------------------------------

CHANGES = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["edge", "both", "node"]), st.integers(0, 4), st.integers(0, 4)),
    max_size=6,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES, min_size=1, max_size=5))
def test_deltas_add_up_to_what_evaluation_gives(epochs: list[list[tuple[bool, str, int, int]]]) -> None:
    """After every epoch the facts are those of a fresh evaluation, and old plus delta is new."""
    model: dict[str, set[tuple[int, ...]]] = {"edge": set(), "both": set(), "node": set()}
    with tidelog.open(PROGRAM) as db:
        for changes in epochs:
            before = contents(db)
            script = []
            for is_insert, name, x, y in changes:
                fact = (x, y) if name == "edge" else (x,)
                (model[name].add if is_insert else model[name].discard)(fact)
                script.append(f"{'+' if is_insert else '-'}{name}({', '.join(map(str, fact))}).")
            delta = db.apply(" ".join(script))
            after = contents(db)
            for name in db:
                assert (before[name] - delta[name].deleted) | delta[name].inserted == after[name]
                assert not delta[name].inserted & before[name]
                assert delta[name].deleted <= before[name]
            with tidelog.open(PROGRAM, facts=model, engine="reference") as fresh:
                assert contents(fresh) == after


def test_get_of_a_delta_is_that_of_a_mapping(db: Session) -> None:
    """An unknown name gives the default; `[]` says what is wrong, and what may be meant."""
    delta = db.apply(insert=["edge(7, 8)"])

    assert delta.get("paht") is None
    assert delta.get("paht", 5) == 5
    assert delta.get(None) is None  # type: ignore[call-overload]
    assert delta.get("path", 5) == delta["path"]
    assert delta.get("flag") == delta["flag"]
    for name in ("paht", 5, None, ["path"]):
        with pytest.raises(TidelogError) as error:
            delta[name]  # type: ignore[index]
        assert error.value.diagnostics[0].code == "undeclared-relation"
        assert name not in delta
        assert name not in db
    with pytest.raises(TidelogError, match="did you mean `path`"):
        delta["paht"]
