"""Sessions whose facts, texts and groups stay with workers."""

import pytest

import tidelog
from tidelog import TidelogError
from tidelog.engine.spark.texts import FiledDictionary

PATHS = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
EVERYWHERE = {"driver_facts": 0, "partners": 2}


@pytest.mark.parametrize("resident", [False, True])
def test_partners_keep_aggregates(spark, resident):
    """Groups are divided among partners and follow insertions and deletions, resident or not."""
    text = """
    .decl sale(x: symbol, p: number)
    .input sale
    .decl total(x: symbol, n: number, best: number)
    total(x, n, m) :- sale(x, _), n = sum p : { sale(x, p) }, m = max p : { sale(x, p) }.
    .decl shops(n: number)
    shops(n) :- n = count : { total(_, _, _) }.
    """
    facts = {"sale": [("a", 3), ("a", 4), ("b", 5), ("c", 1)]}
    options = {"driver_facts": 0, "partners": 2, "resident": resident}

    with tidelog.open(text, engine="spark", spark=spark, facts=facts, spark_options=options) as db:
        wheres = {each.where.value for each in db.snapshot.engine.placements}
        db.apply(insert={"sale": [("b", 9)]})
        delta = db.apply(insert={"sale": [("d", 2)]}, delete={"sale": [("a", 4), ("c", 1)]})

        assert wheres == {"partners"}
        assert set(delta["total"].inserted) == {("a", 3, 3), ("d", 2, 2)}
        assert set(delta["total"].deleted) == {("a", 7, 4), ("c", 1, 1)}
        assert set(db["total"]) == {("a", 3, 3), ("b", 14, 9), ("d", 2, 2)}
        assert set(db["shops"]) == {(3,)}
        assert not db.warnings


def test_failures_of_java_in_a_change_are_diagnostics(spark):
    """A frame that Spark fails to read is one diagnostic in `apply` too, and the session is as before."""
    facts = {"edge": [("a", "b")]}
    broken = spark.range(2).selectExpr("raise_error('no such luck') as x", "raise_error('no luck') as y")

    with tidelog.open(PATHS, engine="spark", spark=spark, facts=facts) as db:
        with pytest.raises(TidelogError, match="no such luck") as raised:
            db.apply(insert={"edge": broken})

        assert raised.value.diagnostics[0].code == "spark-failed"
        assert (db.epoch, set(db["edge"])) == (0, {("a", "b")})


@pytest.mark.parametrize("resident", [False, True])
def test_rows_of_frames_stay_with_workers(spark, resident, monkeypatch):
    """A session reads frames on workers, follows changes of their facts, and goes on from its storage."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    edges = [(n, n + 1) for n in range(30)]
    text = """
    .decl edge(x: number, y: number)
    .decl name(x: number, s: symbol)
    .decl path(x: number, s: symbol)
    path(x, s) :- edge(x, y), name(y, s).
    path(x, s) :- edge(x, y), path(y, s).
    .decl ends(s: symbol, n: number)
    ends(s, n) :- name(_, s), n = count : { path(_, s) }.
    """
    frames = {
        "edge": spark.createDataFrame(edges + edges[:3], "x int, y long"),
        "name": spark.createDataFrame([(30, "end"), (10, "ten")], "x long, s string"),
    }
    options = {**EVERYWHERE, "resident": resident}

    with tidelog.open(text, engine="spark", spark=spark, facts=frames, spark_options=options) as db:
        engine = db.snapshot.engine
        assert {each.where.value for each in engine.placements} == {"partners"}
        assert (len(db["edge"]), engine._inputs["edge"].filed.size) == (30, 30)
        delta = db.apply(delete={"edge": [(20, 21), (77, 78)]}, insert={"edge": [(3, 4), (90, 20)]})
        named = db.apply(insert={"name": [(15, "mid")]}, delete={"name": [(10, "ten")]})
        again = db.apply(insert={"edge": [(20, 21)]}, delete={"edge": [(90, 20)]})

        assert set(delta["edge"].inserted) == {(90, 20)}
        assert set(delta["edge"].deleted) == {(20, 21)}
        assert len(delta["path"].deleted) == 21
        assert len(again["path"].inserted) == 21
        assert set(named["ends"].inserted) == {("mid", 15)}
        assert set(named["ends"].deleted) == {("ten", 10)}
        assert len(db["edge"]) == 30


def test_frames_in_storage_are_continued(spark, tmp_path, monkeypatch):
    """A state that began with frames is opened again with their facts and texts, and what changed since."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    options = {**EVERYWHERE, "storage": str(tmp_path / "state")}
    frame = spark.createDataFrame([("a", "b"), ("b", "c"), ("c", "d")], "x string, y string")
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(PATHS, facts={"edge": frame}, **common) as db:
        db.apply(delete={"edge": [("b", "c")]}, insert={"edge": [("d", "e")]})
        before = set(db["path"])
    with tidelog.open(PATHS, facts={"edge": frame}, **common) as db:
        assert (db.epoch, set(db["path"])) == (1, before)
        assert set(db["edge"]) == {("a", "b"), ("c", "d"), ("d", "e")}
        db.apply(insert={"edge": [("b", "c")]})
        assert len(db["path"]) == 10
        rows = sorted(tuple(row) for row in db["edge"].to_spark().collect())

    assert rows == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]


