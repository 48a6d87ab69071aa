"""Tree diff: the script leads to the new tree, is short, and lets nodes live on."""

import ast
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from support.small_trees import Exp, encode, expressions, fewest_edits, trees
from tidelog.trees import Attach, Detach, Load, Tree, Unload, Update

FILES = [Path(sys.modules[name].__file__ or "") for name in ("ast", "random", "subprocess")]


def replace_all(old: Tree, new: Tree) -> int:
    """Return how many edits it takes to unload one tree and to load the other."""

    def whole(tree: Tree) -> int:
        elements = sum(
            tree.schema.type(tree.type_of(node.id)).links[code].multiple
            for node in tree
            for code in (int(tree.nodes.links[row]) for row in tree.nodes.children(tree.row(node.id)))
        )
        return len(tree) + elements + len(tree.roots)

    return whole(old) + whole(new)


@settings(max_examples=150, deadline=None)
@given(trees, trees)
def test_the_script_leads_to_the_new_tree_and_back(old: Tree, new: Tree) -> None:
    """Applied edit by edit with every check, a diff gives the new tree; its inverse gives the old one."""
    step = old.update(new)

    result = old.apply(step.script)

    assert result == new
    assert result.ids.tolist() == step.tree.ids.tolist()
    assert len(set(result.ids.tolist())) == len(result)
    back = result.apply(step.script.inverse())
    assert back == old
    assert back.ids.tolist() == old.ids.tolist()


@settings(max_examples=100, deadline=None)
@given(trees, trees)
def test_a_script_is_not_longer_than_replacing_everything(old: Tree, new: Tree) -> None:
    """Unloading the old tree and loading the new one never takes fewer edits."""
    script = old.diff(new)

    assert len(script) == len(script.edits) <= replace_all(old, new)


@settings(max_examples=50, deadline=None)
@given(expressions)
def test_equal_trees_have_no_edits(exp: Exp) -> None:
    """A tree that looks the same has the same ids, and nothing to do."""
    old = encode(exp)

    step = old.update(encode(exp))

    assert len(step.script) == 0
    assert step.tree.ids.tolist() == old.ids.tolist()


def small(chance: random.Random, size: int) -> Exp:
    """Return a random expression of a number of nodes."""
    if size == 1:
        return Exp("Num", (chance.randrange(3),))
    if size == 2 or chance.random() < 0.2:
        return Exp("Neg", (), ((0, small(chance, size - 1)),))
    if chance.random() < 0.4:
        first = chance.randrange(1, size - 1)
        return Exp("Add", (), ((0, small(chance, first)), (1, small(chance, size - 1 - first))))
    elements = []
    left = size - 2
    while left:
        part = chance.randrange(1, left + 1)
        elements.append((0, small(chance, part)))
        left -= part
    return Exp("Call", (chance.choice("fg"), None), ((0, Exp("List_Exp", (), tuple(elements))),))


