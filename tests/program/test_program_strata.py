"""Strata: order, recursion, and cycles through negation."""

from hypothesis import given
from hypothesis import strategies as st

from support.building import build, diagnostics
from tidelog.program.strongly_connected import strongly_connected


def test_strata_come_after_what_they_read() -> None:
    """Each stratum reads earlier strata and itself; mutual recursion is one stratum."""
    program = build("""
    .decl even(x: number)
    .decl odd(x: number)
    .decl n(x: number)
    .decl rest(x: number)
    rest(x) :- n(x), !even(x).
    even(0).
    even(x + 1) :- odd(x), n(x).
    odd(x + 1) :- even(x), n(x).
    n(1).
    """)

    strata = [(stratum.relations, stratum.is_recursive) for stratum in program.strata]

    assert strata == [(("n",), False), (("even", "odd"), True), (("rest",), False)]


def test_relations_without_rules_are_strata_too() -> None:
    """An input relation is a stratum without rules."""
    program = build(".decl e(x: number) .input e")

    assert [(stratum.relations, stratum.rules) for stratum in program.strata] == [(("e",), ())]


def test_rule_ids_are_distinct_and_follow_the_text() -> None:
    """Rules are numbered in the order they were written."""
    program = build(".decl b(x: number) .decl a(x: number) b(x) :- a(x). a(1). a(2). b(3).")
    by_id = sorted(program.rules, key=lambda rule: rule.id)

    assert [rule.span.text for rule in by_id] == ["b(x) :- a(x).", "a(1).", "a(2).", "b(3)."]


def test_a_cycle_through_negation_is_shown() -> None:
    """The message names the relations of the cycle, and the rules along it are related places."""
    found = diagnostics("""
    .decl n(x: number)
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    n(1).
    a(x) :- n(x), !b(x).
    b(x) :- c(x).
    c(x) :- a(x).
    """)

    assert [each.code for each in found] == ["unstratifiable"]
    assert "a -> !b -> c -> a" in found[0].message
    assert [span.text for _, span in found[0].related] == ["c(x)", "a(x)"]


def test_a_cycle_through_an_aggregate_is_reported() -> None:
    """A relation cannot aggregate itself by an aggregate that may go either way."""
    found = diagnostics(".decl a(x: float) a(1.0). a(c) :- c = mean x : { a(x) }.")

    assert [each.code for each in found] == ["unstratifiable"]
    assert "one way" in str(found[0].hint)


GRAPHS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=8
).map(lambda graph: {node: [n for n in after if n in graph] for node, after in graph.items()})


def reachable(graph: dict[str, list[str]], start: str) -> set[str]:
    """Return the nodes reached from a node in one step or more."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(graph[node])
    return found


@given(graph=GRAPHS)
def test_strongly_connected_parts(graph: dict[str, list[str]]) -> None:
    """Nodes are together exactly when they reach each other, and parts follow what they lead to."""
    parts = strongly_connected(graph)

    assert sorted(node for part in parts for node in part) == sorted(graph)
    place = {node: number for number, part in enumerate(parts) for node in part}
    for one, successors in graph.items():
        for other in graph:
            together = one == other or (other in reachable(graph, one) and one in reachable(graph, other))
            assert (place[one] == place[other]) == together
        assert all(place[after] <= place[one] for after in successors)


def test_a_long_chain_needs_no_recursion() -> None:
    """Thousands of relations that read each other do not exhaust the interpreter's stack."""
    graph = {str(number): [str(number + 1)] for number in range(20_000)} | {"20000": []}

    assert len(strongly_connected(graph)) == 20_001
