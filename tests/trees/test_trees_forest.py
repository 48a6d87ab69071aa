"""Forests: files that come, go, move and are renamed, in one space of ids."""

import random

import pytest

from tidelog.errors import TidelogError
from tidelog.trees import Forest, Load, Unload
from tidelog.trees.index import TreeRelations

METHOD = "def moved(a):\n    for b in range(10):\n        print(a, b)\n"


def facts(forest: Forest) -> dict[str, set[tuple[object, ...]]]:
    """Return all facts of a forest."""
    return {name: set(rows) for name, rows in forest.tree().rows().items()}


def test_files_come_and_go() -> None:
    """A new file is loaded with its path; a deleted one leaves nothing behind."""
    step = Forest.of("python").update({"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    gone = step.forest.update({"a.py": None, "nowhere.py": None})

    assert set(dict(step.forest.tree().rows()["Link_File_path"]).values()) == {"a.py", "b/c.py"}
    assert list(gone.forest) == ["b/c.py"]
    assert {type(edit) for edit in gone.script} >= {Unload}
    assert len(gone.forest.tree().rows()["root"]) == 1


def test_renaming_a_file_is_one_value() -> None:
    """The same text under another path keeps all ids."""
    forest = Forest.of("python").update({"a.py": METHOD, "b.py": "x = 1"}).forest

    step = forest.update({"a.py": None, "c.py": METHOD})

    assert [str(edit) for edit in step.script] == ["update File#1 path: 'a.py' -> 'c.py'"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print(a, b)", "print(b)"),
        ("def moved(a)", "async def moved(a)"),
        ("x = 1", ""),
        ("x = 1", "x = (\n  'ä', 1)"),
        ("", ""),
    ],
)
def test_a_file_that_is_renamed_and_edited_is_read_as_a_new_one(old: str, new: str) -> None:
    """It is read from the file that had its name, and has the nodes, places and text of its own."""
    text = f"x = 1\n{METHOD}y = 2\n"
    edited = text.replace(old, new)
    forest = Forest.of("python").update({"a/b.py": text, "c.py": "z = 1\n"}).forest

    renamed = forest.update({"a/b.py": None, "d/b.py": edited}).forest.files["d/b.py"]

    fresh = Forest.of("python").update({"d/b.py": edited}).forest.files["d/b.py"]
    assert [node.type for node in renamed] == [node.type for node in fresh]
    assert [renamed.span(node.id) for node in renamed] == [fresh.span(node.id) for node in fresh]
    assert all(
        span is None or span.source.name == "d/b.py" for span in map(renamed.span, renamed.ids.tolist())
    )


def test_a_function_moves_to_another_file() -> None:
    """What goes from one file to another in one step keeps its ids."""
    forest = Forest.of("python").update({"a.py": f"x = 1\n{METHOD}", "b.py": "y = 2\n"}).forest
    before = {node.id for node in forest.files["a.py"]}

    step = forest.update({"a.py": "x = 1\n", "b.py": f"y = 2\n{METHOD}"})

    assert not any(isinstance(edit, Load | Unload) for edit in step.script)
    assert {node.id for node in step.forest.files["b.py"] if node.id in before}


def test_a_mistake_keeps_the_last_good_tree() -> None:
    """A file with a mistake is reported and left as it was; others in the same step go on."""
    forest = Forest.of("python").update({"a.py": "x = 1\n", "b.py": "y = 2\n"}).forest

    step = forest.update({"a.py": "x = (\n", "b.py": "y = 3\n"})

    assert [str(mistake.span) for mistake in step.mistakes] == ["a.py:1:5"]
    assert [str(edit).split()[0] for edit in step.script] == ["update"]
    assert facts(step.forest).keys() == facts(forest).keys()


def test_where_a_node_stands() -> None:
    """A node of any file is found with its path and line, also after lines above it came and went."""
    forest = Forest.of("python").update({"a.py": "x = 1\n", "b.py": f"{METHOD}z = 3\n"}).forest
    (node,) = (each.id for each in forest.files["b.py"] if each.type == "FunctionDef")

    moved = forest.update({"b.py": f"\n# a comment\n\n{METHOD}z = 3\n"})

    assert len(moved.script) == 0
    assert str(forest.span(node)) == "b.py:1:1"
    assert str(moved.forest.span(node)) == "b.py:4:1"
    assert moved.forest.find(node)[0] == "b.py"
    with pytest.raises(TidelogError, match="no-such-node"):
        forest.span(10**9)


def test_a_folder(tmp_path) -> None:
    """All files of the language below a folder are read; others are not."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "sub" / "b.py").write_text("y = 2")
    (tmp_path / "sub" / "c.txt").write_text("z")

    step = Forest.of_folder(tmp_path)

    assert list(step.forest) == ["a.py", "sub/b.py"]


def test_many_steps() -> None:
    """Facts that follow every script are those of the forest, whatever happens to the files."""
    chance = random.Random(7)  # noqa: S311 - not for secrets
    lines = [
        "x = 1\n",
        "print(x)\n",
        METHOD,
        "class A:\n    pass\n",
        "import a\n",
        "x = (\n",
        "y = [1, 2, 3]\n",
    ]
    forest = Forest.of("python")
    relations = TreeRelations(forest.tree().schema, {})
    for _ in range(60):
        names = chance.sample(["a.py", "b.py", "c.py", "d.py"], chance.randrange(1, 4))
        texts = {
            name: None if chance.random() < 0.2 else "".join(chance.choices(lines, k=chance.randrange(5)))
            for name in names
        }
        step = forest.update(texts)
        relations.apply(step.script)
        forest = step.forest
        assert relations.facts() == facts(forest)
        assert len({node.id for tree in forest.files.values() for node in tree}) == len(forest)
