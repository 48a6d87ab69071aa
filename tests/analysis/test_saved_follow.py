"""Analyses that are saved in a folder and reopened."""

import json
from pathlib import Path

import pytest

from tidelog.analysis import Follow, reopen_follow, save_follow, start_saved
from tidelog.errors import TidelogError
from tidelog.trees import Forest

PROGRAM = """
.decl named(f: Node, name: symbol)
.output named
named(f, n) :- Link_FunctionDef_name(f, n), undef_Link_FunctionDef_returns(f).
.decl inside(f: Node, g: Node)
.output inside
inside(f, g) :- Node_FunctionDef(f), parent(f, p), below(p, g).
.decl below(n: Node, g: Node)
below(g, g) :- Node_FunctionDef(g).
below(n, g) :- parent(n, p), below(p, g).
"""
TEXTS = {
    "a.py": "def f():\n    def g(): pass\n    return g\n",
    "b.py": "x = 12345678901234\ndef h() -> int: return 1\n",
}


def found(follow: Follow) -> list[str]:
    """Return the findings as text, with their places."""
    return [str(finding) for finding in follow.findings()]


def test_an_analysis_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    """Findings, trees, later updates and proofs are those of an analysis that was never closed."""
    forest = Forest.of("python").update(TEXTS).forest
    follow = start_saved(PROGRAM, forest, tmp_path / "saved")
    other = Follow(PROGRAM, forest)
    edits = [
        {"a.py": TEXTS["a.py"].replace("g(): pass", "g() -> int: pass")},
        {"b.py": None, "c.py": TEXTS["b.py"] + "def i(): return h\n"},
        {"a.py": "def f():\n    def g(): pass\n    def k(): pass\n    return g\n"},
    ]

    for edit in edits:
        follow.update(edit)
        save_follow(follow, tmp_path / "saved")
        follow.close()
        follow = reopen_follow(tmp_path / "saved")
        other.update(edit)

        assert found(follow) == found(other)
        assert {path: str(tree) for path, tree in follow.forest.files.items()} == {
            path: str(tree) for path, tree in other.forest.files.items()
        }
        finding = follow.findings()[0]
        assert follow.why(finding) == other.why(finding)
    follow.close()


def test_trees_that_were_not_saved_are_found_out(tmp_path: Path) -> None:
    """Facts that went on without their trees are refused, and say how far each is."""
    follow = start_saved(PROGRAM, Forest.of("python").update(TEXTS).forest, tmp_path / "saved")
    follow.update({"b.py": "y = 1\n"})
    follow.close()

    with pytest.raises(TidelogError, match="facts are of epoch 1, its trees of epoch 0"):
        reopen_follow(tmp_path / "saved")


@pytest.mark.parametrize("damage", ["trees.image", "follow.json", "ids"])
def test_a_folder_that_is_not_whole_is_refused(damage: str, tmp_path: Path) -> None:
    """A folder without trees, without what is known of them, or with others, is a diagnostic."""
    start_saved(PROGRAM, Forest.of("python").update(TEXTS).forest, tmp_path / "saved").close()
    if damage == "ids":
        about = json.loads((tmp_path / "saved" / "follow.json").read_text())
        (tmp_path / "saved" / "follow.json").write_text(json.dumps({**about, "ids": ""}))
    else:
        (tmp_path / "saved" / damage).unlink()

    with pytest.raises(TidelogError, match="cannot be reopened"):
        reopen_follow(tmp_path / "saved")


def test_there_must_be_something_to_reopen(tmp_path: Path) -> None:
    """A folder that does not exist is a diagnostic."""
    with pytest.raises(TidelogError, match="not an analysis that was saved"):
        reopen_follow(tmp_path / "missing")
