"""Data frames whose rows and texts stay with workers, from the frames given to the frames returned."""

import math
import tempfile
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tidelog
from tidelog import TidelogError
from tidelog.engine.spark import ingest, texts
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.texts import FiledDictionary, TextFile, read_texts, write_texts
from tidelog.spark import evaluate
from tidelog.values.dictionary import Dictionary

LANGUAGE = """
.decl sale(who: symbol, what: symbol, price: float, code: unsigned, n: number)
.decl follows(x: symbol, y: symbol)
.decl cheap(who: symbol, price: float, code: unsigned)
.output cheap
cheap(w, p, c) :- sale(w, "tea", p, c, n), n < 3.
.decl reach(x: symbol, y: symbol)
.output reach
reach(x, y) :- follows(x, y).
reach(x, z) :- reach(x, y), reach(y, z).
.decl buys(x: symbol, n: number)
.output buys
buys(x, n) :- reach(x, y), sale(y, _, _, _, n), !cheap(y, _, _).
"""
NAMES = st.sampled_from(["ann", "bob", "tea", "", "né", "a'b\n", "x" * 40])
SALES = st.tuples(
    NAMES,
    NAMES,
    st.sampled_from([0.0, -0.0, 1.5, math.inf, -2.25]),
    st.sampled_from([0, 7, 2**31, 2**63 - 1]),
    st.sampled_from([0, 1, 5, -(2**40)]),
)
EVERYWHERE = {"driver_facts": -1, "partners": 2}


def rows(frame):
    """Return the rows of a frame in order."""
    return sorted(tuple(row) for row in frame.collect())


