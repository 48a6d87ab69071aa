"""Programs on Spark through the session a user holds."""

import pytest

import tidelog
from tidelog import TidelogError

PATHS = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EVERYWHERE = {"driver_facts": 0, "partners": 2}


def test_frames_go_in_and_come_out(spark):
    """A data frame fills a relation, workers derive, and a relation is a data frame again."""
    edges = spark.createDataFrame([("a", "b"), ("b", "c")], "x string, y string")

    with tidelog.open(
        PATHS, engine="spark", spark=spark, facts={"edge": edges}, spark_options=EVERYWHERE
    ) as db:
        frame = db["path"].to_spark()
        found = sorted(tuple(row) for row in frame.collect())

    assert found == [("a", "b"), ("a", "c"), ("b", "c")]
    assert frame.columns == ["x", "y"]


def test_an_epoch_is_applied(spark):
    """`apply` brings the relations to the next epoch and returns the exact difference."""
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    with tidelog.open(PATHS, facts={"edge": [("a", "b"), ("b", "c")]}, **options) as db:
        delta = db.apply(insert={"edge": [("c", "d")]}, delete={"edge": [("a", "b")]})

        assert set(delta["path"].inserted) == {("c", "d"), ("b", "d")}
        assert set(delta["path"].deleted) == {("a", "b"), ("a", "c")}
        assert set(db["path"]) == {("b", "c"), ("c", "d"), ("b", "d")}


def test_a_session_is_needed():
    """Without a Spark session there is a diagnostic, not a traceback."""
    with pytest.raises(TidelogError, match="spark-no-session"):
        tidelog.open(PATHS, engine="spark")


def test_options_are_checked(spark):
    """An option that does not exist is told, with those that do."""
    with pytest.raises(TidelogError, match="there is no Spark option `partner`"):
        tidelog.open(PATHS, engine="spark", spark=spark, spark_options={"partner": 2})
