"""Differences of a session's epochs that stay with workers until somebody asks for them."""

import pytest

import tidelog
from tidelog.engine.spark.texts import FiledDictionary
from tidelog.maintain.partners import differences, manifest

TEXT = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl same(x: symbol, y: symbol) eqrel
same(x, y) :- path(x, y).
.decl far(x: symbol, n: number)
far(x, n) :- path(x, _), n = count : { same(x, _) }.
"""
EDGES = [(f"node {n}", f"node {n + 1}") for n in range(20)]
CHANGES = {"insert": {"edge": [("node 3", "new")]}, "delete": {"edge": [("node 9", "node 10")]}}
NAMES = ("edge", "path", "same", "far")


def rows_of(frame):
    """Return the rows of a frame in an order of their own."""
    return sorted(map(tuple, frame.collect()))


@pytest.mark.parametrize("resident", [False, True])
def test_large_differences_stay_with_workers(spark, monkeypatch, resident):
    """Groups follow them from files; sizes and frames need no rows in the driver, and sets read them."""
    with tidelog.open(TEXT, facts={"edge": EDGES}) as db:
        expected = db.apply(**CHANGES)
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    options = {"driver_facts": 0, "partners": 2, "resident": resident, "delta_facts": 0}
    facts = {"edge": spark.createDataFrame(EDGES, "x string, y string")}

    with tidelog.open(TEXT, engine="spark", spark=spark, facts=facts, spark_options=options) as db:
        split = differences.split_difference
        monkeypatch.setattr(
            differences, "split_difference", lambda _: pytest.fail("the driver reads a difference")
        )
        delta = db.apply(**CHANGES)

        assert {each.where.value for each in db.snapshot.engine.placements} == {"partners", "worker"}
        assert repr(delta) == repr(expected)
        assert sorted(delta) == sorted(expected)
        for name in NAMES:
            for side in ("inserted", "deleted"):
                found, wanted = getattr(delta[name], side), getattr(expected[name], side)
                assert len(found) == len(wanted)
                assert rows_of(found.to_spark()) == sorted(wanted)
    monkeypatch.setattr(differences, "split_difference", split)
    for name in NAMES:
        assert delta[name] == expected[name]


def test_files_of_differences_stay_as_long_as_a_delta(spark, tmp_path, monkeypatch):
    """What nothing names is deleted from storage, but not what a delta may still be asked for."""
    monkeypatch.setattr(manifest, "_GRACE_SECONDS", -60.0)
    monkeypatch.setattr(manifest, "_SWEPT_EVERY", 1)
    state = tmp_path / "state"
    options = {"driver_facts": 0, "partners": 2, "delta_facts": 0, "storage": str(state)}
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(TEXT, facts={"edge": EDGES}, **common) as db:
        first = db.apply(**CHANGES)
        db.apply(insert={"edge": [("x", "y")]})
        size = len(first["path"])

        assert len(set(first["path"].inserted)) + len(set(first["path"].deleted)) == size > 0
    with tidelog.open(TEXT, **common) as db:
        db.apply(insert={"edge": [("y", "z")]})
        before = {name: set(db[name]) for name in NAMES}
    with tidelog.open(TEXT, **common) as db:
        assert {name: set(db[name]) for name in NAMES} == before
