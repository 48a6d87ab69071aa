"""Programs on Spark through the session a user holds."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

import tidelog
from tidelog import TidelogError
from tidelog.engine.spark.gathering import gather
from tidelog.engine.spark.greeting import Safety
from tidelog.engine.spark.job import new_access
from tidelog.spark import apply_once

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


def test_numbers_are_read_by_workers(spark):
    """Numbers that partners wrote come as the files they wrote, and as facts after an epoch."""
    text = PATHS.replace("symbol", "number")
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    with tidelog.open(text, facts={"edge": [(1, 2), (2, 3)]}, **options) as db:
        assert db.snapshot.engine.code_frame("path") is not None
        assert sorted(tuple(row) for row in db["path"].to_spark().collect()) == [(1, 2), (1, 3), (2, 3)]
        db.apply(delete={"edge": [(1, 2)]})
        assert sorted(tuple(row) for row in db["path"].to_spark().collect()) == [(2, 3)]


def test_texts_are_put_in_place_by_workers(spark):
    """Texts that partners know as codes come from their files too, each in its column."""
    text = (
        PATHS.replace("symbol)\n.input", "symbol, n: number)\n.input")
        .replace("edge(x, y)", "edge(x, y, _)")
        .replace("edge(y, z)", "edge(y, z, _)")
    )
    text += ".decl far(y: symbol, n: number, x: symbol)\n.output far\n"
    text += "far(y, n, x) :- path(x, y), edge(x, _, n).\nfar(y, n, x) :- far(x, n, y), n > 9.\n"
    facts = {"edge": [("a", "b", 1), ("b", "é'c", 2)]}
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}

    with tidelog.open(text, facts=facts, **options) as db:
        assert db.snapshot.engine.code_frame("far") is not None
        frame = db["far"].to_spark()
        found = sorted(tuple(row) for row in frame.collect())

        assert frame.columns == ["y", "n", "x"]
        assert found == sorted(db["far"]) == [("b", 1, "a"), ("é'c", 1, "a"), ("é'c", 2, "b")]


def test_workers_find_equal_texts(spark):
    """A text comes to the driver once for each page of rows, and all rows come."""
    rows = [(f"name {n % 3}", n, None if n == 7 else "x") for n in range(40)]
    frame = spark.createDataFrame(rows, "who string, n long, what string").repartition(2)

    table = gather(frame, page_rows=5)

    found = zip(*(column.to_pylist() for column in table.columns), strict=True)
    assert sorted(found, key=str) == sorted(rows, key=str)
    assert all(len(chunk.dictionary) <= 3 for chunk in table.column("who").chunks)
    assert gather(frame.where("n < 0")).num_rows == 0


def test_an_epoch_is_applied(spark):
    """`apply` brings the relations to the next epoch and returns the exact difference."""
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    with tidelog.open(PATHS, facts={"edge": [("a", "b"), ("b", "c")]}, **options) as db:
        delta = db.apply(insert={"edge": [("c", "d")]}, delete={"edge": [("a", "b")]})

        assert set(delta["path"].inserted) == {("c", "d"), ("b", "d")}
        assert set(delta["path"].deleted) == {("a", "b"), ("a", "c")}
        assert set(db["path"]) == {("b", "c"), ("c", "d"), ("b", "d")}


@pytest.mark.parametrize("resident", [False, True])
def test_epochs_follow_one_another(spark, resident):
    """Partners keep their state from epoch to epoch, in files or in memory."""
    options = {**EVERYWHERE, "resident": resident}
    edges = {("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")}
    with tidelog.open(PATHS, engine="spark", spark=spark, facts={"edge": edges}, spark_options=options) as db:
        for gone, come in ((("c", "a"), ("d", "e")), (("b", "c"), ("c", "a")), (("d", "e"), ("b", "c"))):
            before = set(db["path"])
            delta = db.apply(insert={"edge": [come]}, delete={"edge": [gone]})
            edges = (edges - {gone}) | {come}

            after = set(db["path"])
            assert after == closure(edges)
            assert (set(delta["path"].inserted), set(delta["path"].deleted)) == (
                after - before,
                before - after,
            )


def closure(edges):
    """Return the pairs that a path leads from and to."""
    found = set(edges)
    while True:
        more = {(x, z) for x, y in found for y2, z in edges if y == y2} - found
        if not more:
            return found
        found |= more


def test_a_state_goes_on_from_its_manifest(spark, tmp_path):
    """Opening the same storage again continues at the last committed epoch; facts are not read again."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}, **options) as db:
        db.apply(insert={"edge": [("b", "c")]})

    with tidelog.open(PATHS, facts={"edge": [("x", "y")]}, **options) as db:
        assert db.epoch == 1
        assert set(db["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
        delta = db.apply(delete={"edge": [("a", "b")]})
        assert set(delta["path"].deleted) == {("a", "b"), ("a", "c")}
        assert db.epoch == 2


def test_a_transaction_delivered_again_is_skipped(spark, tmp_path):
    """A transaction is known by its id, also after a restart."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}, **options) as db:
        assert apply_once(db, "one", insert={"edge": [("b", "c")]}) is not None
        assert apply_once(db, "one", insert={"edge": [("b", "c")]}) is None
        assert db.epoch == 1

    with tidelog.open(PATHS, **options) as db:
        assert apply_once(db, "one", insert={"edge": [("b", "c")]}) is None
        assert apply_once(db, "two", delete={"edge": [("a", "b")]}) is not None
        assert set(db["path"]) == {("b", "c")}


def test_another_program_cannot_go_on(spark, tmp_path):
    """Storage that keeps another program's state is refused."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    tidelog.open(PATHS, **options).close()

    with pytest.raises(TidelogError, match="spark-storage-differs"):
        tidelog.open(PATHS + "path(x, x) :- edge(x, _).", **options)


def test_a_state_of_an_older_format_is_refused(spark, tmp_path):
    """A manifest whose files an earlier version wrote is refused before anything of it is read."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    tidelog.open(PATHS, facts={"edge": [("a", "b")]}, **options).close()
    manifest = tmp_path / "manifest.json"
    content = json.loads(manifest.read_text())
    content |= {"format": 1, "given": content.pop("inputs")}
    manifest.write_text(json.dumps(content))

    with pytest.raises(TidelogError, match="spark-storage-differs"):
        tidelog.open(PATHS, **options)


def test_a_session_is_needed():
    """Without a Spark session there is a diagnostic, not a traceback."""
    with pytest.raises(TidelogError, match="spark-no-session"):
        tidelog.open(PATHS, engine="spark")


def test_options_are_checked(spark):
    """An option that does not exist is told, with those that do."""
    with pytest.raises(TidelogError, match="there is no Spark option `partner`"):
        tidelog.open(PATHS, engine="spark", spark=spark, spark_options={"partner": 2})


def test_rules_change_on_spark(spark):
    """Another rule is an epoch too: the difference is that of evaluating both programs."""
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    with tidelog.open(PATHS, facts={"edge": [("a", "b"), ("b", "c")]}, **options) as db:
        delta = db.add_rules("path(y, x) :- path(x, y).")
        assert [(each.action.value, each.reason) for each in delta.strata] == [
            ("updated", "1 of its rules inserted; 2 partners")
        ]

        assert ("c", "a") in set(delta["path"].inserted)
        assert set(db["path"]) == {(x, y) for x in "abc" for y in "abc"} - {("a", "a")}


LAYERS = """
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl named(x: symbol, n: symbol)
named(x, cat(x, "!")) :- path(x, _).
.decl far(x: symbol, n: symbol)
far(x, n) :- path(x, y), path(y, _), named(x, n), !edge(_, x).
.decl back(x: symbol, y: symbol)
back(y, x) :- edge(x, y).
"""


@pytest.mark.parametrize("resident", [False, True])
def test_strata_that_a_change_of_rules_does_not_reach_are_kept(spark, resident):
    """Through rules and facts, groups of partners and of the driver have what a local session has."""
    chosen = {**EVERYWHERE, "resident": resident}
    options = {"engine": "spark", "spark": spark, "spark_options": chosen}
    facts = {"edge": [("a", "b"), ("b", "c"), ("c", "d"), ("x", "c")]}

    def same(db, other):
        return all(set(db[name]) == set(other[name]) for name in ("path", "named", "far", "back"))

    with tidelog.open(LAYERS, facts=facts, **options) as db, tidelog.open(LAYERS, facts=facts) as other:
        assert same(db, other)
        for each in (db, other):
            each.apply(insert={"edge": [("d", "e")]}, delete={"edge": [("x", "c")]})
        assert same(db, other)
        # Only `far` has another rule; `path`, `named` and `back` are left alone.
        deltas = [each.add_rules('far(x, "rule") :- back(x, _).') for each in (db, other)]
        actions = {each.relations: each.action.value for each in deltas[0].strata}
        assert actions == {
            ("path",): "skipped", ("named",): "skipped", ("back",): "skipped", ("far",): "updated",
        }  # fmt: skip
        assert set(deltas[0]["far"].inserted) == set(deltas[1]["far"].inserted)
        assert len(deltas[0]["path"].inserted) == 0
        for each in (db, other):
            each.apply(insert={"edge": [("e", "f")]}, delete={"edge": [("b", "c")]})
        assert same(db, other)
        # A rule of `path` reaches `named` and `far`.
        deltas = [each.add_rules("path(x, x) :- back(x, _).") for each in (db, other)]
        assert set(deltas[0]["named"].inserted) == set(deltas[1]["named"].inserted)
        assert same(db, other)
        for each in (db, other):
            each.apply(delete={"edge": [("a", "b")]})
        assert same(db, other)


def test_groups_that_read_each_other_go_on_from_their_manifest(spark, tmp_path):
    """What one group of partners reads from another is in its files, also after epochs and a restart."""
    options = {"engine": "spark", "spark": spark}
    options["spark_options"] = {**EVERYWHERE, "storage": str(tmp_path / "state")}
    facts = {"edge": [("a", "b"), ("b", "c"), ("c", "d"), ("x", "c")]}
    first = {"insert": {"edge": [("d", "e")]}, "delete": {"edge": [("x", "c")]}}
    second = {"insert": {"edge": [("x", "b")]}, "delete": {"edge": [("a", "b")]}}
    with tidelog.open(LAYERS, facts=facts, **options) as db:
        where = {each.relations: each.where.value for each in db.snapshot.engine.placements}
        assert where["path",] == where["far",] == "partners"
        db.apply(**first)

    with tidelog.open(LAYERS, facts=facts, **options) as db, tidelog.open(LAYERS, facts=facts) as other:
        deltas = [db.apply(**second), (other.apply(**first), other.apply(**second))[1]]
        for name in ("path", "named", "far", "back"):
            assert set(db[name]) == set(other[name])
            assert set(deltas[0][name].inserted) == set(deltas[1][name].inserted)
            assert set(deltas[0][name].deleted) == set(deltas[1][name].deleted)


SHORTEST = """
.type Length <: number
.lattice Length<> { Lub -> min(_, _) }
.decl road(x: symbol, y: symbol, n: Length) .input road
.decl distance(x: symbol, y: symbol, n: Length<>) .input distance
distance(x, y, n) :- road(x, y, n).
distance(x, z, n + m) :- distance(x, y, n), distance(y, z, m).
.decl chosen(x: symbol, y: symbol) choice-domain x
chosen(x, y) :- distance(x, y, n), n < 4.
.decl named(x: symbol, n: symbol) keys x
named(x, cat(x, y)) :- chosen(x, y).
"""


@pytest.mark.parametrize("resident", [False, True])
def test_laws_are_divided_on_spark(spark, tmp_path, resident):
    """Workers decide about the facts that they own, epoch by epoch, and again after a restart."""
    chosen = {**EVERYWHERE, "replicated_facts": 0, "resident": resident, "storage": str(tmp_path / "state")}
    options = {"engine": "spark", "spark": spark, "spark_options": chosen}
    facts = {
        "road": [("a", "b", 1), ("b", "c", 2), ("c", "a", 2), ("c", "d", 5)],
        "distance": [("a", "d", 3), ("d", "a", 9)],
    }
    changes = (
        {"insert": {"road": [("d", "b", 1)]}, "delete": {"distance": [("a", "d", 3)]}},
        {"insert": {"distance": [("e", "a", 1)]}, "delete": {"road": [("a", "b", 1)]}},
    )
    names = ("distance", "chosen", "named")
    with tidelog.open(SHORTEST, facts=facts) as other:
        for change in changes:
            with tidelog.open(SHORTEST, facts=facts, **options) as db:
                assert {each.where.value for each in db.snapshot.engine.placements} == {"partners"}
                assert all(set(db[name]) == set(other[name]) for name in names)
                deltas = [each.apply(**change) for each in (db, other)]
                for name in names:
                    assert set(db[name]) == set(other[name])
                    assert set(deltas[0][name].inserted) == set(deltas[1][name].inserted)
                    assert set(deltas[0][name].deleted) == set(deltas[1][name].deleted)


def test_sockets_are_refused_under_dynamic_allocation(spark, monkeypatch):
    """Options that Spark's settings rule out are refused at the start."""
    conf = type(spark.conf)
    get = conf.get
    known = {"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "3"}
    monkeypatch.setattr(conf, "get", lambda self, key, *other: known.get(key) or get(self, key, *other))
    refused = {
        "Spark refuses under dynamic allocation": {"exchange": "sockets"},
        "resident=True needs a number of partners": {"resident": True},
        "4 resident partners never get a slot each: Spark may request 3": {"resident": True, "partners": 4},
    }
    for message, chosen in refused.items():
        with pytest.raises(TidelogError, match=message):
            tidelog.open(PATHS, engine="spark", spark=spark, spark_options=chosen)


def test_rules_and_facts_change_together_on_spark(spark):
    """Rules and facts are one epoch on Spark too, and a mistake leaves both as they were."""
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    with tidelog.open(PATHS, facts={"edge": [("a", "b"), ("b", "c")]}, **options) as db:
        before = set(db["path"])
        with pytest.raises(TidelogError):
            db.apply(add_rules="path(x, x) :- edge(_, x).", insert={"egde": [("c", "d")]})
        assert (db.epoch, set(db["path"])) == (0, before)

        delta = db.apply(
            add_rules="path(x, x) :- edge(_, x).",
            insert={"edge": [("c", "d")]},
            delete={"edge": [("a", "b")]},
        )

        assert delta.epoch == db.epoch == 1
        assert set(db["path"]) == {("b", "c"), ("c", "d"), ("b", "d"), ("c", "c"), ("d", "d")}
        assert set(delta["path"].inserted) == set(db["path"]) - before
        assert set(delta["path"].deleted) == before - set(db["path"])


def test_a_store_of_a_session_on_spark_is_warned_of(spark, tmp_path):
    """A store works on Spark, and the user is told that its facts go through the driver."""
    options = {"engine": "spark", "spark": spark, "store": tmp_path / "store"}
    with tidelog.open(PATHS, facts={"edge": [("a", "b")]}, **options) as db:
        db.apply(insert={"edge": [("b", "c")]})
        assert [each.code for each in db.warnings] == ["spark-store"]

    with tidelog.open(**options) as db:
        assert db.epoch == 1
        assert set(db["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
        assert [each.code for each in db.warnings] == ["spark-store"]


def test_numbers_of_derivations_stay_on_spark(spark, tmp_path):
    """`autoinc()` counts as on every engine, through strata, epochs, rules and a manifest."""
    text = """
    .decl line(text: symbol) .input line
    .decl row(n: number, text: symbol)
    row(autoinc(), text) :- line(text).
    .decl again(n: number, m: number)
    again(autoinc(), n) :- row(n, _).
    """
    options = {"driver_facts": 0, "storage": str(tmp_path / "state")}
    steps = [
        lambda db: db.apply(insert={"line": [("a",)]}),
        lambda db: db.apply(insert={"line": [("0",)]}, delete={"line": [("b",)]}),
        lambda db: db.add_rules('row(autoinc(), text) :- line(text), text != "c".'),
    ]
    db = tidelog.open(
        text, engine="spark", spark=spark, facts={"line": [("b",), ("c",)]}, spark_options=options
    )
    local = tidelog.open(text, facts={"line": [("b",), ("c",)]})

    for step in steps:
        step(db), step(local)

        assert {name: set(db[name]) for name in ("row", "again")} == {
            name: set(local[name]) for name in ("row", "again")
        }
    sources = "\n".join(rule.text for rule in db.rules)
    declared = "\n".join(line for line in text.splitlines() if ".decl" in line)
    again = tidelog.open(f"{declared}\n{sources}", engine="spark", spark=spark, spark_options=options)
    again.apply(insert={"line": [("b",)]})
    local.apply(insert={"line": [("b",)]})
    assert set(again["row"]) == set(local["row"])


def test_bad_patterns_in_facts_are_warned_of(spark):
    """Texts are matched in the driver, so that `db.warnings` has the patterns of facts and of changes."""
    text = """
    .decl pattern(p: symbol)
    .input pattern
    .decl found(p: symbol)
    found(p) :- pattern(p), match(p, "abc").
    """

    with tidelog.open(text, facts={"pattern": [("[",), ("a.*",)]}, engine="spark", spark=spark) as db:
        db.apply(insert={"pattern": [("(",)]})

        assert list(db["found"]) == [("a.*",)]
        assert [each.code for each in db.warnings] == ["pattern-in-facts"] * 2


@pytest.mark.parametrize("is_resident", [False, True])
def test_connections_are_encrypted(spark, is_resident):
    """Partners work over encrypted connections, on ports of a range, for one job and from epoch to epoch."""
    options = {
        **EVERYWHERE,
        "encrypt": True,
        "ports": (42_000, 42_999),
        "resident": is_resident,
        "partners": 2,
    }

    with tidelog.open(
        PATHS, engine="spark", spark=spark, facts={"edge": [("a", "b"), ("b", "c")]}, spark_options=options
    ) as db:
        db.apply(insert={"edge": [("c", "d")]})

        assert len(db["path"]) == 6


def test_settings_of_spark_ask_for_encryption(spark, monkeypatch):
    """A local master needs none, unless Spark's own connections are protected; the user may ask for it."""
    assert not new_access(spark, Safety()).is_encrypted
    assert new_access(spark, Safety(encrypt=True)).is_encrypted

    settings = spark.sparkContext.getConf().set("spark.network.crypto.enabled", "true")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: settings)

    assert new_access(spark, Safety()).is_encrypted
    assert new_access(spark, Safety(encrypt=False)).is_encrypted


def test_one_of_two_sessions_commits(spark, tmp_path):
    """Who comes second is told so, has changed nothing, and can open the storage again (issue 18)."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    tidelog.open(PATHS, facts={"edge": [("a", "b")]}, **options).close()

    with tidelog.open(PATHS, **options) as first, tidelog.open(PATHS, **options) as second:
        first.apply(insert={"edge": [("b", "first")]})
        with pytest.raises(TidelogError, match="spark-storage-in-use") as caught:
            second.apply(insert={"edge": [("b", "second")]})
        first.apply(insert={"edge": [("b", "again")]})
        seen = second.epoch, list(second["edge"])

    assert "another session committed epoch 1" in caught.value.diagnostics[0].message
    assert seen == (0, [("a", "b")])
    with tidelog.open(PATHS, **options) as third:
        assert (third.epoch, list(third["edge"])) == (2, [("a", "b"), ("b", "again"), ("b", "first")])


def test_two_sessions_do_not_begin_in_one_place(spark, tmp_path):
    """A state that appeared while another session evaluated is not overwritten."""
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    program = (
        PATHS
        + ".functor meanwhile(x: symbol): symbol\n.decl seen(x: symbol)\nseen(@meanwhile(x)) :- edge(x, _).\n"
    )

    def meanwhile(text):
        if not (tmp_path / "manifest.json").exists():
            (tmp_path / "manifest.json").write_text('{"token": "of somebody else", "epoch": 7}')
        return text

    with pytest.raises(TidelogError, match="another session committed epoch 7"):
        tidelog.open(program, facts={"edge": [("a", "b")]}, functions={"meanwhile": meanwhile}, **options)

    assert json.loads((tmp_path / "manifest.json").read_text())["epoch"] == 7


def test_storage_is_opened_again_without_facts(spark, tmp_path):
    """Which relations have input facts is known there, so that the program is not another one (issue 18)."""
    text = PATHS.replace(".input edge\n", "").replace(
        "path(x, y) :-", ".decl spare(x: symbol)\npath(x, x) :- spare(x).\npath(x, y) :-", 1
    )
    options = {"engine": "spark", "spark": spark, "spark_options": {**EVERYWHERE, "storage": str(tmp_path)}}
    tidelog.open(text, facts={"edge": [("a", "b")], "spare": []}, **options).close()

    with tidelog.open(text, **options) as db:
        db.apply(insert={"edge": [("b", "c")], "spare": [("z",)]})

        assert list(db["path"]) == [("a", "b"), ("a", "c"), ("b", "c"), ("z", "z")]


def test_codes_that_outgrow_32_bits_on_workers(spark):
    """Partners that meet such a number ask for wide codes, at the start and in an epoch."""
    text = """
    .decl start(x: number)
    .input start
    .decl n(x: number, y: number)
    n(x, x) :- start(x).
    n(x, y + 1) :- n(x, y), y < 2147483649.
    """
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}

    with tidelog.open(text, facts={"start": [(2147483646,)]}, **options) as db:
        assert [y for _, y in db["n"]] == list(range(2147483646, 2147483650))
    with tidelog.open(text, facts={"start": []}, **options) as db:
        db.apply(insert={"start": [(2147483646,)]})
        assert [y for _, y in db["n"]] == list(range(2147483646, 2147483650))


def test_a_frozen_partner_is_replaced(spark):
    """A worker that was stopped gives no sign: the epoch is applied without it (issue 18)."""
    options = {**EVERYWHERE, "resident": True, "silence_seconds": 3.0}
    with tidelog.open(
        PATHS, engine="spark", spark=spark, facts={"edge": [("a", "b"), ("b", "c")]}, spark_options=options
    ) as db:
        db.apply(insert={"edge": [("c", "d")]})
        worker = min(workers_of_spark())
        os.kill(worker, signal.SIGSTOP)
        try:
            db.apply(insert={"edge": [("d", "e")]})

            assert len(db["path"]) == 10
        finally:
            # Spark ends it too, some time later.
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def workers_of_spark():
    """Return the processes of this Spark that run tasks: PySpark forks them from daemons of the JVM."""
    parents, daemons = {}, set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            process = int(entry.name)
            parents[process] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if b"pyspark.daemon" in (entry / "cmdline").read_bytes().split(b"\0"):
                daemons.add(process)

    def is_ours(process):
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return {each for each in daemons if parents[each] in daemons and is_ours(each)}


def test_what_falls_into_the_driver_is_warned_of(spark):
    """A stratum that partners cannot follow says so, with the reason; a small one says nothing (issue 18)."""
    text = PATHS + ".decl same(n: number, y: symbol)\nsame(autoinc(), y) :- path(_, y).\n"
    facts = {"edge": [("a", "b"), ("b", "c")]}
    options = {"engine": "spark", "spark": spark}

    with tidelog.open(text, facts=facts, spark_options=EVERYWHERE, **options) as large:
        found = [each for each in large.warnings if each.code == "spark-in-driver"]
    with tidelog.open(text, facts=facts, **options) as small:
        assert not small.warnings

    assert len(found) == 1
    assert found[0].message.startswith("`same` reads 2 facts in the driver, not on workers: ")


def test_relations_that_a_pass_made_are_not_shown(spark):
    """Rules are split between partners and negations projected; reports have the user's names (issue 18)."""
    text = """
    .decl edge(x: number, y: number)
    .input edge
    .decl closed(x: number, y: number)
    .input closed
    .decl way(x: number, y: number)
    way(x, y) :- edge(x, y).
    way(x, z) :- edge(x, a), way(a, b), edge(b, c), way(c, z), !closed(a, _).
    """
    options = {"engine": "spark", "spark": spark, "spark_options": EVERYWHERE}
    facts = {"edge": [(n, n + 1) for n in range(8)], "closed": []}
    names = {"edge", "closed", "way"}

    with tidelog.open(text, facts=facts, **options) as db:
        delta = db.apply(insert={"closed": [(2, 2)]})

        assert {name for each in db.statistics.strata for name in each.relations} <= names
        assert {name for each in delta.strata for name in each.relations} <= names
        assert {name for each in db.snapshot.engine.placements for name in each.relations} <= names
