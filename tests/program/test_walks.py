"""The two walks, over checked nodes and over the tree as written, reach every node."""

from collections import Counter
from typing import get_args

import pytest

from support.epochs import follow
from support.node_samples import Samples
from support.programs import build, each_engine, run
from tidelog.errors import TidelogError
from tidelog.program import nodes, walk_nodes
from tidelog.syntax import tree, walk_tree

CHECKED = Samples(nodes, nodes.Term)
WRITTEN = Samples(tree)
WRITTEN.kinds.discard(tree.SyntaxTree)


def _named(kinds: set[type]) -> list[object]:
    return [
        pytest.param(kind, id=kind.__name__) for kind in sorted(kinds, key=lambda kind: str(kind.__name__))
    ]


def _identities(found: object) -> Counter[int]:
    return Counter(map(id, found))  # type: ignore[call-overload]


def test_every_kind_of_checked_node_is_walked() -> None:
    """The walk knows every node kind that can hold a term: one more in `nodes.py` must be added to it."""
    assert set(get_args(walk_nodes.Node)) == CHECKED.kinds


def test_every_kind_of_written_node_is_walked() -> None:
    """The walk knows every node kind of the tree but the tree itself."""
    assert set(get_args(walk_tree.Node)) == WRITTEN.kinds


@pytest.mark.parametrize("kind", _named(CHECKED.kinds))
def test_the_children_of_a_checked_node_are_in_its_fields(kind: type) -> None:
    """Every field of a node kind that can hold nodes is walked, and each node in it once."""
    node, below = CHECKED.make(kind)

    found = walk_nodes.children(node)

    assert _identities(found) == _identities(below)


@pytest.mark.parametrize("kind", _named(WRITTEN.kinds))
def test_the_children_of_a_written_node_are_in_its_fields(kind: type) -> None:
    """Every field of a node kind of the tree that can hold nodes is walked, and each node in it once."""
    node, below = WRITTEN.make(kind)

    found = walk_tree.children(node)

    assert _identities(found) == _identities(below)


@pytest.mark.parametrize("kind", _named(set(get_args(nodes.Term)) | set(get_args(nodes.Literal))))
def test_a_map_over_a_checked_node_changes_every_term(kind: type) -> None:
    """Mapping a term or literal replaces all terms directly in it and leaves everything else equal."""
    node, _ = CHECKED.make(kind)
    put = nodes.Counter("number", span="here")  # type: ignore[arg-type]
    direct = _direct_terms(walk_nodes.children(node))

    is_term = isinstance(node, nodes.Term)
    mapped = (walk_nodes.map_terms if is_term else walk_nodes.map_literal)(node, lambda _: put)
    same = (walk_nodes.map_terms if is_term else walk_nodes.map_literal)(node, lambda term: term)

    assert same == node
    assert _direct_terms(walk_nodes.children(mapped)) == [put] * len(direct)


def _direct_terms(found: tuple[walk_nodes.Node, ...]) -> list[nodes.Term]:
    """Return the terms among nodes and directly in the literals among them."""
    terms: list[nodes.Term] = []
    for node in found:
        terms.extend([node] if isinstance(node, nodes.Term) else walk_nodes.children(node))  # type: ignore[arg-type]
    return terms


@pytest.mark.parametrize("kind", _named({*get_args(tree.Term), *get_args(tree.Element)}))
def test_a_map_over_a_written_node_changes_every_term(kind: type) -> None:
    """Mapping a term or element replaces all terms and atoms below it and leaves everything else equal."""
    node, below = WRITTEN.make(kind)
    put = tree.Counter(span="here")  # type: ignore[arg-type]
    put_atom = tree.Atom("r", (), span="here")  # type: ignore[arg-type]

    if isinstance(node, tree.Term):
        mapped: walk_tree.Node = walk_tree.map_term(node, lambda _: put, lambda _: put_atom)
        same: walk_tree.Node = walk_tree.map_term(node, lambda term: term)
    else:
        mapped = walk_tree.map_element(node, lambda _: put_atom, lambda _: put)
        same = walk_tree.map_element(node, lambda atom: atom, lambda term: term)

    assert same == node
    left = _identities(walk_tree.walk((mapped,)))
    assert not any(id(each) in left for each in below if isinstance(each, tree.Term | tree.Atom))


# --- what the walks are for ------------------------------------------------------------------

