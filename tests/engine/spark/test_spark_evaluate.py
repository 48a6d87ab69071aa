"""Data frames in, data frames out: a program evaluated once on Spark."""

import gc

import pytest

from tidelog import TidelogError
from tidelog.spark import evaluate

REACH = """
.decl edge(x: symbol, y: symbol)
.decl reach(x: symbol, y: symbol)
.output reach
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), edge(y, z).
.decl degree(x: symbol, n: number)
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
"""


@pytest.fixture
def edges(spark):
    """Return three edges as a frame."""
    return spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "d")], "x string, y string")


def rows(frame):
    """Return the rows of a frame in order."""
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("options", [{}, {"driver_facts": -1, "partners": 2}])
def test_frames_become_frames(edges, options):
    """The outputs of the program come back as frames, from the driver or from files of workers."""
    found = evaluate(REACH, {"edge": edges}, spark_options=options)

    assert list(found) == ["reach"]
    assert found["reach"].columns == ["x", "y"]
    assert rows(found["reach"]) == [(x, y) for x in "abc" for y in "bcd" if x < y]


def test_frames_outlive_what_made_them(edges):
    """Frames read files of workers later, also when nothing else of the evaluation is left."""
    frame = evaluate(REACH, {"edge": edges}, spark_options={"driver_facts": -1, "partners": 2})["reach"]
    from_a = frame.where("x = 'a'").select("y")
    del frame
    gc.collect()

    assert rows(from_a) == [("b",), ("c",), ("d",)]


def test_outputs_may_be_named(edges, spark):
    """Any relation can be asked for, and frames may come from what Python has."""
    found = evaluate(REACH, {"edge": [("a", "b"), ("a", "c")]}, outputs=["degree"], spark=spark)

    assert rows(found["degree"]) == [("a", 2)]
    with pytest.raises(TidelogError, match="there is no relation `degre`"):
        evaluate(REACH, {"edge": edges}, outputs=["degre"])


def test_without_outputs_all_derived_relations_come(edges):
    """A program without `.output` gives what its rules derive."""
    found = evaluate(REACH.replace(".output reach", ""), {"edge": edges})

    assert list(found) == ["reach", "degree"]


def test_options_are_those_of_a_session(edges):
    """Functions and macros are given as to `tidelog.open`; a name that is none is told."""
    text = REACH + ".functor up(x: symbol): symbol\n.decl loud(x: symbol)\nloud(@up(x)) :- edge(x, LAST).\n"

    found = evaluate(
        text, {"edge": edges}, outputs=["loud"], functions={"up": str.upper}, defines={"LAST": '"d"'}
    )

    assert rows(found["loud"]) == [("C",)]
    with pytest.raises(TidelogError, match="there is no option `function`"):
        evaluate(text, {"edge": edges}, function={})
