"""What a user is told when something fails inside Spark: one line with the reason, and what to do."""

import socket

import pytest

pytest.importorskip("pyspark")

from py4j.protocol import Py4JError

from tidelog import TidelogError
from tidelog.engine.spark.cluster import check_session
from tidelog.engine.spark.java_errors import java_diagnostic, plain_failures
from tidelog.engine.spark.masters import against_unreachable
from tidelog.engine.spark.versions import against_session, against_spark, java_remark

TRACE = "\n\tat org.apache.spark.Thing.run(Thing.scala:1)\n\t... 276 more"
SAID = {
    "org.apache.spark.SparkClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: "
    "delta. Make sure the provider name is correct. SQLSTATE: 42K02": ("spark-missing-package", "io.delta"),
    "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: iceberg.": ("spark-missing-package", "iceberg-"),
    "[KAFKA_DATA_SOURCE_NOT_ENABLED] Failed to find data source: kafka.": ("spark-missing-package", "kafka"),
    "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: exel.": (
        "spark-missing-package",
        "may be wrong",
    ),
    "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a"
    ".S3AFileSystem not found": ("spark-missing-package", "hadoop-aws"),
    "java.sql.SQLException: No suitable driver": ("spark-missing-package", "JDBC driver"),
    "org.apache.spark.SparkException: Job aborted due to stage failure: Total size of serialized results "
    "of 9 tasks is bigger than spark.driver.maxResultSize (1024.0 MiB)": ("spark-result-too-large", "raise"),
    "java.lang.OutOfMemoryError: Java heap space": ("spark-out-of-memory", "spark.driver.memory"),
    "org.apache.spark.SparkException: All masters are unresponsive! Giving up.": ("spark-unreachable", "up"),
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, "
    "most recent failure: Lost task 0.0 in stage 1.0 (TID 1) (h executor 1): ExecutorLostFailure (executor "
    "1 exited caused by one of the running tasks) Reason: killed": ("spark-lost-executors", "logs"),
    "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.": (
        "spark-no-session",
        "new",
    ),
    "java.lang.ArithmeticException: something else": ("spark-failed", "log"),
}


@pytest.mark.parametrize("said", SAID)
def test_failures_have_a_remedy(said):
    """Known failures have a code and a hint of their own; no message has a stack trace."""
    code, hint = SAID[said]

    found = java_diagnostic(Py4JError(said + TRACE), "Spark cannot do it")

    assert (found.code, hint in (found.hint or "")) == (code, True)
    assert found.message.startswith("Spark cannot do it: ")
    assert not any(word in found.message for word in ("\n", "\tat ", "SQLSTATE", "org.apache.spark.Spark"))


def test_the_innermost_reason_is_told(spark, tmp_path):
    """A failure in a task is told by what the task said, not by the job that was aborted."""
    frame = spark.sql("SELECT raise_error(concat('the real ', 'reason')) FROM range(1)")
    (tmp_path / "a.csv.gz").write_text("not compressed", encoding="utf-8")

    with pytest.raises(TidelogError, match="Spark failed: the real reason") as raised, plain_failures():
        frame.collect()
    with pytest.raises(TidelogError, match="not a gzip file"), plain_failures():
        spark.read.csv(str(tmp_path)).collect()

    assert [each.code for each in raised.value.diagnostics] == ["spark-failed"]


def test_a_result_beyond_the_limit(spark):
    """A result that is too large for the driver is told with the setting that limits it."""
    limit = "spark.driver.maxResultSize"
    conf = spark.sparkContext._jsc.sc().conf()
    before = conf.get(limit, "1g")
    conf.set(limit, "1k")
    try:
        with pytest.raises(TidelogError, match="maxResultSize"), plain_failures():
            spark.range(200_000).toArrow()
    finally:
        conf.set(limit, before)


def test_a_master_that_does_not_answer():
    """A standalone master is called before Java waits for it; one of several that answers is enough."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        up, down = (f"127.0.0.1:{each.getsockname()[1]}" for each in (listener, closed))

        told = {
            master: [each.code for each in against_unreachable(master)]
            for master in (
                f"spark://{up}",
                f"spark://{down},{up}",
                f"spark://{down}",
                f"k8s://https://{down}",
            )
        }

    assert list(told.values()) == [[], [], ["spark-unreachable"], ["spark-unreachable"]]
    assert [list(against_unreachable(each)) for each in (None, "local[2]", "yarn")] == [[], [], []]


@pytest.mark.parametrize(
    ("version", "is_right"),
    [
        ("4.0.0", True),
        ("4.1.2", True),
        ("4.3.0", True),
        ("4.3.0.dev1", True),
        ("3.5.6", False),
        ("5.0.0", False),
        ("?", False),
    ],
)
def test_versions_of_spark(version, is_right):
    """Spark 4 is taken, others are refused."""
    assert [each.code for each in against_spark(version)] == ([] if is_right else ["spark-version"])


def test_a_session_of_another_version(spark, monkeypatch):
    """SPARK_HOME may lead to another Spark than PySpark's own."""
    check_session(spark)
    other = type("Session", (), {"version": "4.0.1", "sparkContext": None, "range": None})()
    monkeypatch.setattr("pyspark.__version__", "4.1.0")

    assert [each.code for each in against_session(other)] == ["spark-version"]
    with pytest.raises(
        TidelogError, match=r"the Spark of this session is version 4\.0\.1, and PySpark here is 4\.1"
    ):
        check_session(other)


def test_a_remark_about_java():
    """Only a Java that Spark is not made for is mentioned."""
    assert (java_remark(17), java_remark(21), java_remark(None)) == ("", "", "")
    assert "Java 24" in java_remark(24)
