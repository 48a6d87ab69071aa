"""Relations with `keys`: one fact for each key, or an error that names both."""

import pytest

import tidelog
from support.building import diagnostics
from support.epochs import Maintained, each_strategy
from support.programs import build
from tidelog.engine.epoch import Strategy
from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import format_text, parse, print_tree

PROGRAM = """
.decl f(x: number, y: symbol) keys x
.decl g(x: number, y: symbol)
.input g
.decl h(x: number, y: symbol)
.input h
f(x, y) :- g(x, y).
f(x, y) :- h(x, y), !g(x, _).
f(x, y) :- h(x, y), x > 5.
"""
FACTS = {"g": [(1, "a"), (7, "q")], "h": [(1, "z")]}


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_second_value_names_both_rules(engine: str) -> None:
    """The message has both facts, and points at the rule of each."""
    db = tidelog.open(PROGRAM, facts=FACTS, engine=engine)

    with pytest.raises(TidelogError) as caught:
        db.apply(insert={"h": [(7, "r")]})

    (found,) = caught.value.diagnostics
    assert found.code == "two-values"
    assert '`f(7, "q")` and `f(7, "r")` agree on the key `x`' in found.message
    assert found.span is not None
    assert found.span.text == "f(x, y) :- h(x, y), x > 5."
    assert [span.text for _, span in found.related] == ["f(x, y) :- g(x, y)."]


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_a_rejected_epoch_changes_nothing(engine: str) -> None:
    """Facts are as they were, and a later epoch is judged by them."""
    db = tidelog.open(PROGRAM, facts=FACTS, engine=engine)
    for _ in range(2):
        with pytest.raises(TidelogError):
            db.apply(insert={"g": [(1, "b")]})

    assert sorted(db["g"]) == [(1, "a"), (7, "q")]
    db.apply(insert={"g": [(2, "b")]})
    assert sorted(db["f"]) == [(1, "a"), (2, "b"), (7, "q")]


@pytest.mark.parametrize("strategy", each_strategy())
def test_deletions_apply_before_insertions(strategy: Strategy) -> None:
    """A value can be replaced in one epoch, and the old one be given back."""
    followed = Maintained(build(PROGRAM)).start(FACTS)
    for old, new in (("a", "b"), ("b", "a"), ("a", "c")):
        followed.change(insert={"g": [(1, new)]}, delete={"g": [(1, old)]}, strategy=strategy)

        assert followed.check()["f"] == {(1, new), (7, "q")}


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_input_facts_are_told_as_such(engine: str) -> None:
    """A fact without a rule is an input fact."""
    with pytest.raises(TidelogError, match=r"`f\(1, 2, 3\)` is input"):
        tidelog.open(
            ".decl f(x: number, y: number, z: number) keys x, y\nf(x, 2, 4) :- x = 1.",
            facts={"f": [(1, 2, 3), (1, 3, 3)]},
            engine=engine,
        )


def test_a_key_with_several_columns() -> None:
    """Facts must differ in one of them."""
    db = tidelog.open(
        ".decl f(x: number, y: number, z: number) keys x, y", facts={"f": [(1, 2, 3), (1, 3, 3), (2, 2, 3)]}
    )

    assert len(db["f"]) == 3


def test_rules_that_bring_a_second_value_are_rejected() -> None:
    """A change of rules is an epoch like another."""
    db = tidelog.open(
        ".decl f(x: number, y: number) keys x\n.decl g(x: number)", facts={"g": [(1,)], "f": [(1, 2)]}
    )

    with pytest.raises(TidelogError, match="two-values"):
        db.add_rules("f(x, 3) :- g(x).")

    assert list(db["f"]) == [(1, 2)]


def test_an_unknown_key_is_reported() -> None:
    """`keys` names columns."""
    found = diagnostics(".decl f(x: number, y: number) keys z\nf(1, 2).")

    assert [each.code for each in found] == ["unknown-key-column"]


def test_keys_are_written_and_read_back() -> None:
    """Printing and formatting keep them; a relation may be called `keys` all the same."""
    text = ".decl f(x: number, y: number) keys x, y\n.decl keys(x: number)\nkeys(1).\n"

    tree = parse(Source("t.dl", text))

    assert parse(Source("t.dl", print_tree(tree))) == tree
    assert format_text(Source("t.dl", text)) == text
