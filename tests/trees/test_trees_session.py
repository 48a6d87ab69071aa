"""Trees in sessions: declarations, virtual relations, and analyses that follow edits."""

import pytest
from hypothesis import given, settings

import tidelog
from support.small_trees import trees
from tidelog.errors import TidelogError
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.trees import Forest, Tree

RULES = """
.decl value(e: Node, n: number)
value(e, n) :- Link_Num_value(e, n).
value(e, 0 - n) :- Link_Neg_of(e, x), value(x, n).
value(e, a + b) :- Link_Add_left(e, x), Link_Add_right(e, y), value(x, a), value(y, b).
.decl element(list: Node, e: Node)
element(l, e) :- first(l, e).
element(l, f) :- element(l, e), next(e, f).
.decl inside(e: Node, around: Node)
inside(e, p) :- parent(e, p).
inside(e, q) :- inside(e, p), parent(p, q).
.decl bare(e: Node)
bare(e) :- undef_Link_Call_args(e), undef_Link_Call_note(e).
.decl noted(e: Node)
noted(e) :- Node_Call(e), !undef_Link_Call_note(e).
.decl others(n: number)
others(n) :- n = count : { undef_Node_Call(_) }.
"""
VIRTUAL = ("undef_Link_Call_args", "undef_Link_Call_note", "undef_Node_Call", "undef_Node_Num")


@settings(max_examples=12, deadline=None)
@given(trees, trees, trees)
def test_an_analysis_follows_edits(first: Tree, second: Tree, third: Tree) -> None:
    """After every script all relations, virtual ones too, are what evaluation from nothing gives."""
    tree = first
    db = tidelog.open(tree.declarations() + RULES, facts=tree.facts())
    for new in (second, third):
        step = tree.update(new)
        before = {name: set(db[name]) for name in VIRTUAL}
        delta = db.apply(step.script)
        tree = step.tree
        fresh = tidelog.open(tree.declarations() + RULES, facts=tree.facts())
        for name in (*db.relations, *VIRTUAL):
            assert set(db[name]) == set(fresh[name]), name
        for name in VIRTUAL:
            after = set(db[name])
            assert set(delta[name].inserted) == after - before[name]
            assert set(delta[name].deleted) == before[name] - after
            assert (name in delta) == (after != before[name])
        assert Tree.from_facts(db, tree) == new


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_virtual_relations_can_be_asked(engine: str) -> None:
    """A virtual relation is a set of facts, can be queried and joined, and is not among the stored ones."""
    tree = Tree.from_source("def f() -> int: ...\ndef g(): ...")
    rules = ".decl a(n: symbol)\na(n) :- Link_FunctionDef_name(f, n), undef_Link_FunctionDef_returns(f)."
    db = tidelog.open(tree.declarations() + rules, facts=tree.facts(), engine=engine)
    f, g = (node.id for node in tree if node.type == "FunctionDef")

    assert set(db["undef_Link_FunctionDef_returns"]) == {(g,)}
    assert "undef_Link_FunctionDef_returns" in db
    assert "undef_Link_FunctionDef_returns" not in list(db)
    assert (g,) in db["undef_Link_FunctionDef_returns"]
    assert (f,) not in db["undef_Link_FunctionDef_returns"]
    assert set(db.query("undef_Link_FunctionDef_returns(x)")) == {(g,)}
    asked = "Link_FunctionDef_name(x, n), !undef_Link_FunctionDef_returns(x)"
    assert set(db.query(asked)) == {(f, "f")}
    assert set(db["a"]) == {("g",)}
    assert not any(name.startswith("undef_") for name in db.relations)


def test_subscribers_hear_of_virtual_relations() -> None:
    """After an epoch that changes a virtual relation its delta is told."""
    tree = Tree.from_source("if a: pass")
    db = tidelog.open(tree.declarations(), facts=tree.facts())
    (node,) = (each.id for each in tree if each.type == "If")
    heard: list[list[tuple[int, object]]] = []
    db.subscribe("undef_Link_If_orelse", lambda delta: heard.append(list(delta)))

    step = tree.update(Tree.from_source("if a: pass\nelse: b"))
    db.apply(step.script)
    db.apply(step.tree.diff(Tree.from_source("if c: pass\nelse: b")))

    assert heard == [[(-1, (node,))]]


