"""The benchmark of growing sizes, on sizes that take no time."""

import json

from benchmarks.__main__ import main
from benchmarks.scale import GROWING, Point, sizes, slope


def test_sizes_go_by_half_powers_of_ten():
    """Both ends are among them."""
    assert [round(size) for size in sizes(100, 10_000)] == [100, 316, 1000, 3162, 10_000]


def test_the_slope_is_that_of_the_second_half():
    """Where starting no longer counts."""
    points = [Point("p", facts, max(1.0, facts / 100), 1) for facts in (1, 10, 100, 1000, 10_000)]

    assert slope(points, lambda point: point.seconds) == 1.0


def test_programs_are_measured(tmp_path, capsys):
    """Each finds about as many facts as it is asked for."""
    written = tmp_path / "scale.json"

    status = main(["scale", "--smallest", "1000", "--largest", "3000", "--json", str(written)])

    points = json.loads(written.read_text())
    assert status == 0
    assert [point["program"] for point in points] == [each.name for each in GROWING for _ in range(2)]
    assert all(300 < point["facts"] < 6000 for point in points)
    assert "ns a fact" in capsys.readouterr().out
