"""`spark.read.format("tidelog")` and `readStream`: outputs at an epoch, and the feed."""

import shutil

import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog.errors import TidelogError
from tidelog.pipeline import Job, JobSource, Output, Pipeline, SourceFormat, register
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.past import read_output

PROGRAM = """
.decl edge(x: symbol, n: unsigned)
.decl reach(x: symbol, n: unsigned, f: float)
.decl any()
reach(x, n, 0.5) :- edge(x, n).
reach("root", 18446744073709551615u, 0.0).
any() :- edge(_, _).
"""
ROOT = ("root", 2**64 - 1, 0.0)
# What the snapshot holds at each epoch; epochs 0, 2 and 4 write all facts, and 0 is dropped.
HISTORY = [
    [],
    [("a", 1), ("b", 2)],
    [("b", 2), ("c", 3)],
    [("a", 1), ("b", 2), ("c", 3), ("d", 4)],
    [("a", 1)],
]


@pytest.fixture(scope="module")
def state(spark, tmp_path_factory):
    """Return the state folder of a pipeline with five epochs."""
    folder = tmp_path_factory.mktemp("reading")
    (folder / "p.dl").write_text(PROGRAM, encoding="utf-8")
    job = Job(
        "p.dl",
        "state",
        (JobSource("edge", SourceFormat.CSV, path="edge.csv", max_deleted_share=1.0),),
        (Output("reach", every=2), Output("any")),
        folder=folder,
    )
    pipeline = Pipeline(job, spark=spark)
    for rows in HISTORY:
        lines = ["x,n", *(f"{x},{n}" for x, n in rows), ""]
        (folder / "edge.csv").write_text("\n".join(lines), encoding="utf-8")
        assert pipeline.run().epoch_count == 1
    register(spark)
    return folder / "state"


def reader(spark, **options):
    """Return a reader of the output `reach`."""
    return spark.read.format("tidelog").option("relation", "reach").options(**options)


def expected(epoch):
    """Return the facts of `reach` at an epoch."""
    return {ROOT, *((x, n, 0.5) for x, n in HISTORY[epoch])}


def test_an_output_at_every_epoch(spark, state):
    """Any committed epoch can be read, from written facts and the feed forward or backward."""
    for epoch in range(len(HISTORY)):
        rows = reader(spark, epoch=epoch).load(str(state)).collect()

        assert {(row.x, int(row.n), row.f) for row in rows} == expected(epoch)
        assert len(rows) == len(expected(epoch))

    assert reader(spark).load(str(state)).count() == len(expected(4))
    # The same without Spark, from the files alone.
    tables = [read_output(JobFolder(state), "reach", epoch) for epoch in range(len(HISTORY))]
    assert [{tuple(row.values()) for row in table.to_pylist()} for table in tables] == [
        expected(epoch) for epoch in range(len(HISTORY))
    ]


def test_the_schema_has_the_types_of_the_program(spark, state):
    """Numbers are bigint, unsigned decimals, floats double; a feed has epoch and op before them."""
    facts = reader(spark).load(str(state))
    feed = reader(spark, feed="true").load(str(state))

    assert facts.dtypes == [("x", "string"), ("n", "decimal(20,0)"), ("f", "double")]
    assert feed.dtypes[:2] == [("epoch", "bigint"), ("op", "string")]


def test_a_relation_without_columns(spark, state):
    """It has a row if it holds."""
    counts = [
        spark.read.format("tidelog").options(relation="any", epoch=epoch).load(str(state)).count()
        for epoch in (0, 1, 4)
    ]

    assert counts == [0, 1, 1]


