"""Records and algebraic values that stay with workers, from files and frames to the frames returned."""

import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tidelog
from support.driver_rows import few_rows_in_driver
from support.random_values import TYPES, facts_of
from tidelog import Branch, TidelogError
from tidelog.engine.spark import value_records
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.texts import FiledDictionary
from tidelog.engine.spark.value_records import FiledRecords, read_records, write_records
from tidelog.spark import evaluate
from tidelog.values import Records

LANGUAGE = f"""
{TYPES}
.type Nest = [pair: Pair, shape: Shape]
.type Near <: Pair
.type Tree = Leaf {{}} | Fork {{left: Tree, n: number}}
.decl held(p: Pair, l: List, s: Shape, n: number)
.input held
.decl nested(t: Nest, r: Tree, q: Near)
.input nested
.decl same(p: Pair, q: Pair)
.output same
same(p, q) :- held(p, _, _, n), held(q, _, _, n).
same(p, r) :- same(p, q), same(q, r).
.decl inner(p: Pair, s: Shape, r: Tree)
.output inner
inner(p, s, r) :- nested([p, s], r, _).
inner(p, s, r) :- inner(p, s, $Fork(r, _)).
.decl tail(l: List, n: number)
.output tail
tail(l, n) :- held(_, l, _, n).
tail(l, n) :- tail([_, l], n).
.decl made(t: Nest, x: symbol)
.output made
made([p, s], cat(x, "!")) :- held(p, _, s, _), p = [_, x], !inner(p, s, _).
.decl both(q: Near)
.output both
both(q) :- nested(_, _, q), same(q, _).
"""
OUTPUTS = ("same", "inner", "tail", "made", "both")
COLUMNS = {"held": ("Pair", "List", "Shape", "number"), "nested": ("Nest", "Tree", "Pair")}
EVERYWHERE = {"driver_facts": -1}


