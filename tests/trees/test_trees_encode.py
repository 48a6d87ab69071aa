"""Trees of Python values, JSON and source text: encoded and decoded, they are what they were."""

import ast
import enum
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.errors import TidelogError
from tidelog.trees import Tree
from tidelog.trees.languages import find_language
from tidelog.trees.python_values import python_values


class Color(enum.Enum):
    """An enum."""

    RED = 1
    BLUE = "b"


class Exp:
    """A class without fields, for its subclasses."""


@dataclass
class Num(Exp):
    """A number."""

    value: int


@dataclass
class Type:
    """A type with a flag."""

    name: str
    color: Color = Color.RED


@dataclass
class Lam(Exp):
    """A lambda with an optional annotation."""

    param: str
    type: Type | None
    body: Exp


@dataclass
class Call(Exp):
    """A call with one field of every sort."""

    function: str
    args: list[Exp] = field(default_factory=list)
    options: dict[str, int] = field(default_factory=dict)
    mixed: int | str | None = None
    pair: tuple[int, str | None] = (1, None)
    tags: tuple[str, ...] = ()
    flag: bool = False
    raw: bytes = b""
    weight: float | None = None
    gaps: list[int | None] = field(default_factory=list)
    mode: Literal["a", "b"] = "a"


texts = st.text(max_size=3)
numbers = st.integers(-(2**63), 2**63 - 1)
exps = st.recursive(
    st.builds(Num, numbers),
    lambda below: st.one_of(
        st.builds(Lam, texts, st.none() | st.builds(Type, texts, st.sampled_from(Color)), below),
        st.builds(
            Call,
            texts,
            st.lists(below, max_size=3),
            st.dictionaries(texts, numbers, max_size=2),
            st.none() | numbers | texts,
            st.tuples(numbers, st.none() | texts),
            st.lists(texts, max_size=2).map(tuple),
            st.booleans(),
            st.binary(max_size=3),
            st.none() | st.floats(allow_nan=False),
            st.lists(st.none() | numbers, max_size=3),
            st.sampled_from(["a", "b"]),
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(exps)
def test_a_python_value_comes_back(value: Exp) -> None:
    """Dataclasses, unions, enums, optional fields, lists and dictionaries are decoded as they were."""
    tree = VALUES.encode(value)

    assert tree.decode() == value
    assert Tree.from_facts(tree.rows(), tree).decode() == value


VALUES = python_values(Exp)


def test_lists_and_optional_fields_as_facts() -> None:
    """A list is a node with `first` and `next`; what is absent has no fact; every node is Any."""
    tree = Tree.from_python(Call("f", [Num(5), Num(3)], weight=None))
    facts = tree.rows()
    list_id = dict(facts["Link_Call_args"])[1]
    five, three = (node.id for node in tree if node.type == "Num")

    assert (list_id, five) in facts["first"]
    assert (five, three) in facts["next"]
    assert set(facts["Link_Num_value"]) == {(five, 5), (three, 3)}
    assert {(five,), (three,)} < set(facts["Node_Exp"])
    assert len(facts["Node_Any"]) == len(tree)
    assert "Link_Call_weight" not in facts
    assert "Link_Call_mixed" not in facts


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Num("x"), "the value.value is 'x', which is not of type int"),  # type: ignore[arg-type]
        (Num(2**63), "which is not of type int"),
        (Call("f", [1]), "the value.args[0] is 1, which is not of type Exp"),  # type: ignore[list-item]
        (Call("f", mixed=1.5), "which is not of type int or str"),  # type: ignore[arg-type]
    ],
)
def test_a_value_of_another_type_is_refused(value: Exp, words: str) -> None:
    """The message says where, what stands there and what should."""
    with pytest.raises(TidelogError, match="tree-value") as caught:
        Tree.from_python(value)

    assert words in str(caught.value)


@dataclass
class A:
    """A type whose link is called like that of another one."""

    b_c: int
    below: "A_b | None" = None


@dataclass
class A_b:  # noqa: N801 - the point of it
    """The other one."""

    c: int


def test_relations_of_one_name_are_refused() -> None:
    """`Link_A_b_c` cannot be a link of two types."""
    with pytest.raises(TidelogError, match="tree-types-differ"):
        Tree.from_python(A(1))


@dataclass
class Anything:
    """A type with a field of no type."""

    content: object


