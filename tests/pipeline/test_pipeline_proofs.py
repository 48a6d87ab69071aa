"""`db.why` on a state that is kept on Spark's shared storage."""

import tidelog
from tidelog.maintain.spark import SparkMaintainedEngine

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl closed(x: number)
.input closed
.decl path(x: number, y: number)
path(x, y) :- edge(x, y), !closed(y).
path(x, z) :- path(x, y), edge(y, z), !closed(z).
.decl any()
any() :- path(_, _).
"""


def test_proofs_fetch_what_they_touch(spark, tmp_path, monkeypatch):
    """Proofs and refutations are those of the local engine, in every epoch, and few facts are fetched."""
    edges = [(x, x + 1) for x in range(40)] + [(100 + x, 101 + x) for x in range(40)]
    options = {"driver_facts": 0, "partners": 2, "storage": str(tmp_path / "storage")}
    fetched = []
    look_up = SparkMaintainedEngine.look_up

    def counted(self, relation, codes):
        found = look_up(self, relation, codes)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(SparkMaintainedEngine, "look_up", counted)
    local = tidelog.open(PROGRAM, facts={"edge": edges, "closed": [(140,)]})
    shared = tidelog.open(
        PROGRAM,
        facts={"edge": edges, "closed": [(140,)]},
        engine="spark",
        spark=spark,
        spark_options=options,
    )
    with local, shared:
        for change in ("", "-edge(3, 4). +edge(3, 5). -closed(140).", "+closed(7)."):
            if change:
                local.apply(change)
                shared.apply(change)
            fetched.clear()

            assert str(shared.why("path(0, 6)")) == str(local.why("path(0, 6)"))
            assert sum(fetched) < 100 < len(shared["path"])
            assert str(shared.why("any()")) == str(local.why("any()"))
            assert str(shared.why_not("path(0, 100)")) == str(local.why_not("path(0, 100)"))