@pytest.fixture
def unread(monkeypatch):
    """Fail the test if the driver reads the texts or records of workers."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    monkeypatch.setattr(FiledRecords, "_read", lambda _: pytest.fail("the driver read all records"))


def rows(table):
    """Return the rows of an Arrow table in order, each as its text: NaN does not equal itself."""
    return sorted(map(repr, table.to_pylist()))


def frames_of(spark, facts):
    """Return data frames with texts for records and algebraic values."""
    with tidelog.open(LANGUAGE, facts=facts) as db:
        return {name: spark.createDataFrame(db[name].to_arrow()) for name in facts}


def expected_of(facts):
    """Return what the local engine derives."""
    with tidelog.open(LANGUAGE, facts=facts) as db:
        return {name: rows(db[name].to_arrow()) for name in OUTPUTS}


ROWS = st.integers(0, 3).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(-1, 2)] * width), min_size=1, max_size=5)
)


@settings(max_examples=60)
@given(
    known=st.lists(ROWS, max_size=2),
    steps=st.lists(st.tuples(st.booleans(), ROWS), max_size=5),
    is_read=st.booleans(),
)
def test_records_continue_in_files(known, steps, is_read):
    """Rows of files are found, and others added, under the codes that records in memory would give them."""
    whole, first = Records(), Records()
    for rows_known in known:
        first.intern(np.array(rows_known, np.int64).reshape(len(rows_known), -1))
        whole.intern(np.array(rows_known, np.int64).reshape(len(rows_known), -1))
    with tempfile.TemporaryDirectory() as path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_records, "GROUP_ROWS", 2)
        patch.setattr(value_records, "MOST_GROUPS", 1)
        folder = Folder(path)
        records = FiledRecords(first, folder)
        if not is_read:
            patch.setattr(FiledRecords, "_read", lambda _: pytest.fail("all records were read"))

        for number, (is_filed, step) in enumerate(steps):
            rows = np.array(step, np.int64).reshape(len(step), -1)
            known_now = len(whole)
            found = np.where((codes := whole.intern(rows)) < known_now, codes, -1)
            assert records.find(rows).tolist() == found.tolist()
            if is_filed and len(whole) > known_now:
                records.all_files(f"{number}")
                records.add_file(write_records(folder, f"{number}.parquet", *whole.rows_from(known_now)))
            assert records.intern(rows).tolist() == codes.tolist()
            if is_read and number == 2:
                records.read_all()
            assert len(records) == len(whole)
            every = np.arange(len(whole))[::-1]
            assert records.widths(every).tolist() == whole.widths(every).tolist()
            assert [records.row(code) for code in every[:-1].tolist()] == list(map(whole.row, every[:-1]))
            for width in (1, 2):
                own = every[whole.widths(every) == width]
                assert records.unpack(own, width).tolist() == whole.unpack(own, width).tolist()
                assert records.branches(own).tolist() == whole.branches(own).tolist()
        parts = [read_records(folder, file) for file in records.all_files("own")]
        widths, fields = (
            np.concatenate([np.empty(0, np.int64), *each]) for each in zip(([], []), *parts, strict=True)
        )
        expected = whole.rows_from(1)
        assert (widths.tolist(), fields.tolist()) == (expected[0].tolist(), expected[1].tolist())


# An evaluation takes seconds: a failing case is shown as it is, not shrunk.
@settings(
    max_examples=3,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(facts=facts_of(COLUMNS, min_facts=1), partners=st.sampled_from([2, 3]))
@pytest.mark.usefixtures("unread")
def test_records_come_back_as_from_the_local_engine(spark, facts, partners):
    """All kinds of values, nested and recursive, in frames that are read and in frames that are returned."""
    frames = frames_of(spark, facts)

    found = evaluate(LANGUAGE, frames, spark_options={**EVERYWHERE, "partners": partners})

    assert {name: rows(frame.toArrow()) for name, frame in found.items()} == expected_of(facts)


FACTS = {
    "held": [
        ((n % 3, f"text {n % 2}"), (n, (1, None)) if n % 2 else None, Branch("Box", (n, "é")), n // 2)
        for n in range(8)
    ],
    "nested": [
        (((n, "a, b"), Branch("Dot")), Branch("Fork", (Branch("Leaf"), n)), (n % 3, f"text {n % 2}"))
        for n in range(4)
    ],
}


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("resident", [False, True])
def test_a_session_keeps_records_with_workers(spark, tmp_path, resident):
    """Frames are read, and returned, by workers; the session goes on from its storage in the same way."""
    options = {"driver_facts": 0, "partners": 2, "resident": resident, "storage": str(tmp_path / "state")}
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(LANGUAGE, facts=frames_of(spark, FACTS), **common) as db:
        first = {name: rows(db[name].to_spark().toArrow()) for name in OUTPUTS}
        warnings = list(db.warnings)
    with tidelog.open(LANGUAGE, **common) as db:
        again = {name: rows(db[name].to_spark().toArrow()) for name in OUTPUTS}

    assert first == again == expected_of(FACTS)
    assert warnings == []


@pytest.mark.usefixtures("unread")
def test_changes_of_records_are_followed(spark):
    """Records that the driver inserts and deletes are looked up among those that workers have."""
    frames = frames_of(spark, FACTS)
    more = {"held": [((9, "new"), (5, (1, None)), Branch("Dot"), 0), ((1, "text 1"), None, Branch("Dot"), 7)]}
    options = {"driver_facts": 0, "partners": 2}
    gone = {"held": FACTS["held"][2:4]}

    with (
        tidelog.open(LANGUAGE, engine="spark", spark=spark, facts=frames, spark_options=options) as db,
        tidelog.open(LANGUAGE, facts=FACTS) as local,
    ):
        for change in ({"insert": more}, {"delete": gone}, {"insert": gone, "delete": more}):
            delta, expected = db.apply(**change), local.apply(**change)

            assert {name: set(delta[name].inserted) for name in OUTPUTS} == {
                name: set(expected[name].inserted) for name in OUTPUTS
            }
            assert {name: rows(db[name].to_spark().toArrow()) for name in OUTPUTS} == {
                name: rows(local[name].to_arrow()) for name in OUTPUTS
            }


PAIRS = """
.type Pair = [n: number, s: symbol]
.type Nest = [p: Pair, rest: Nest]
.decl a(x: Nest, n: number)
.input a
.decl b(x: Nest, y: Pair)
.output b
b(x, p) :- a(x, _), x = [p, _].
b(x, p) :- b([_, x], _), a(x, _), x = [p, _].
"""


@pytest.mark.usefixtures("unread")
def test_few_rows_of_records_come_to_the_driver(spark, tmp_path):
    """From frames to frames the driver sees numbers of rows and names of files, however many records."""
    count = 3000
    frame = spark.range(count).selectExpr(
        "concat('[[', id, ', text ', id % 7, '], [[', id % 50, ', b], nil]]') as x", "id as n"
    )
    options = {"driver_facts": 100, "partners": 2, "storage": str(tmp_path)}

    with few_rows_in_driver(150) as seen:
        found = evaluate(PAIRS, {"a": frame}, spark_options=options)["b"]
        found.write.parquet(str(tmp_path / "out"))

    assert seen
    written = spark.read.parquet(str(tmp_path / "out"))
    assert written.count() == written.distinct().count() == count
    assert written.where("x = '[[60, text 4], [[10, b], nil]]' and y = '[60, text 4]'").count() == 1


@pytest.mark.parametrize(
    ("column", "kind", "value", "what"),
    [
        ("p", "string", "[1, a", r"column `p` of type `Pair` .*`\[1, a`: expected `\]`"),
        ("p", "struct<n: int, s: int>", (1, 2), "column `p` of type `Pair`"),
        ("s", "string", None, "column `s` of type `Shape` has a null"),
        ("s", "string", "$Line", r"column `s` of type `Shape` .*`\$Line`: `Shape` has no branch `Line`"),
    ],
)
def test_a_value_of_another_type_is_a_diagnostic(spark, column, kind, value, what):
    """Workers find what is no value, and the driver says in which column."""
    text = f"{TYPES}.decl f({column}: {'Pair' if column == 'p' else 'Shape'})\n.decl g()\n.output g\n"
    text += "g() :- f(_).\n"
    good = {"p": "[1, a]", "s": "$Dot"}[column]
    values = [(good,), (value,)] if kind == "string" else [(value,), (value,)]
    frame = spark.createDataFrame(values, f"{column} {kind}").coalesce(1)

    with pytest.raises(TidelogError, match=what):
        evaluate(text, {"f": frame}, spark_options={**EVERYWHERE, "driver_facts": 0})


@pytest.mark.usefixtures("unread")
def test_records_may_be_lists_and_structs(spark):
    """Columns of nested Spark types are read like texts, nil is null, and texts are returned."""
    text = f"{TYPES}.decl f(p: Pair, l: List)\n.decl g(p: Pair, l: List)\n.output g\ng(p, l) :- f(p, l).\n"
    values = [((1, "a"), (1, None)), ((2, "b"), None), (None, (3, None))]
    frame = spark.createDataFrame(values, "p struct<a: int, b: string>, l struct<head: int, tail: string>")

    found = evaluate(text, {"f": frame}, spark_options={**EVERYWHERE, "partners": 2})["g"]

    assert sorted(map(tuple, found.collect())) == [
        ("[1, a]", "[1, nil]"),
        ("[2, b]", "nil"),
        ("nil", "[3, nil]"),
    ]