STRATA = """
.decl a(x: number)
.input a
.decl q(n: number)
.output q
{rule}
.decl p(x: number)
p(x + 1) :- a(x).
"""
PLACES = {
    "head": "q(count : { p(_) }) :- a(1).",
    "functor of a head": "q(10 + count : { p(_) }) :- a(1).",
    "fact": "q(count : { p(_) }).",
    "target": "q(n) :- n = sum (x + count : { p(_) }) : { a(x) }.",
    "body of an aggregate": "q(n) :- n = sum x : { a(x), x < 1 + count : { p(_) } }.",
    "start of a range": "q(n) :- n = range(count : { p(_) }, 9).",
    "stop of a range": "q(n) :- n = range(0, count : { p(_) }).",
    "step of a range": "q(n) :- n = range(0, 6, 1 + count : { p(_) }).",
    "negated atom": "q(x) :- a(x), !a(1 + count : { p(_) }).",
    "operand of an atom": "q(x) :- a(x), a(1 + count : { p(_) }).",
    "functor": "q(n) :- a(x), n = max(x, min(4, count : { p(_) })).",
    "separator of a concat": (
        "q(strlen(s)) :- s = @@concat to_string(x) : to_string(10 * count : { p(_) }), { a(x) }."
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("engine", each_engine())
def test_an_aggregate_is_evaluated_after_what_it_reads(place: str, engine: str) -> None:
    """Wherever an aggregate is, the relations in it belong to an earlier stratum."""
    text = STRATA.format(rule=PLACES[place])
    given = {"a": [(1,), (2,), (7,)]}
    stored = text.replace("p(x + 1) :- a(x).", ".input p")

    found = run(text, engine=engine, inputs=given)["q"]

    names = [name for stratum in build(text).strata for name in stratum.relations]
    assert names.index("p") < names.index("q")
    assert found == run(stored, inputs={**given, "p": [(2,), (3,), (8,)]})["q"]


@pytest.mark.parametrize("place", PLACES)
def test_an_aggregate_follows_changes_of_what_it_reads(place: str) -> None:
    """Wherever an aggregate is, a stratum that reads a changed relation only there is brought up to date."""
    text = STRATA.format(rule=PLACES[place])

    run = follow(
        text, {"a": [(1,), (2,)]}, [({"a": [(7,)]}, {}), ({}, {"a": [(1,)]}), ({"a": [(3,), (4,)]}, {})]
    )

    assert run.relations()["p"] == {(3,), (4,), (5,), (8,)}


def test_a_range_follows_an_aggregate_in_its_step() -> None:
    """A change of what only the third operand of `range` reads changes the values of the range."""
    text = """
    .decl p(x: number)
    .input p
    .decl e(x: number, y: number)
    .input e
    .decl q(x: number, n: number, m: number)
    .output q
    q(x, n, m) :- x = range(0, 6, 1 + count : { p(_) }), n = sum y : { e(x, y) }, m = count : { e(_, x) }.
    """

    run = follow(text, {"p": [(1,)], "e": [(0, 1), (2, 3)]}, [({"p": [(5,)]}, {}), ({}, {"p": [(1,), (5,)]})])

    assert run.relations()["q"] == {(x, {0: 1, 2: 3}.get(x, 0), int(x in (1, 3))) for x in range(6)}


@pytest.mark.parametrize(
    ("head", "code"),
    [("1 - count : { q(_) }", "not-monotone"), ("ftoi(mean itof(x) : { q(x) })", "unstratifiable")],
)
def test_an_aggregate_in_a_head_that_depends_on_itself_is_refused(head: str, code: str) -> None:
    """A head's aggregate is a dependency like one in the body."""
    text = f"""
    .decl a(x: number)
    .input a
    .decl q(n: number)
    q({head}) :- a(_).
    """

    with pytest.raises(TidelogError) as caught:
        build(text)

    assert [each.code for each in caught.value.diagnostics] == [code]


def test_an_aggregate_in_a_head_may_go_one_way_with_its_column() -> None:
    """A head's aggregate over its own stratum is followed like one in the body."""
    text = """
    .lattice number<> { Lub -> max(_, _) }
    .decl a(x: number)
    .input a
    .decl q(x: number, n: number<>)
    .output q
    q(x, x) :- a(x).
    q(x + 1, max n : { q(_, n) }) :- q(x, _), x < 5.
    """

    run = follow(text, {"a": [(1,)]}, [({"a": [(3,), (7,)]}, {}), ({}, {"a": [(7,)]}), ({}, {"a": [(1,)]})])

    assert run.relations()["q"] == {(x, 3) for x in (3, 4, 5)}


@pytest.mark.parametrize("engine", each_engine())
def test_a_disjunction_in_an_aggregate_may_be_grouped_by_another_aggregate(engine: str) -> None:
    """What only another aggregate of the rule binds groups the alternatives of a disjunction."""
    text = """
    .decl a(x: number)
    .input a
    .decl b(x: number)
    .input b
    .decl r(z: number, n: number)
    r(z, n) :- a(_), z = count : { b(_) }, n = count : { a(x), x < z ; b(x), x < z }.
    """

    found = run(text, engine=engine, inputs={"a": [(0,), (1,), (7,)], "b": [(1,), (2,), (8,)]})["r"]

    assert found == {(3, 3)}
