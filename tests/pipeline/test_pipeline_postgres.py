"""Tables of a real PostgreSQL as sources, read over JDBC."""

import pytest

from support import postgres
from tidelog.errors import TidelogError
from tidelog.pipeline import Changes, Job, JobSource, Output, Pipeline, SourceFormat
from tidelog.pipeline.past import read_output

PROGRAM = """
.decl member(who: symbol, team: symbol)
.decl event(n: number, x: float, u: unsigned)
"""


@pytest.fixture(scope="module")
def server():
    """Run a server in New York's time zone, while the driver's and the session's are others."""
    reason = postgres.why_not()
    if reason is not None:
        pytest.skip(reason)
    with postgres.serving("America/New_York") as found:
        yield found


def run(spark, folder, *sources):
    """Run a job over these sources and return its report and outputs."""
    (folder / "p.dl").write_text(PROGRAM, encoding="utf-8")
    names = dict.fromkeys(source.relation for source in sources)
    pipeline = Pipeline(Job("p.dl", "state", sources, tuple(map(Output, names)), folder=folder), spark=spark)
    report = pipeline.run()
    rows = {name: read_output(pipeline.folder, name).to_pylist() for name in names}
    return report, {name: {tuple(row.values()) for row in found} for name, found in rows.items()}


def source(server, relation, table, **others):
    """Return a source over a table of the server."""
    options = {"url": server.url, "dbtable": table, "user": "tests", "driver": "org.postgresql.Driver"}
    return JobSource(relation, SourceFormat.JDBC, options=options, **others)


def test_a_table_is_a_snapshot(spark, server, tmp_path):
    """All types that a relation takes are read; nulls are kept aside; the next load is the difference."""
    server.run("""
        DROP TABLE IF EXISTS numbers;
        CREATE TABLE numbers (n bigint, x real, u numeric(20, 0));
        INSERT INTO numbers VALUES (-9223372036854775808, 1.5, 18446744073709551615), (2, 2, 2), (3, null, 3);
    """)
    numbers = source(server, "event", "numbers")

    first, facts = run(spark, tmp_path, numbers)
    server.run("DELETE FROM numbers WHERE n = 2; INSERT INTO numbers VALUES (4, 'NaN', 4), (5, 5, -1)")
    second, later = run(spark, tmp_path, numbers)

    assert facts == {"event": {(-(2**63), 1.5, 2**64 - 1), (2, 2.0, 2)}}
    assert first.quarantined == {"event": {"null": 1}}
    assert {fact[0] for fact in later["event"]} == {-(2**63), 4}
    assert second.quarantined == {"event": {"null": 1, "out-of-range": 1}}
    assert [(row.inserted, row.deleted) for row in second.epochs[0].inputs] == [(1, 1)]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_new_rows_by_a_time(spark, server, tmp_path, zone, kind):
    """Rows are read once each by a time, with a zone or without, east and west of the database."""
    server.run(f"""
        DROP TABLE IF EXISTS changed;
        CREATE TABLE changed (op text, who text, team text, at {kind});
        INSERT INTO changed VALUES ('I', 'ann', 'red', '2024-03-10 01:30:00.000001');
        INSERT INTO changed VALUES ('I', 'bob', 'red', '2024-03-10 01:30');
    """)  # noqa: S608 - names of the test
    others = {"changes": Changes.OP, "inserts": ("I",), "deletes": ("D",), "bookmark": "at"}
    changed = source(server, "member", "changed", **others)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        first, _ = run(spark, tmp_path, changed)
        again, _ = run(spark, tmp_path, changed)
        server.run("INSERT INTO changed VALUES ('D', 'ann', 'red', '2024-03-10 01:30:00.000002')")
        last, facts = run(spark, tmp_path, changed)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)

    assert (first.rows, again.rows, last.rows) == (2, 0, 1)
    assert facts == {"member": {("bob", "red")}}


def test_a_server_that_does_not_answer(spark, server, tmp_path):
    """A database that is down, a table that is not there and a driver that is missing are diagnostics."""
    cases = {
        "spark-unreachable": {"url": "jdbc:postgresql://127.0.0.1:1/postgres"},
        "unreadable-source": {"dbtable": "nowhere"},
        "spark-missing-package": {"url": "jdbc:mysql://127.0.0.1/x", "driver": "com.mysql.jdbc.Driver"},
    }
    for code, wrong in cases.items():
        options = {**source(server, "event", "numbers").options, **wrong}

        with pytest.raises(TidelogError) as raised:
            run(spark, tmp_path, JobSource("event", SourceFormat.JDBC, options=options))

        assert [(each.code, "\n" in each.message) for each in raised.value.diagnostics] == [(code, False)]