def test_the_feed_is_read_as_a_stream(spark, state, tmp_path):
    """The stream gives every change once, epoch by epoch, and goes on where it was."""
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"

    def follow():
        stream = spark.readStream.format("tidelog").options(relation="reach", feed="true").load(str(state))
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start(str(out))
        query.awaitTermination()
        return [row for file in out.glob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]

    rows = follow()
    again = follow()

    facts = [set() for _ in HISTORY]
    for epoch in range(len(HISTORY)):
        before = facts[epoch - 1] if epoch else set()
        own = [(row["op"], (row["x"], int(row["n"]), row["f"])) for row in rows if row["epoch"] == epoch]
        deleted = {fact for op, fact in own if op == "-"}
        inserted = {fact for op, fact in own if op == "+"}
        assert deleted <= before
        assert not inserted & before
        facts[epoch] = before - deleted | inserted
    assert facts == [expected(epoch) for epoch in range(len(HISTORY))]
    assert len(again) == len(rows)


def test_the_feed_is_read_at_once(spark, state):
    """A batch reader of the feed takes the epochs that are asked for."""
    all_changes = reader(spark, feed="true").load(str(state)).count()
    some = reader(spark, feed="true", first_epoch=2, epoch=3).load(str(state))

    assert all_changes == 1 + 2 + 2 + 2 + 3
    none = reader(spark, feed="true", first_epoch=9).load(str(state))

    assert {row.epoch for row in some.select("epoch").distinct().collect()} == {2, 3}
    assert none.count() == 0


def test_a_store_is_read(spark, tmp_path):
    """The folder of a store can be read at its present epoch."""
    with tidelog.open(PROGRAM, facts={"edge": [("a", 1)]}, store=tmp_path / "store") as db:
        db.apply(insert={"edge": [("b", 2)]})
    folder = str(tmp_path / "store")
    register(spark)

    rows = reader(spark).load(folder).collect()

    assert {(row.x, int(row.n), row.f) for row in rows} == {ROOT, ("a", 1, 0.5), ("b", 2, 0.5)}
    with pytest.raises(Exception, match="is at epoch 1, not 0"):
        reader(spark, epoch=0).load(folder).collect()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"relation": "raech"}, "has no output `raech`"),
        ({"relation": "reach", "epoch": "soon"}, "`soon` is not a valid epoch"),
        ({"relation": "reach", "epoch": "99"}, "has no epoch 99"),
        ({}, "the option `relation` is missing"),
    ],
)
def test_wrong_options_are_told(options, words, spark, state):
    """Spark's error has our message."""
    with pytest.raises(Exception, match=words):
        spark.read.format("tidelog").options(**options).load(str(state)).collect()


def test_a_stream_reads_the_feed(spark, state, tmp_path):
    """A stream without the option `feed` is told to have it."""
    stream = spark.readStream.format("tidelog").option("relation", "reach").load(str(state))
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path))

    with pytest.raises(Exception, match="a stream reads the feed"):
        writer.trigger(availableNow=True).start().awaitTermination()


def test_a_folder_that_is_no_pipeline(tmp_path):
    """Reading a folder without epochs is a diagnostic."""
    with pytest.raises(TidelogError) as caught:
        read_output(JobFolder(tmp_path), "reach")

    assert [each.code for each in caught.value.diagnostics] == ["no-pipeline"]


def test_changes_that_are_lost_are_told(state, tmp_path):
    """If files of the feed are gone, an epoch that needs them is not made up from the others."""
    copy = shutil.copytree(state, tmp_path / "copy")
    shutil.rmtree(copy / "feed" / "reach" / "epoch-3")

    with pytest.raises(TidelogError) as caught:
        read_output(JobFolder(copy), "reach", 3)

    assert [each.code for each in caught.value.diagnostics] == ["damaged-pipeline"]


def test_a_damaged_manifest_is_named(tmp_path):
    """A manifest that is not valid is named; nothing is guessed."""
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "00000000.json").write_text('{"format": 99}')
    (tmp_path / "manifests" / "00000001.json").write_text("{")

    for epoch, words in ((0, "another version"), (1, "is not what was written")):
        with pytest.raises(TidelogError, match=words):
            JobFolder(tmp_path).read(epoch)
