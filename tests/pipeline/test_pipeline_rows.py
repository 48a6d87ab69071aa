"""Rows of every sort of source become facts, or go to the quarantine with a reason."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from tidelog.errors import TidelogError
from tidelog.pipeline import BadRows, Changes, Job, JobSource, Output, Pipeline, SourceFormat
from tidelog.pipeline.bind import bind_job
from tidelog.pipeline.checking import check_rows
from tidelog.pipeline.sources import parse_messages

PROGRAM = """
.type Pair = [a: number, b: symbol]
.decl csv(n: number, u: unsigned, f: float, s: symbol, p: Pair)
.decl changes(s: symbol, n: number)
.decl json(n: number, s: symbol)
.decl typed(n: number, u: unsigned, f: float, s: symbol)
.decl orc(n: number)
.decl jdbc(n: number, s: symbol)
.decl catalog(n: number)
.decl flag()
"""
CSV = '''n,u,f,s,p
1,18446744073709551615,1.5,a b,"[1, x]"
 -2 ,0,inf,,nil
3,4,.5,"a,""b""",nil
x,1,1.0,wrong number,nil
9223372036854775808,1,1.0,beyond,nil
1,-1,1.0,negative,nil
1,1,1.0f,wrong float,nil
,1,1.0,null number,nil
1,1,1.0,wrong record,"[x, y]"
1,1
1,2,3.0,too many,nil,6
'''
CHANGES = """op,s,n,at
+,kept,1,1
-,gone,1,1
+,twice,1,1
-,twice,1,2
?,odd,1,1
+,tie,1,5
-,tie,1,5
+,unordered,1,
"""
JSON = """{"n": 1, "s": "a"}
{"n": "2", "s": "b", "other": [1]}
{"n": 1.5, "s": "c"}
{"n": null, "s": "d"}
{"s": "e"}
{"n": 6, "s": "f"
"""
OUTPUTS = ("csv", "changes", "json", "typed", "orc", "jdbc", "catalog", "flag")


@pytest.fixture(scope="module")
def ran(spark, tmp_path_factory):
    """Run one job with a source of every sort, and return its folder and report."""
    folder: Path = tmp_path_factory.mktemp("rows")
    (folder / "rows.dl").write_text(PROGRAM, encoding="utf-8")
    for name, text in (("csv", CSV), ("changes", CHANGES), ("json", JSON)):
        (folder / name).mkdir()
        (folder / name / "part.txt").write_text(text, encoding="utf-8")
    columns = {
        "n": pa.array([1, None, 3], pa.int32()),
        "u": pa.array([1, 2, -3], pa.int64()),
        "f": pa.array([1.5, float("nan"), 1.0], pa.float32()),
        "text": pa.array(["a", "b", "c"]),
    }
    pq.write_table(pa.table(columns), folder / "typed.parquet")
    pyarrow.orc.write_table(pa.table({"n": [1, 2]}), str(folder / "orc.orc"))
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", str(folder / "derby.log"))
    url = f"jdbc:derby:{folder / 'derby'};create=true"
    frame = spark.createDataFrame([(1, "a"), (2, None)], "n int, s string")
    frame.write.format("jdbc").option("url", url).option("dbtable", "pairs").save()
    spark.range(3).withColumnRenamed("id", "n").createOrReplaceTempView("catalog_rows")
    job = Job(
        "rows.dl",
        "state",
        (
            JobSource("csv", SourceFormat.CSV, path="csv"),
            JobSource("changes", SourceFormat.CSV, path="changes", changes=Changes.OP, order="at"),
            JobSource("json", SourceFormat.JSON, path="json"),
            JobSource("typed", SourceFormat.PARQUET, path="typed.parquet", columns={"s": "text"}),
            JobSource("orc", SourceFormat.ORC, path="orc.orc"),
            JobSource("jdbc", SourceFormat.JDBC, options={"url": url, "dbtable": "pairs"}),
            JobSource("catalog", SourceFormat.TABLE, table="catalog_rows"),
            JobSource("flag", SourceFormat.ORC, "flags", path="orc.orc"),
        ),
        tuple(Output(name, path=f"out/{name}") for name in OUTPUTS),
        folder=folder,
    )
    return folder, Pipeline(job, spark=spark).run()


def facts(folder: Path, name: str) -> set[tuple[object, ...]]:
    """Return the published facts of a relation."""
    found = pq.ParquetFile(folder / "out" / name / "part-0.parquet").read()
    return {tuple(row.values()) for row in found.to_pylist()}


def quarantine(folder: Path, source: str) -> list[tuple[str, str, str]]:
    """Return reason, detail and row of the bad rows of a source."""
    (place,) = (folder / "state" / "quarantine" / f"source={source}").glob("epoch=*")
    rows = [row for file in place.glob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
    assert all(row["file"] is None or row["file"].startswith("file:") for row in rows)
    return sorted((row["reason"], row["detail"], row["row"]) for row in rows)


def test_csv_rows(ran):
    """Values are read as the relation's types; every other row is kept with what is wrong with it."""
    folder, _ = ran

    bad = quarantine(folder, "csv")

    assert {fact[:4] for fact in facts(folder, "csv")} == {
        (1, 2**64 - 1, 1.5, "a b"),
        (3, 4, 0.5, 'a,"b"'),
    }
    assert [(reason, detail) for reason, detail, _ in bad] == [
        ("malformed", "the row is malformed csv"),
        ("malformed", "the row is malformed csv"),
        ("null", "column `n` is null"),
        ("null", "column `s` is null"),
        ("out-of-range", "column `n` holds `9223372036854775808`, which is beyond the range of number"),
        ("out-of-range", "column `u` holds `-1`, which is beyond the range of unsigned"),
        ("wrong-type", "column `f` holds `1.0f`, which is not a valid float"),
        ("wrong-type", "column `n` holds `x`, which is not a valid number"),
        ("wrong-type", "column `p` holds `[x, y]`: `x` is not a valid number"),
    ]
    assert [row for _, _, row in bad][:2] == ["1,1", "1,2,3.0,too many,nil,6"]


def test_changes_of_one_fact(ran):
    """The last change by the order column counts; without a last one both are kept aside."""
    folder, _ = ran

    bad = quarantine(folder, "changes")

    assert facts(folder, "changes") == {("kept", 1)}
    assert [(reason, json.loads(row)["s"]) for reason, _, row in bad] == [
        ("conflict", "tie"),
        ("conflict", "tie"),
        ("null", "unordered"),
        ("unknown-op", "odd"),
    ]


def test_json_rows(ran):
    """Objects give facts by the names of their fields; broken ones are kept as they are."""
    folder, _ = ran

    bad = quarantine(folder, "json")

    assert facts(folder, "json") == {(1, "a"), (2, "b")}
    assert [reason for reason, *_ in bad] == ["malformed", "null", "null", "wrong-type"]
    assert bad[0][2] == '{"n": 6, "s": "f"'


def test_typed_rows(ran):
    """Parquet, ORC, JDBC and catalog columns keep their types; nulls and values out of range are bad."""
    folder, report = ran

    assert facts(folder, "typed") == {(1, 1, 1.5, "a")}
    assert [(reason, detail) for reason, detail, _ in quarantine(folder, "typed")] == [
        ("null", "column `n` is null"),
        ("out-of-range", "column `u` holds `-3`, which is beyond the range of unsigned"),
    ]
    assert facts(folder, "orc") == {(1,), (2,)}
    assert facts(folder, "jdbc") == {(1, "a")}
    assert facts(folder, "catalog") == {(0,), (1,), (2,)}
    assert facts(folder, "flag") == {(True,)}
    assert report.quarantined["jdbc"] == {"null": 1}


def test_the_report_counts_bad_rows(ran):
    """The report has rows and bad rows by source and reason, as JSON and as a page."""
    folder, report = ran

    written = json.loads((folder / "state" / "reports" / "report.json").read_text())
    page = (folder / "state" / "reports" / "report.html").read_text()

    assert report.quarantined["changes"] == {"conflict": 2, "null": 1, "unknown-op": 1}
    assert written["quarantined_count"] == report.quarantined_count == 20
    assert written["epochs"][0]["cause"] == "load"
    assert {"read", "derive", "write", "commit", "publish"} <= written["seconds"].keys()
    assert "<td>unknown-op</td>" in page
    assert "http" not in page


def test_messages_of_a_topic(spark, ran):
    """Messages are JSON objects; one without a value, or with another one, is malformed."""
    folder, _ = ran
    source = JobSource("json", SourceFormat.KAFKA, changes=Changes.INSERT)
    bound = bind_job(Job("rows.dl", "kafka", (source,), (Output("json"),), folder=folder))
    values = [b'{"n": 1, "s": "a"}', b'{"n": "x", "s": "b"}', b"[", None]
    messages = spark.createDataFrame([(value,) for value in values], "value binary")

    checked = check_rows(parse_messages(messages, bound, source), source, bound)
    found = [tuple(row) for row in checked.facts().collect()]
    bad = dict(checked.bad)
    checked.release()

    assert found == [(1, "a")]
    assert bad == {"malformed": 2, "wrong-type": 1}


def wrong_source(spark, folder: Path, source: JobSource, policy: BadRows = BadRows.QUARANTINE):
    """Run a job with one source, which must fail, and return the diagnostics."""
    job = Job("rows.dl", "wrong", (source,), (Output(source.relation),), bad_rows=policy, folder=folder)
    with pytest.raises(TidelogError) as caught:
        Pipeline(job, spark=spark).run()
    return caught.value.diagnostics


def test_a_job_may_refuse_bad_rows(spark, ran):
    """With bad_rows = "fail" nothing is committed, and the message shows the first bad rows."""
    folder, _ = ran

    (mistake,) = wrong_source(spark, folder, JobSource("json", SourceFormat.JSON, path="json"), BadRows.FAIL)

    assert mistake.code == "bad-rows"
    assert "4 rows are not facts" in mistake.message
    assert "which is not a valid number" in mistake.message
    assert not list((folder / "wrong" / "manifests").iterdir())


def test_sources_that_do_not_fit(spark, ran):
    """Columns that are missing or of another type, and sources that are not there, are diagnostics."""
    folder, _ = ran

    missing = wrong_source(spark, folder, JobSource("typed", SourceFormat.PARQUET, path="typed.parquet"))
    types = wrong_source(
        spark,
        folder,
        JobSource("typed", SourceFormat.PARQUET, path="typed.parquet", columns={"s": "n", "n": "text"}),
    )
    nowhere = wrong_source(spark, folder, JobSource("orc", SourceFormat.ORC, path="nowhere"))
    options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "a"}
    kafka = JobSource("orc", SourceFormat.KAFKA, changes=Changes.INSERT, options=options)
    no_connector = wrong_source(spark, folder, kafka)
    no_folder = wrong_source(
        spark, folder, JobSource("orc", SourceFormat.ORC, path="orc.orc", changes=Changes.INSERT)
    )

    assert [(each.code, each.message) for each in missing] == [
        ("missing-source-column", "the source `typed` has no column `s`")
    ]
    assert [each.code for each in types] == ["source-type", "source-type"]
    assert [each.code for each in nowhere] == ["unreadable-source"]
    assert [each.code for each in no_folder] == ["unreadable-source"]
    assert [each.code for each in no_connector] == ["spark-missing-package"]
