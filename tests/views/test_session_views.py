"""A relation as a set, a table, a frame and a page."""

import pickle
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog
from tidelog import Branch, RelationView, Session

PROGRAM = """
.type List = [head: number, tail: List]
.type Shape = Dot {} | Box {w: number, name: symbol}
.decl all(n: number, u: unsigned, f: float, s: symbol, l: List, b: Shape)
all(-1, 2, 1.5, "b", nil, $Dot()).
all(-1, 2, 1.5, "a", [1, [2, nil]], $Box(3, "<x>")).
all(-2, 18446744073709551615u, 0.5, "a", nil, $Dot()).
.decl none(x: number)
.decl flag()
flag().
"""

FACTS = [
    (-2, 2**64 - 1, 0.5, "a", None, Branch("Dot")),
    (-1, 2, 1.5, "a", (1, (2, None)), Branch("Box", (3, "<x>"))),
    (-1, 2, 1.5, "b", None, Branch("Dot")),
]


@pytest.fixture(scope="module")
def db() -> Session:
    """Return a session with facts of every kind of value."""
    return tidelog.open(PROGRAM, engine="reference")


def test_facts_are_python_tuples_in_value_order(db: Session) -> None:
    """Every kind of value has its Python form."""
    assert list(db["all"]) == FACTS


def test_a_relation_knows_its_columns(db: Session) -> None:
    """Names and types are those of the declaration."""
    assert db["all"].columns == ("n", "u", "f", "s", "l", "b")
    assert db["all"].types == ("number", "unsigned", "float", "symbol", "List", "Shape")


def test_membership_asks_for_one_fact(db: Session) -> None:
    """A fact is in or it is not; a text never seen or a value of another type is not."""
    relation = db["all"]

    assert all(fact in relation for fact in FACTS)
    assert (-1, 2, 1.5, "never seen", None, Branch("Dot")) not in relation
    assert ("x", 2, 1.5, "a", None, Branch("Dot")) not in relation
    assert (1,) not in relation
    assert "all" not in relation


def test_a_relation_compares_and_combines_like_a_set(db: Session) -> None:
    """Two relations, or a relation and a set of tuples, are compared by their facts."""
    assert db["all"] == set(FACTS)
    assert db["all"] - {FACTS[0]} == set(FACTS[1:])
    assert db["none"] == set()
    assert not db["none"]


def test_a_relation_without_columns_holds_or_not(db: Session) -> None:
    """Its one fact is the empty tuple."""
    assert list(db["flag"]) == [()]
    assert () in db["flag"]
    assert db["flag"].to_arrow().num_columns == 0


def test_arrow_has_native_columns(db: Session) -> None:
    """Numbers keep their type; records and branches are given as text."""
    table = db["all"].to_arrow()

    assert table.schema.types == [
        pa.int64(),
        pa.uint64(),
        pa.float64(),
        pa.string(),
        pa.string(),
        pa.string(),
    ]
    assert table.column("l").to_pylist() == ["nil", "[1, [2, nil]]", "nil"]
    assert table.column("b").to_pylist() == ["$Dot", "$Box(3, <x>)", "$Dot"]


def test_frames_have_the_same_rows(db: Session) -> None:
    """Pandas and polars see the columns of the Arrow table."""
    expected = db["all"].to_arrow().to_pydict()

    assert db["all"].to_pandas().to_dict("list") == expected
    assert db["all"].to_polars().to_dict(as_series=False) == expected