def test_a_field_of_any_type_is_refused_whatever_is_loaded() -> None:
    """`object` is not taken for a base class of the classes that happen to be loaded, `A_b` among them."""
    twin = make_dataclass("A_b", [("d", int)])

    with pytest.raises(TidelogError, match="tree-annotation"):
        Tree.from_python(Anything(twin(1)))


# --- JSON ------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(json_values, json_values)
def test_a_json_value_comes_back(value: object, example: object) -> None:
    """Whatever types are inferred, from the value alone or with an example, the value is decoded."""
    alone, together = Tree.from_json(value), Tree.from_json(value, examples=[example])

    assert alone.decode() == value
    assert together.decode() == value
    assert Tree.from_facts(together.rows(), together).decode() == value


@settings(max_examples=50, deadline=None)
@given(json_values)
def test_any_json_value_fits_the_schema_that_allows_all(value: object) -> None:
    """An empty schema gives types in which everything has a place."""
    assert Tree.from_json(value, {}).decode() == value


SCHEMA: Mapping[str, object] = {
    "title": "Config",
    "type": "object",
    "required": ["hosts"],
    "properties": {
        "hosts": {"type": "array", "items": {"$ref": "#/$defs/host"}},
        "limit": {"type": ["integer", "null"]},
        "level": {"enum": ["low", "high"]},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "extra": {},
    },
    "$defs": {
        "named": {"properties": {"name": {"type": "string"}}, "required": ["name"]},
        "host": {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/named"}],
            "properties": {
                "ports": {"type": "array", "items": {"type": "number"}},
                "below": {"type": "array", "items": {"$ref": "#/$defs/host"}},
                "route": {"anyOf": [{"type": "string"}, {"properties": {"via": {"type": "string"}}}]},
            },
        },
    },
}


def test_a_json_schema_gives_the_types() -> None:
    """Objects, references back, unions, maps and optional keys; null is told from a key that is not there."""
    value = {
        "hosts": [
            {"name": "a", "ports": [80, 81.5], "below": [{"name": "b", "below": []}], "route": "x"},
            {"name": "c", "route": {"via": "a"}},
        ],
        "limit": None,
        "level": "low",
        "env": {"PATH": "/bin"},
        "extra": {"anything": [1, None, {"goes": True}]},
    }

    tree = Tree.from_json(value, SCHEMA)

    assert tree.decode() == value
    assert len(tree.rows()["Node_Host"]) == 3
    assert set(dict(tree.rows()["Link_Host_name"]).values()) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"hosts": [{"name": 1}]}, "the value.hosts[0].name is 1, which is not of type str"),
        ({"hostz": []}, "did you mean `hosts`?"),
        ({}, "the value.hosts is None"),
        ({"hosts": [{"ports": []}]}, "the value.hosts[0].name is None"),
    ],
)
def test_json_that_does_not_fit_its_schema_is_refused(value: object, words: str) -> None:
    """The message says where, and what is wrong there."""
    with pytest.raises(TidelogError) as caught:
        Tree.from_json(value, SCHEMA)

    assert words in str(caught.value)


def test_the_next_document_is_read_like_the_one_before() -> None:
    """With the types of the first document, the second gives a small script."""
    document = json.loads('{"users": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": []}]}')
    tree = Tree.from_json(document)
    document["users"].reverse()

    script = tree.diff(Tree.from_json(document, like=tree))

    assert len(script) == 4
    assert not any(name.startswith("Node_") for name in script.changes())


# --- source text -----------------------------------------------------------------------------------

FILES = sorted(Path(ast.__file__).parent.glob("*.py"))
# One of each construct that real files seldom have.
RARE = """
async def f(a, /, b: int = 1, *c, d, e=..., **g) -> None:
    async with a as b, c: pass
    async for x in y: await z
    else: return
    yield; yield from a; return (yield b)
match x:
    case None | True | 1: pass
    case [1, *rest] if rest: pass
    case {"a": 1, **more}: pass
    case A(b, c=-1.5) as d: pass
    case _: pass
try: pass
except* E as e: raise A from b
x: int; y: int = 10 ** 40; (z): int
global q, r
lambda *a, k=1, **b: {**a, 1: 2}
f"{x!r:>{width}}" "y"; u"kind"; b"\\xff"
a = b = 1j, 2.5e300, 1_000, ..., True
a @= b if c else not d; assert a < b <= c is not d, "x"
[*a, b] = c; del a[1:2, ::3]; (n := 5)
{i: j for i in k if l if m for j in n}
import a.b as c; from . import d as e, f; from ...g import *
"""


