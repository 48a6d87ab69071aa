"""What the benchmark of aggregates measures."""

from benchmarks.aggregates.ranges import AGGREGATES, measure_ranges


def test_ranges_are_measured() -> None:
    """Every aggregate has the time of a question and of a change."""
    rows = list(measure_ranges(300, 5, per_epoch=20, epochs=1))

    assert [row["aggregate"] for row in rows] == list(AGGREGATES)
    assert all({"question_us", "change_us", "change_alone_us"} <= row.keys() for row in rows)
