"""Names, positions and the parts of the server that need no client."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.doc_pages import ROOT
from tidelog.errors import TidelogError
from tidelog.lsp.names import NameKind, find_names
from tidelog.lsp.positions import Positions, clean
from tidelog.lsp.settings import read_settings
from tidelog.lsp.worker import Worker
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.syntax import tree as syntax
from tidelog.syntax.walk_tree import walk

PROGRAMS = sorted([*ROOT.glob("examples/**/*.dl"), *ROOT.glob("tests/conformance/cases/*.dl")])


def test_names_are_those_of_the_tree():
    """In every program at hand, each atom and variable of the tree is found where it stands."""
    missed = []
    for path in PROGRAMS:
        source = Source(str(path), path.read_text(encoding="utf-8"))
        try:
            items = parse(source).items
        except TidelogError:
            continue
        found = {(name.kind, name.start, name.text) for name in find_names(source)}
        for node in walk(items):
            if not isinstance(node, syntax.Atom | syntax.Variable) or node.span.source is not source:
                continue
            kind, name = (
                (NameKind.RELATION, node.relation)
                if isinstance(node, syntax.Atom)
                else (NameKind.VARIABLE, node.name)
            )
            # A macro makes nodes whose text is not what stands there.
            is_written = source.text.startswith(name, node.span.start)
            if is_written and (kind, node.span.start, name) not in found:
                missed.append(f"{node.span}: {name}")

    assert missed == []
    assert len(PROGRAMS) > 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".decl a(x: T", [("relation", "a", True), ("column", "x", True), ("type", "T", False)]),
        ("a(x) :- b(x", [("relation", "a", False), ("variable", "x", False), ("relation", "b", False)]),
        (".type T = A {x: U} | B {}", [("type", "T", True), ("branch", "A", True), ("column", "x", True)]),
        (
            "a($B(as(x, T)), @f(y)).",
            [("relation", "a", False), ("branch", "B", False), ("variable", "x", False)],
        ),
        (".comp C<T> : D { .decl r(x: T) r(1). }", [("component", "C", True), ("type", "T", False)]),
        ("# a(x)\n", []),
        (".", []),
        ("}}}{{((", []),
    ],
)
def test_torn_texts_have_names(text: str, expected: list[tuple[str, str, bool]]):
    """The first names of a text, whole or not, are what they seem."""
    found = [(name.kind.value, name.text, name.is_declaration) for name in find_names(Source("a", text))]

    assert found[: len(expected)] == expected


@given(st.text(alphabet='.,:-(){}[]<>|=@$#"/* \nabxT_1', max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_looked_through(text: str):
    """Whatever is typed, reading names ends, and each name is the text where it stands."""
    for name in find_names(Source("a", text)):
        assert text[name.start : name.end].replace(" ", "").startswith(name.text[:1])


@given(st.text(alphabet="ab\n\ré😀\u2028\x0c", max_size=40), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
@settings(max_examples=300, deadline=None)
def test_positions_and_offsets_are_inverse(text: str, encoding: str):
    """Every offset has a position that leads back to it, except inside a line end of two characters."""
    positions = Positions(text, encoding)

    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(positions.position(offset)) == offset


def test_half_characters_become_marks():
    """A lone half of a pair, which JSON can have and files cannot, keeps its length."""
    assert clean("a\ud83db") == "a\ufffdb"
    assert clean("😀") == "😀"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[analysis]]\n", "needs a `program`"),
        ("analysis = 3\n", "must be a list of tables"),
        ("[[analysis]]\nprogram = 3\n", "`program` must be a text"),
        ('[[analysis]]\nprogram = "a.dl"\nseverity = "loud"\n', "`loud` is not a valid severity"),
        ('[[analysis]]\nprogram = "a.dl"\nwhy_depth = -1\n', "`why_depth` must be a whole number"),
        ('[[analysis]]\nprogram = "a.dl"\nexclude = [1]\n', "`exclude` must be a list of texts"),
        ("[[analysis\n", "this is not TOML"),
    ],
)
def test_wrong_settings_are_diagnostics(tmp_path: Path, text: str, message: str):
    """Each mistake has the code `bad-setting` and a place in the file."""
    (tmp_path / "tidelog.toml").write_text(text)

    with pytest.raises(TidelogError) as caught:
        read_settings(tmp_path)

    assert {each.code for each in caught.value.diagnostics} == {"bad-setting"}
    assert message in str(caught.value)
    assert "tidelog.toml:" in str(caught.value)


def test_a_task_replaces_the_one_that_waits_under_its_key():
    """Of many tasks under a key only the one being done and the last are done; failures do not stop it."""
    worker = Worker()
    done: list[int] = []
    first = worker.ask(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        first.result(60)

    gate = worker.ask(
        lambda: [worker.put("key", lambda number=number: done.append(number)) for number in range(9)]
    )
    gate.result(60)
    worker.ask(lambda: None).result(60)
    worker.close()

    assert done == [8]
    assert worker.ask(lambda: None).cancelled()
