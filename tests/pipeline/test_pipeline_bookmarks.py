"""New rows of tables are found by a bookmark, whatever its type and whatever the time zones."""

import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from tidelog.errors import TidelogError
from tidelog.pipeline import Changes, Job, JobSource, Output, Pipeline, SourceFormat
from tidelog.pipeline.bookmarks import Bookmark, rows_after

PROGRAM = ".decl a(n: number)\n.decl b(n: number)\nb(n) :- a(n).\n"
START = datetime(2024, 3, 31, 0, 30, tzinfo=UTC)
TIMES = [START + timedelta(hours=3 * place, microseconds=place) for place in range(4)]


@pytest.fixture
def zones(spark, monkeypatch):
    """Return a function that moves the driver and the session of Spark to time zones; both come back."""
    before = spark.conf.get("spark.sql.session.timeZone")

    def move(driver, session):
        monkeypatch.setenv("TZ", driver)
        time.tzset()
        spark.conf.set("spark.sql.session.timeZone", session)

    yield move
    monkeypatch.undo()
    time.tzset()
    spark.conf.set("spark.sql.session.timeZone", before)


def job_of(tmp_path, source):
    """Return a job that copies numbers from a source of insertions."""
    (tmp_path / "p.dl").write_text(PROGRAM)
    return Job("p.dl", "state", (source,), (Output("b", path="b"),), folder=tmp_path)


def rows_of(spark, job, make, counts):
    """Return how many rows each run reads when the table has so many."""
    found = []
    for count in counts:
        make(count)
        found.append(Pipeline(job, spark=spark).run().rows)
    return found


@pytest.mark.parametrize(
    ("driver", "session"),
    [
        ("UTC", "UTC"),
        ("UTC", "America/Los_Angeles"),
        ("Asia/Tokyo", "UTC"),
        ("America/New_York", "Asia/Tokyo"),
    ],
)
def test_instants_do_not_depend_on_zones(spark, tmp_path, zones, driver, session):
    """Rows some hours apart are each read once, wherever the driver and the session are (issue 18)."""
    source = JobSource("a", SourceFormat.TABLE, table="marked", changes=Changes.INSERT, bookmark="at")
    job = job_of(tmp_path, source)
    zones("UTC", "UTC")
    frames = {
        count: spark.createDataFrame(list(zip(TIMES, range(count), strict=False)), "at timestamp, n int")
        for count in (1, 2, 4)
    }
    zones(driver, session)

    found = rows_of(
        spark, job, lambda count: frames[count].createOrReplaceTempView("marked"), (1, 1, 2, 2, 4)
    )

    assert found == [1, 0, 1, 0, 2]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("long", [2**62, 2**62 + 1, 2**62 + 2]),
        ("decimal(20,3)", [Decimal("9.999"), Decimal("10.000"), Decimal("10.001")]),
        ("double", [0.1, 0.1 + 2**-54, 7.0]),
        ("string", ["a", "b'c", "é"]),
        ("date", [date(2024, 3, 30), date(2024, 3, 31), date(2024, 4, 1)]),
        ("timestamp_ntz", [datetime(2024, 3, 31, hour, 30) for hour in (1, 2, 3)]),  # noqa: DTZ001
    ],
)
def test_bookmarks_are_typed(spark, tmp_path, kind, values):
    """The last value is kept exactly, and compared as what it is."""
    source = JobSource("a", SourceFormat.TABLE, table="marked", changes=Changes.INSERT, bookmark="at")
    job = job_of(tmp_path, source)

    def make(count):
        rows = list(zip(values[:count], range(count), strict=True))
        spark.createDataFrame(rows, f"at {kind}, n int").createOrReplaceTempView("marked")

    assert rows_of(spark, job, make, (1, 1, 2, 3, 3)) == [1, 0, 1, 1, 0]


def test_nan_is_not_a_bookmark(spark, tmp_path):
    """NaN is greater than every float, so that nothing would ever be new after it."""
    source = JobSource("a", SourceFormat.TABLE, table="marked", changes=Changes.INSERT, bookmark="at")
    values = [(1.0, 1), (float("nan"), 2), (2.0, 3)]

    def make(count):
        spark.createDataFrame(values[:count], "at double, n int").createOrReplaceTempView("marked")

    assert rows_of(spark, job_of(tmp_path, source), make, (2, 3))[0] == 2
    assert rows_of(spark, job_of(tmp_path, source), make, (3,)) == [1]


@pytest.mark.parametrize("session", ["UTC", "America/Los_Angeles", "Asia/Tokyo"])
def test_times_of_a_database(spark, tmp_path, zones, session):
    """Times without a zone are compared by the database as they are written."""
    url = f"jdbc:derby:{tmp_path / 'derby'};create=true"
    options = {"url": url, "dbtable": "marked"}
    source = JobSource("a", SourceFormat.JDBC, options=options, changes=Changes.INSERT, bookmark="AT")
    job = job_of(tmp_path, source)
    zones("UTC", session)

    def make(count):
        values = [(datetime(2024, 3, 31, 3 * place, 30), place) for place in range(count)]  # noqa: DTZ001
        frame = spark.createDataFrame(values, "AT timestamp_ntz, n int")
        frame.write.format("jdbc").options(**options).mode("overwrite").save()

    assert rows_of(spark, job, make, (1, 1, 2, 4)) == [1, 0, 1, 2]


def test_a_bookmark_must_increase(spark, tmp_path):
    """A column of truth values cannot say what is new."""
    source = JobSource("a", SourceFormat.TABLE, table="marked", changes=Changes.INSERT, bookmark="at")
    spark.createDataFrame([(True, 1)], "at boolean, n int").createOrReplaceTempView("marked")

    with pytest.raises(TidelogError) as caught:
        Pipeline(job_of(tmp_path, source), spark=spark).run()

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "source-type"
    assert "the bookmark `at` of the source `a` is a boolean" in diagnostic.message


def test_bookmarks_of_earlier_versions_are_read(spark):
    """They are texts without a type, cast to that of the column."""
    frame = spark.createDataFrame([(9,), (10,), (11,)], "seq int")

    assert [row.seq for row in rows_after(frame, "`seq`", Bookmark("9")).collect()] == [10, 11]