@pytest.mark.parametrize("seed", range(4))
def test_scripts_of_small_trees_are_nearly_the_shortest(seed: int) -> None:
    """No script is longer than 1.5 times the shortest one, found by trying everything."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    lengths = []
    for _ in range(150):
        old, new = (encode(small(chance, chance.randrange(1, 7))) for _ in range(2))
        lengths.append((len(old.diff(new)), fewest_edits(old, new)))

    assert all(length <= 1.5 * fewest for length, fewest in lengths)
    assert sum(length for length, _ in lengths) <= 1.05 * sum(fewest for _, fewest in lengths)


# --- edits people make ---------------------------------------------------------------------------


def python(text: str) -> Tree:
    """Return the tree of a Python text."""
    return Tree.from_source(text)


CLASS = "class App:\n" + "".join(f"    def m{n}(self, x):\n        return x + {n}\n" for n in range(40))


def test_renaming_a_class_changes_one_value() -> None:
    """The name is one fact; nothing below the class has it in its id."""
    script = python(CLASS).diff(python(CLASS.replace("App", "Application")))

    (edit,) = script
    assert isinstance(edit, Update)
    assert script.fact_count == 2
    assert set(script.changes()) == {"Link_ClassDef_name"}


@pytest.mark.parametrize("length", [1, 10, 1000])
def test_a_statement_at_the_front_changes_a_fixed_number_of_links(length: int) -> None:
    """However long the body, what was first becomes next of the new statement."""
    body = "".join(f"x{n} = {n}\n" for n in range(length))

    script = python(body).diff(python(f"pass\n{body}"))

    assert [type(edit) for edit in script] == [Detach, Load, Attach, Attach]
    links = {name: change for name, change in script.changes().items() if not name.startswith("Node_")}
    assert {name: (len(each.insert), len(each.delete)) for name, each in links.items()} == {
        "first": (1, 1),
        "next": (1, 0),
        "parent": (1, 0),
    }


def test_a_moved_method_keeps_its_ids() -> None:
    """A method that goes to another class takes all its nodes along; nothing of it is loaded anew."""
    method = "    def moved(self):\n        for y in range(10):\n            print(self, y)\n"
    old = python(f"class A:\n    a = 1\n{method}\nclass B:\n    b = 2\n")

    step = old.update(python(f"class A:\n    a = 1\n\nclass B:\n    b = 2\n{method}"))

    def ids(tree: Tree) -> list[int]:
        (row,) = [tree.row(n.id) for n in tree if n.type == "FunctionDef"]
        return tree.ids[row : row + int(tree.nodes.sizes[row])].tolist()

    assert ids(old) == ids(step.tree)
    assert not any(isinstance(edit, Load | Unload) for edit in step.script)


def test_wrapping_statements_keeps_them() -> None:
    """Statements put inside an `if` are moved there."""
    body = "print(a, b)\nopen(c).read()\n"
    wrapped = "if x:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    old = python(body)

    step = old.update(python(wrapped))

    assert set(old.ids[2:].tolist()) <= set(step.tree.ids.tolist())


def test_a_long_script_from_one_program_to_another() -> None:
    """Two unrelated programs are told apart and turned into each other."""
    old, new = (python(path.read_text()) for path in FILES[:2])

    script = old.diff(new)

    assert old.apply(script) == new
    assert len(script) <= replace_all(old, new)


def edited(text: str, chance: random.Random) -> str:
    """Return a Python text with some statements deleted, doubled, moved and renamed."""
    module = ast.parse(text)
    bodies = [
        node.body for node in ast.walk(module) if isinstance(getattr(node, "body", None), list) and node.body
    ]
    for _ in range(8):
        body, other = chance.choice(bodies), chance.choice(bodies)
        statement = chance.choice(body)
        match chance.randrange(4):
            case 0 if len(body) > 1:
                body.remove(statement)
            case 1:
                other.insert(chance.randrange(len(other) + 1), ast.parse("print(1)").body[0])
            case 2 if (
                len(body) > 1 and body is not other and statement not in ast.walk(ast.Module(other, []))
            ):
                body.remove(statement)
                other.append(statement)
            case _:
                for name in ast.walk(statement):
                    if isinstance(name, ast.Name):
                        name.id = f"{name.id}_"
                        break
    try:
        return ast.unparse(module)
    except (RecursionError, ValueError):
        return text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_edits_of_real_programs(path: Path) -> None:
    """Scripts between versions of real programs lead from one to the other, and are short."""
    chance = random.Random(path.name)  # noqa: S311 - not for secrets
    tree = python(path.read_text())
    text = path.read_text()
    for _ in range(6):
        text = edited(text, chance)
        new = python(text)
        step = tree.update(new)
        assert tree.apply(step.script) == new
        # What is gone for good is unloaded node by node.
        assert len(step.script) < 2 * abs(len(new) - len(tree)) + len(new) / 4
        tree = step.tree


def test_plain_and_compiled_kernels_agree() -> None:
    """A diff without the compiler gives the same script."""
    program = (
        "import ast, random\n"
        "from tidelog.trees import Tree\n"
        "from test_trees_diff import edited\n"
        "text = open(random.__file__).read()\n"
        "new = edited(text, random.Random(3))\n"
        "print(Tree.from_source(text).diff(Tree.from_source(new)))\n"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_DISABLE_JIT": jit, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for jit in ("0", "1")
    ]

    assert texts[0] == texts[1] != ""