def test_a_name_that_is_not_virtual_is_unknown() -> None:
    """Only relations of trees have a virtual counterpart."""
    db = tidelog.open(".decl Link_A_b(x: number, y: number)\n.decl edge(x: number)")

    for name in ("undef_Link_A_b", "undef_edge", "undef_"):
        with pytest.raises(TidelogError, match="undeclared-relation"):
            db[name]
    with pytest.raises(TidelogError, match="undeclared-relation"):
        tidelog.open(".decl edge(x: number)\n.decl a(x: number)\na(x) :- undef_edge(x).")


def test_a_link_belongs_to_the_type_with_the_longest_name() -> None:
    """`Link_A_b_c` is the link `c` of `A_b` if there is such a type."""
    text = "".join(f".decl {name}\n" for name in ("Node_A(x: number)", "Node_A_b(x: number)"))
    text += ".decl Link_A_b_c(x: number, y: number)\n"
    db = tidelog.open(text, facts={"Node_A": [(1,), (2,)], "Node_A_b": [(2,)]})

    assert set(db["undef_Link_A_b_c"]) == {(2,)}


def test_declarations_are_a_program() -> None:
    """What is generated is valid, declares every relation that has facts, and explains itself."""
    tree = Tree.from_source("class A:\n    def f(self, *a): return {**a}")

    text = tree.declarations()
    program, _ = build_program(parse(Source("tree.dl", text)))

    assert set(tree.facts()) <= set(program.relations)
    assert "/// `FunctionDef(identifier name, arguments args," in text
    assert all(name in program.relations for name in ("first", "next", "parent", "root", "Node_Any"))


def test_only_what_a_program_names_is_declared() -> None:
    """The relations a program names are declared, and those that its virtual relations need."""
    text = Tree.from_source("").declarations("undef_Link_If_orelse(x), first(a, b)")
    program, _ = build_program(parse(Source("tree.dl", text)))

    assert set(program.relations) == {"first", "Node_Any", "Node_If", "Link_If_orelse"}


def test_open_tree_declares_and_fills() -> None:
    """A program over a tree need not declare the tree's relations, and may declare some itself."""
    forest = Forest.of("python").update({"a.py": "import b", "b.py": "x = 1"}).forest
    rules = (
        ".type Node <: number\n.decl Link_File_path(id: Node, value: symbol)\n"
        ".decl imports(path: symbol, name: symbol)\n"
        "imports(p, n) :- Link_File_path(f, p), Link_File_tree(f, m), within(i, m), Link_alias_name(i, n).\n"
        ".decl within(x: Node, y: Node)\nwithin(x, y) :- parent(x, y).\n"
        "within(x, z) :- within(x, y), parent(y, z).\n"
    )
    db = tidelog.open_tree(rules, forest)

    step = forest.update({"b.py": "import c, d"})
    delta = db.apply(step.script)

    assert set(db["imports"]) == {("a.py", "b"), ("b.py", "c"), ("b.py", "d")}
    assert set(delta["imports"].inserted) == {("b.py", "c"), ("b.py", "d")}
    assert "Node_Module" not in db


def test_mistakes_of_a_program_over_a_tree_keep_their_lines() -> None:
    """Generated declarations do not shift the lines of the program."""
    tree = Tree.from_source("x = 1")

    with pytest.raises(TidelogError) as caught:
        tidelog.open_tree(".decl a(x: Node)\n\na(x) :- Node_Name(y).", tree)

    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.line == 3


def test_a_stored_session_goes_on_with_edits(tmp_path) -> None:
    """A session with a store, opened again, takes the next script."""
    tree = Tree.from_source("x = 1")
    rules = (
        ".decl n(x: number)\nn(x) :- Link_Constant_int_value(_, x).\n"
        ".decl c(x: Node)\nc(x) :- undef_Node_Name(x).\n"
    )
    db = tidelog.open_tree(rules, tree, store=tmp_path / "s")
    step = tree.update(Tree.from_source("x = 2"))
    db.apply(step.script)
    db.close()

    again = tidelog.open(store=tmp_path / "s")
    again.apply(step.tree.diff(Tree.from_source("x = 3\ny = 4")))

    assert set(again["n"]) == {(3,), (4,)}
    assert len(again["c"]) == len(again["undef_Node_Name"])