def test_any_arrow_reader_takes_a_relation(db: Session) -> None:
    """The PyCapsule stream is enough for pyarrow, polars, pandas and DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    relation = db["all"]

    assert pa.table(relation).num_rows == 3
    assert pl.DataFrame(relation).height == 3
    assert len(pd.DataFrame(list(relation), columns=list(relation.columns))) == 3
    assert duckdb.sql("select count(*) from relation").fetchall() == [(3,)]


def test_html_is_escaped_and_short() -> None:
    """A notebook shows the first twenty facts, and text from the user stays text."""
    facts = [(f"<b>{number:03}</b>",) for number in range(30)]
    db = tidelog.open(".decl r(x: symbol)\n.input r\n", facts={"r": facts}, engine="reference")

    page = db["r"]._repr_html_()

    assert "&lt;b&gt;000&lt;/b&gt;" in page
    assert "<b>" not in page
    assert page.count("<tr>") == 21
    assert "10 more" in page


def test_repr_is_a_small_table(db: Session) -> None:
    """The shell shows a title, the columns and the facts."""
    shown = repr(db["all"]).splitlines()

    assert shown[0] == "all: 3 facts"
    assert shown[1].split() == ["n", "u", "f", "s", "l", "b"]
    assert len(shown) == 5


def test_a_relation_view_is_public() -> None:
    """The class can be named in annotations."""
    assert issubclass(RelationView, tidelog.RelationView)


# --- parts, orders, files and pickles -------------------------------------------------------------


def test_a_place_is_a_fact_and_a_slice_is_facts(db: Session) -> None:
    """Facts stand in value order; what a slice gives is a set of facts with the same columns."""
    facts = db["all"]

    assert (facts[0], facts[-1]) == (FACTS[0], FACTS[-1])
    assert list(facts[1:]) == FACTS[1:]
    assert list(facts[::-1]) == FACTS[::-1]
    assert list(facts[5:]) == []
    assert facts[:2].columns == facts.columns
    assert facts[:1].to_arrow().num_rows == 1
    assert (db["flag"][0], len(db["flag"][:3]), len(db["none"][:3])) == ((), 1, 0)


def test_a_place_that_is_not_there_is_an_index_error(db: Session) -> None:
    """Places are those of any Python sequence; something else is a diagnostic."""
    with pytest.raises(IndexError):
        db["all"][3]
    with pytest.raises(tidelog.TidelogError, match="a whole number or a slice"):
        db["all"]["n"]  # type: ignore[call-overload]


def test_facts_are_ordered_by_columns() -> None:
    """The columns named decide, greatest first if asked; equal facts stay in value order."""
    with tidelog.open(
        ".decl score(who: symbol, points: number, f: float)",
        facts={"score": [("b", 2, 0.5), ("a", 2, -1.0), ("c", -(2**63), 2.0), ("d", 7, 0.0)]},
    ) as one:
        scores = one["score"]

        assert [fact[0] for fact in scores.order_by("points")] == ["c", "a", "b", "d"]
        assert [fact[0] for fact in scores.order_by("points", descending=True)] == ["d", "a", "b", "c"]
        assert [fact[0] for fact in scores.order_by("points", "f")] == ["c", "a", "b", "d"]
        assert [fact[0] for fact in one.query("score(who, _, f), f >= 0.0").order_by("f")] == ["d", "b", "c"]
        assert list(scores.order_by("who", descending=True).limit(1)) == [("d", 7, 0.0)]
        assert scores.order_by("f") == scores
        assert scores.order_by("points").to_pandas()["who"].tolist() == ["c", "a", "b", "d"]
        with pytest.raises(tidelog.TidelogError, match="did you mean `points`"):
            scores.order_by("point")


def test_an_order_is_of_one_epoch() -> None:
    """What was ordered or cut stays as it is when facts change."""
    with tidelog.open(".decl n(x: number)", facts={"n": [(1,), (2,)]}) as one:
        first, cut = one["n"].order_by("x", descending=True), one["n"].limit(1)

        one.apply("+n(0). -n(1).")

        assert (list(first), list(cut), list(one["n"])) == ([(2,), (1,)], [(1,)], [(0,), (2,)])


def test_facts_are_written_to_files(db: Session, tmp_path: Path) -> None:
    """Parquet and CSV files have the columns of the Arrow table; a file is replaced as a whole."""
    facts = db["all"]

    facts.to_parquet(tmp_path / "all.parquet")
    facts.to_csv(str(tmp_path / "all.csv"))
    db["none"].to_csv(tmp_path / "all.csv")

    assert pq.read_table(tmp_path / "all.parquet").equals(facts.to_arrow())
    assert (tmp_path / "all.csv").read_text() == '"x"\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.csv", "all.parquet"]
    with pytest.raises(tidelog.TidelogError, match="cannot be written"):
        facts.to_parquet(tmp_path)


def test_pickled_facts_need_no_session(db: Session) -> None:
    """Relations, answers and parts of them come back with columns, types, order and every kind of value."""
    kept = [db["all"], db["flag"], db["none"], db.query("all(n, _, _, s, _, _)"), db["all"][::-1]]

    for facts in kept:
        again = pickle.loads(pickle.dumps(facts))  # noqa: S301 - our own
        assert list(again) == list(facts)
        assert (again.name, again.columns, again.types) == (facts.name, facts.columns, facts.types)
        assert all(fact in again for fact in facts)