@pytest.mark.parametrize("resident", [False, True])
def test_texts_and_records_are_made_by_partners(spark, resident, tmp_path, monkeypatch):
    """Functors, records and text aggregates run where the texts are, and go on from storage."""
    monkeypatch.setattr(FiledDictionary, "_read", lambda _: pytest.fail("the driver read all texts"))
    text = """
    .type Mail = [user: symbol, host: symbol]
    .decl person(name: symbol, team: symbol)
    .input person
    .decl mail(m: Mail)
    mail([n, cat(t, ".org")]) :- person(n, t).
    .decl address(a: symbol)
    address(cat(u, cat("@", h))) :- mail([u, h]).
    .decl first(t: symbol, a: symbol)
    first(t, a) :- person(_, t), a = min n : { person(n, t) }.
    """
    people = {("ann", "db"), ("bob", "db"), ("cy", "web")}
    frame = spark.createDataFrame(sorted(people), "name string, team string")
    options = {**EVERYWHERE, "resident": resident, "storage": str(tmp_path / "state")}
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(text, facts={"person": frame}, **common) as db:
        assert {each.where.value for each in db.snapshot.engine.placements} == {"partners"}
        delta = db.apply(insert={"person": [("abe", "web")]}, delete={"person": [("ann", "db")]})
        assert set(delta["address"].inserted) == {("abe@web.org",)}
        assert set(delta["first"].inserted) == {("web", "abe"), ("db", "bob")}
        assert not db.warnings
    with tidelog.open(text, **common) as db:
        delta = db.apply(insert={"person": [("dot", "ops")]}, delete={"person": [("abe", "web")]})
        assert set(delta["address"].inserted) == {("dot@ops.org",)}
        assert set(delta["first"].deleted) == {("web", "abe")}
        assert set(db["address"]) == {("bob@db.org",), ("cy@web.org",), ("dot@ops.org",)}
        assert set(db["mail"]) == {(("bob", "db.org"),), (("cy", "web.org"),), (("dot", "ops.org"),)}
        assert not db.warnings


@pytest.mark.parametrize("resident", [False, True])
def test_laws_are_kept_by_a_worker(spark, resident, tmp_path):
    """An equivalence and a choice follow changes on one worker, and go on from storage."""
    text = """
    .decl link(x: symbol, y: symbol)
    .input link
    .decl same(x: symbol, y: symbol) eqrel
    same(x, y) :- link(x, y).
    .decl chief(x: symbol, y: symbol) choice-domain x
    .input chief
    chief(x, y) :- same(x, y), link(_, y).
    .decl size(n: number)
    size(n) :- n = count : { same(_, _) }.
    """
    facts = {"link": [("a", "b"), ("c", "d")], "chief": [("z", "a")]}
    options = {**EVERYWHERE, "resident": resident, "storage": str(tmp_path / "state")}
    common = {"engine": "spark", "spark": spark, "spark_options": options}

    with tidelog.open(text, facts=facts, **common) as db, tidelog.open(text, facts=facts) as local:
        assert [each.where.value for each in db.snapshot.engine.placements] == [
            "worker",
            "worker",
            "partners",
        ]
        for each in (db, local):
            each.apply(insert={"link": [("b", "c")], "chief": [("y", "b")]})
        assert {name: set(db[name]) for name in ("same", "chief", "size")} == {
            name: set(local[name]) for name in ("same", "chief", "size")
        }
        assert not db.warnings
    with tidelog.open(text, **common) as db:
        delta = db.apply(delete={"link": [("b", "c")]})
        assert len(delta["same"].deleted) == 8
        assert (set(delta["size"].deleted), set(db["size"])) == ({(16,)}, {(8,)})
        changed = db.add_rules("size(1) :- link(_, _).")
        assert set(changed["size"].inserted) == {(1,)}
        db.apply(insert={"link": [("b", "c")]})
        assert set(db["size"]) == {(16,), (1,)}
