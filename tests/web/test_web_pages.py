"""Pages of random facts: every fact once, in the order asked for, and no other than the filters keep."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from tidelog.views.fact_text import write_fact
from tidelog.web import WebSettings
from tidelog.web.cache import ArrayCache
from tidelog.web.explorer import SessionExplorer
from tidelog.web.pages import PageRequest

PROGRAM = """\
.type Pair = [left: number, right: symbol]
.decl fact(n: number, u: unsigned, f: float, s: symbol, p: Pair)
.input fact
"""
WORDS = ("", "a", "A", "ab", "b", "ä", "z\n", "a b", "=a", "!", "10", "9")

ROWS = st.lists(
    st.tuples(
        st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1]),
        st.integers(0, 2) | st.just(2**64 - 1),
        st.sampled_from([0.0, -1.5, 2.25, float("inf"), float("-inf")]),
        st.sampled_from(WORDS),
        st.none() | st.tuples(st.integers(-1, 1), st.sampled_from(WORDS)),
    ),
    max_size=12,
)
SORTS = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=3, unique_by=lambda pair: pair[0])


def all_pages(explorer: SessionExplorer, request: PageRequest) -> list[str]:
    """Return the facts of all pages, asked for one after the other."""
    found: list[str] = []
    offset = 0
    while True:
        asked = PageRequest(offset, request.limit, request.sorts, request.filters)
        page: Any = explorer.facts("fact", asked)
        found += [row["fact"] for row in page["rows"]]
        offset += request.limit
        if offset >= page["matching"]:
            assert len(found) == page["matching"]
            return found


@settings(max_examples=30, deadline=None)
@given(rows=ROWS, sorts=SORTS, limit=st.integers(1, 5))
def test_pages_give_every_fact_once_in_order(rows: list[Any], sorts: list[Any], limit: int) -> None:
    """All pages together are the relation, sorted by the columns asked for and then by the others."""
    with tidelog.open(PROGRAM, facts={"fact": rows}) as db:
        explorer = SessionExplorer(db, WebSettings(), "facts")

        found = all_pages(explorer, PageRequest(0, limit, tuple(sorts)))

        facts = [written_fact(fact) for fact in db["fact"]]
        wanted = [text for _, text in facts]
        places = {text: fact for fact, text in facts}
    assert sorted(found) == sorted(wanted)
    keys = [[sort_key(places[text][place]) for place in range(5)] for text in found]
    for one, other in pairwise(keys):
        named = [place for place, _ in sorts]
        order = [*sorts, *((place, False) for place in range(5) if place not in named)]
        for place, descends in order:
            if one[place] != other[place]:
                assert (one[place] > other[place]) == descends
                break


@settings(max_examples=30, deadline=None)
@given(rows=ROWS, word=st.sampled_from([*WORDS, "B", "nothing"]), number=st.integers(-3, 3), data=st.data())
def test_filters_keep_what_they_say(rows: list[Any], word: str, number: int, data: st.DataObject) -> None:
    """A filter keeps exactly the facts that plain Python keeps."""
    filters: dict[str, tuple[int, str, Any]] = {
        "less": (0, f"<{number}", lambda fact: fact[0] < number),
        "least": (0, f">= {number}", lambda fact: fact[0] >= number),
        "other": (0, f"!={number}", lambda fact: fact[0] != number),
        "between": (0, f"{number}..2", lambda fact: number <= fact[0] <= 2),
        "equal": (1, f"{abs(number)}", lambda fact: fact[1] == abs(number)),
        "large": (1, ">1", lambda fact: fact[1] > 1),
        "float": (2, f"<{number}.5", lambda fact: fact[2] < float(f"{number}.5")),
        "exact": (3, f"={word}", lambda fact: fact[3] == word),
        "not exact": (3, f"!={word}", lambda fact: fact[3] != word),
        "without": (3, f"!b{word}", lambda fact: f"b{word}".lower() not in fact[3].lower()),
        "part": (3, f"a{word}", lambda fact: f"a{word}".lower() in fact[3].lower()),
        "nil": (4, "=nil", lambda fact: fact[4] is None),
    }
    place, text, keeps = filters[data.draw(st.sampled_from(sorted(filters)))]
    with tidelog.open(PROGRAM, facts={"fact": rows}) as db:
        explorer = SessionExplorer(db, WebSettings(), "facts")

        found = all_pages(explorer, PageRequest(limit=5, filters=((place, text),)))

        wanted = [text for fact, text in map(written_fact, db["fact"]) if keeps(fact)]
    assert sorted(found) == sorted(wanted)


def written_fact(fact: Any) -> tuple[Any, str]:
    """Return a fact and how it is written."""
    return fact, write_fact("fact", fact)


def sort_key(value: Any) -> Any:
    """Return a key with Python's order that is the order of values: nil before every record."""
    if value is None:
        return (0,)
    return (1, *value) if isinstance(value, tuple) else value


def test_the_cache_forgets_the_least_recently_used() -> None:
    """Arrays are kept up to a bound; those used last stay."""
    cache = ArrayCache(250)
    made: list[str] = []

    def get(key: str) -> None:
        cache.get(key, lambda: (made.append(key), [np.zeros(100, np.int8)])[1])

    for key in ("a", "b", "a", "c", "a", "b"):
        get(key)
    cache.get("large", lambda: [np.zeros(1000, np.int8)])

    assert made == ["a", "b", "c", "b"]
    cache.forget(lambda key: key == "a")
    get("a")
    assert made[-1] == "a"


def test_large_relations_are_read_in_slices() -> None:
    """A page of a large relation as stored is what a page of all its facts would be, with deletions too."""
    count = 250_000
    program = ".decl edge(x: number, y: number)\n.input edge\n"
    with tidelog.open(program, facts={"edge": [(each, -each) for each in range(count)]}) as db:
        for deleted in ([], [(5, -5), (199_999, -199_999)]):
            if deleted:
                db.apply(delete={"edge": deleted})
            explorer = SessionExplorer(db, WebSettings(), "edges")
            stored = list(zip(*(column.tolist() for column in db.snapshot.engine.facts("edge")), strict=True))
            for offset in (0, 199_900, count):
                page = explorer.facts("edge", PageRequest(offset=offset, limit=100))
                first = page["offset"]
                rows = [tuple(map(int, row["values"])) for row in page["rows"]]
                assert rows == stored[first : first + 100]
                assert page["order"] == "stored"