# An evaluation takes seconds: a failing case is shown as it is, not shrunk.
@settings(
    max_examples=3,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(sales=st.lists(SALES, min_size=1, max_size=8), follows=st.lists(st.tuples(NAMES, NAMES), min_size=1))
def test_workers_read_what_the_driver_would_read(spark, sales, follows):
    """Every kind of value comes out of workers' files as it comes out of the local engine."""
    frames = {
        "sale": spark.createDataFrame(
            [(*sale, 1) for sale in sales] + [(*sales[0], 2)],
            "who string, what string, price double, code long, n long, extra int",
        ).drop("extra"),
        "follows": spark.createDataFrame(follows, "y string, x string"),
    }

    found = evaluate(LANGUAGE, frames, spark_options=EVERYWHERE)

    with tidelog.open(LANGUAGE, facts={"sale": sales, "follows": [(x, y) for y, x in follows]}) as db:
        for name, frame in found.items():
            assert rows(frame) == sorted(db[name]), name


def test_unsigned_numbers_come_back_as_decimals(spark):
    """Spark has no unsigned numbers: what `evaluate` returns, decimals, it takes again, with all 64 bits."""
    text = ".decl a(n: unsigned)\n.decl b(n: unsigned)\n.output b\nb(n) :- a(n).\n"
    numbers = [(Decimal(n),) for n in (0, 2**63 - 1, 2**63, 2**64 - 1)]
    given = spark.createDataFrame(numbers, "n decimal(20,0)")

    for options in (EVERYWHERE, {}):
        once = evaluate(text, {"a": given}, spark_options=options)["b"]
        assert rows(evaluate(text, {"a": once}, spark_options=options)["b"]) == numbers

    too_many = spark.createDataFrame([(Decimal(2**64),)], "n decimal(38,0)")
    for options in (EVERYWHERE, {}):
        with pytest.raises(TidelogError, match=r"64 bits|decimal"):
            evaluate(text, {"a": too_many}, spark_options=options)["b"].collect()


@pytest.fixture
def unread(monkeypatch):
    """Fail the test if the driver reads the texts of workers."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))


@pytest.mark.usefixtures("unread")
def test_texts_stay_with_workers(spark):
    """From frame to frame no text comes to the driver, also if constants and small strata run there."""
    text = LANGUAGE + '.decl fixed(x: symbol)\n.output fixed\nfixed("bob").\nfixed("tea").\n'
    frames = {
        "sale": spark.createDataFrame(
            [("ann", "tea", 1.5, 3, 1)], "a string, b string, c float, d int, e int"
        ),
        "follows": spark.createDataFrame([("bob", "ann"), ("cid", "bob")], "a string, b string"),
    }

    found = evaluate(text, frames, spark_options=EVERYWHERE)

    assert rows(found["cheap"]) == [("ann", 1.5, 3)]
    assert rows(found["reach"]) == [("bob", "ann"), ("cid", "ann"), ("cid", "bob")]
    assert rows(found["fixed"]) == [("bob",), ("tea",)]


@pytest.mark.usefixtures("unread")
def test_workers_make_texts(spark, caplog):
    """A functor over texts runs where they are; neither old texts nor new ones come to the driver."""
    text = LANGUAGE + '.decl loud(x: symbol)\n.output loud\nloud(cat(x, "!")) :- reach(x, _).\n'
    frames = {"follows": spark.createDataFrame([("ann", "bob"), ("bob", "cid")], "a string, b string")}

    found = evaluate(text, {**frames, "sale": []}, spark_options={**EVERYWHERE, "driver_facts": 0})

    assert "in the driver" not in caplog.text
    assert rows(found["loud"]) == [("ann!",), ("bob!",)]
    assert rows(found["reach"]) == [("ann", "bob"), ("ann", "cid"), ("bob", "cid")]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ((None, "a"), "column `x` of type `symbol` has a null"),
        (("a", None), "column `n` of type `unsigned` has a null"),
        (("a", -1), "column `n` of type `unsigned` has a negative number"),
    ],
)
def test_a_bad_value_is_a_diagnostic(spark, row, what):
    """Workers find a value that has no code, and the driver says in which column."""
    row = (row[0], 3) if row[1] == "a" else row
    text = ".decl f(x: symbol, n: unsigned)\n.decl g(x: symbol)\n.output g\ng(x) :- f(x, _).\n"
    frame = spark.createDataFrame([("a", 1), ("b", 2), row], "x string, n long").coalesce(1)

    with pytest.raises(TidelogError, match=what):
        evaluate(text, {"f": frame}, spark_options=EVERYWHERE)


def test_columns_are_checked_before_workers_start(spark):
    """Names and types of columns are those of the relation, or a diagnostic as for any frame."""
    text = ".decl f(x: symbol, n: number)\n.decl g(x: symbol)\n.output g\ng(x) :- f(x, _).\n"

    with pytest.raises(TidelogError, match=r"1 column \(x\) where"):
        evaluate(text, {"f": spark.createDataFrame([("a",)], "x string")}, spark_options=EVERYWHERE)
    frame = spark.createDataFrame([("a", "b")], "x string, n string")
    with pytest.raises(TidelogError, match="its type is string"):
        evaluate(text, {"f": frame}, spark_options=EVERYWHERE)


def test_a_frame_that_changes_is_noticed(spark):
    """Rows that are others when they are read again would be lost: the evaluation ends."""
    text = ".decl f(x: symbol)\n.decl g(x: symbol)\n.output g\ng(x) :- f(x).\n"

    def renamed(batches):
        for batch in batches:
            yield pa.record_batch({"x": [uuid.uuid4().hex for _ in range(batch.num_rows)]})

    frame = spark.range(20).mapInArrow(renamed, "x string")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "_kept", lambda each: each)
        with pytest.raises(TidelogError, match="other texts when it was read again"):
            evaluate(text, {"f": frame}, spark_options=EVERYWHERE)

    assert evaluate(text, {"f": frame}, spark_options=EVERYWHERE)["g"].count() == 20


@settings(max_examples=40)
@given(
    known=st.lists(NAMES, unique=True),
    filed=st.lists(st.lists(st.text(max_size=2), unique=True), max_size=3),
    steps=st.lists(st.lists(NAMES | st.text(max_size=2), max_size=5), max_size=4),
    is_read=st.booleans(),
)
def test_a_dictionary_continues_in_files(known, filed, steps, is_read):
    """Texts of files are found, and others added, under the codes that one dictionary would give them."""
    whole, first = Dictionary(), Dictionary()
    whole.encode(known)
    first.encode(known)
    with tempfile.TemporaryDirectory() as path, pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "GROUP_ROWS", 2)
        folder, files = Folder(path), []
        for part, found in enumerate(filed):
            new = [text for text in found if whole.find(text) is None]
            whole.encode(new)
            files.append(TextFile(f"{part}.parquet", part, len(new)))
            write_texts(folder, files[-1], pa.array(new, pa.string()))
        dictionary = FiledDictionary(first, folder, files)

        for number, step in enumerate(steps):
            assert [dictionary.find(text) for text in step] == [whole.find(text) for text in step]
            assert dictionary.encode(step).tolist() == whole.encode(step).tolist()
            every = np.arange(len(whole))
            assert len(dictionary) == len(whole)
            assert dictionary.decode(every) == whole.decode(every)
            assert [dictionary.text_of(code) for code in every.tolist()] == whole.decode(every)
            keys = dictionary.ranks_of(every[::-1])
            assert np.argsort(keys).tolist() == np.argsort(whole.ranks_of(every[::-1])).tolist()
            if not is_read:
                assert dictionary.is_read == (not any(file.count for file in files))
            if is_read and number == 1:
                assert dictionary.ranks().tolist() == whole.ranks().tolist()
        everything = [read_texts(folder, file).to_pylist() for file in dictionary.all_files("own")]
        assert [text for part in everything for text in part] == whole.decode(np.arange(len(whole)))