@pytest.mark.parametrize("path", random.Random(1).sample(FILES, 12), ids=lambda path: path.name)  # noqa: S311 - not for secrets
def test_python_files_come_back(path: Path) -> None:
    """The tree of a file of the standard library decodes to the same `ast`, places included."""
    text = path.read_text(encoding="utf-8")
    module = ast.parse(text)

    tree = Tree.from_source(text)

    assert ast.dump(tree.decode(), include_attributes=True) == ast.dump(module, include_attributes=True)


def test_rare_constructs_come_back() -> None:
    """Every sort of statement, expression, pattern and constant of Python is decoded."""
    tree = Tree.from_source(RARE)

    assert ast.dump(tree.decode()) == ast.dump(ast.parse(RARE))
    back = Tree.from_facts(tree.rows(), tree)
    assert ast.dump(back.decode()) == ast.dump(ast.parse(RARE))


def test_places_of_text_that_is_not_ascii() -> None:
    """Spans count characters, whatever bytes they have, and all ways to end a line."""
    tree = Tree.from_source("a = 'é€😀'\r\nb = a\rc = b", name="a.py")
    names = [node for node in tree if node.type == "Name"]

    spans = [tree.span(node.id) for node in names]

    assert [span.text for span in spans if span] == ["a", "b", "a", "c", "b"]


def test_a_mistake_in_a_text_is_told_with_its_place() -> None:
    """A text that is not Python is refused, with file, line and column."""
    with pytest.raises(TidelogError) as caught:
        Tree.from_source("x = 1\ny = (", name="a.py")

    (mistake,) = caught.value.diagnostics
    assert mistake.code == "source-syntax"
    assert str(mistake.span) == "a.py:2:5"


TEXTS = {
    "go": "package p\nfunc f(a int) (int, error) { if a > 1 { return a, nil }; return -a, nil }\n",
    "java": "class A { public static void run(int i) { int x = i; while (x >= 0) { x = x - 1; } } }",
    "javascript": "async function f(a, ...b) { return await a ?? `x${b}` }",
    "c": "static int f(struct s *p) { return p->x ? 1 : sizeof(int); }",
    "tree-sitter:python": "def f(a, *b):\n    return a if b else not a\n",
}


@pytest.mark.parametrize("language", TEXTS)
def test_tree_sitter_texts(language: str) -> None:
    """A grammar's named nodes, fields and leaf texts are in the tree; the text itself is kept."""
    pytest.importorskip("tree_sitter")
    text = TEXTS[language]

    tree = Tree.from_source(text, language)

    assert tree.decode() == text
    parsed = find_language(language)
    leaves = {tree.values_of(node.id)["text"] for node in tree if "text" in tree.values_of(node.id)}
    assert {"a", "f", "x"} & leaves
    assert Tree.from_facts(tree.rows(), tree) == tree
    renamed = Tree.from_source(text.replace(" f(", " g(").replace("run(", "g("), language)
    assert [str(edit).split()[0] for edit in tree.diff(renamed)] == ["update"]
    assert parsed.schema is tree.schema


def test_words_and_operators_of_a_grammar() -> None:
    """Modifiers are in `words`, an operator in a field is a token, comments are left out."""
    pytest.importorskip("tree_sitter")
    tree = Tree.from_source("class A { /* no */ public static int f() { return 1 + 2; } }", "java")
    facts = tree.rows()

    assert "public static" in {text for _, text in facts["Link_modifiers_text"]}
    assert set(dict(facts["Link_token_text"]).values()) == {"+"}
    assert "Node_block_comment" not in facts


def test_a_grammar_that_is_not_installed() -> None:
    """The message says which package to install."""
    with pytest.raises(TidelogError, match="tree-sitter-cobol"):
        Tree.from_source("", "cobol")


def test_a_text_that_a_grammar_does_not_allow() -> None:
    """A mistake is told with its place."""
    pytest.importorskip("tree_sitter")
    with pytest.raises(TidelogError) as caught:
        Tree.from_source("class A {\n int ; }", "java", name="A.java")

    assert str(caught.value.diagnostics[0].span).startswith("A.java:2")


def test_deep_trees() -> None:
    """A value nested deeper than Python's own limit is encoded and decoded."""
    value: list[object] = []
    for _ in range(5 * sys.getrecursionlimit()):
        value = [value]

    tree = Tree.from_json(value, {})
    back = tree.decode()

    depth = 0
    while isinstance(back, list) and back:
        back, depth = back[0], depth + 1
    assert depth == 5 * sys.getrecursionlimit()
