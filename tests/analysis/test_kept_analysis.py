"""Analyses that are kept in a folder between starts."""

import json
import random
from pathlib import Path

import pytest

from tidelog.analysis import Follow
from tidelog.analysis.kept_analysis import start_analysis
from tidelog.analysis.request import AnalysisRequest
from tidelog.errors import TidelogError
from tidelog.options import OpenOptions
from tidelog.store import Store

PROGRAM = """
.decl named(f: Node, name: symbol)
.output named
named(f, n) :- Link_FunctionDef_name(f, n), wanted(n).
.decl wanted(name: symbol)
.input wanted
.decl alone(f: Node)
.output alone
alone(f) :- Link_FunctionDef_name(f, n), !called(n).
.decl called(name: symbol)
called(n) :- Link_Call_func(_, e), Link_Name_id(e, n).
"""
TEXTS = {
    "a.py": "def f():\n    return g()\n",
    "b.py": "def g():\n    pass\n",
    "c.py": "def h(:\n",
}


@pytest.fixture
def request_of(tmp_path: Path) -> AnalysisRequest:
    """Return the request for an analysis that reads a fact file."""
    program = tmp_path / "named.dl"
    program.write_text(PROGRAM)
    (tmp_path / "wanted.facts").write_text("f\ng\n")
    return AnalysisRequest.of(program, OpenOptions(facts=tmp_path), "python")


def found(follow: Follow) -> list[str]:
    """Return the findings as text, with their places."""
    return [str(finding) for finding in follow.findings()]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, but for the lock, which says who had it last."""
    files = (each for each in folder.rglob("*") if each.is_file() and each.name != "lock")
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


def test_a_start_from_a_folder_finds_what_a_new_analysis_finds(
    request_of: AnalysisRequest, tmp_path: Path
) -> None:
    """Files that changed, came, went, or got mistakes since are as in an analysis without a folder."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    texts = dict(TEXTS)
    for _ in range(8):
        kept = start_analysis(request_of, texts, tmp_path / "kept")
        new = start_analysis(request_of, texts)

        assert found(kept.follow) == found(new.follow)
        assert kept.follow.forest.files.keys() == new.follow.forest.files.keys()
        assert [each.message for each in kept.mistakes] == [each.message for each in new.mistakes]
        kept.follow.close()
        new.follow.close()
        for name in chance.sample(["a.py", "b.py", "c.py", "d.py"], 2):
            if chance.random() < 0.2:
                texts.pop(name, None)
            else:
                body = chance.choice(["def f(): pass\n", "def g(): f()\n", "x = g()\n", "def broken(:\n"])
                texts[name] = texts.get(name, "") + body if chance.random() < 0.5 else body


def test_a_second_start_evaluates_nothing(request_of: AnalysisRequest, tmp_path: Path) -> None:
    """Without changes the state is the one in the folder, in the same epoch, and nothing is written."""
    texts = {name: TEXTS[name] for name in ("a.py", "b.py")}
    start_analysis(request_of, texts, tmp_path / "kept").follow.close()
    before = contents(tmp_path / "kept")

    again = start_analysis(request_of, texts, tmp_path / "kept").follow

    assert again.db.epoch == 0
    assert contents(tmp_path / "kept") == before
    again.close()


def test_edits_after_the_start_are_not_written(request_of: AnalysisRequest, tmp_path: Path) -> None:
    """The folder is free for others as soon as the analysis has started."""
    follow = start_analysis(request_of, TEXTS, tmp_path / "kept").follow

    follow.update({"a.py": "def k(): pass\n"})

    with pytest.raises(TidelogError, match="there is no store"):
        follow.db.checkpoint()
    other = start_analysis(request_of, TEXTS, tmp_path / "kept").follow
    assert other.db.epoch == 0
    follow.close()
    other.close()


@pytest.mark.parametrize("what", ["program", "facts", "folder", "trees of an earlier version"])
def test_what_is_of_no_use_is_made_again(request_of: AnalysisRequest, tmp_path: Path, what: str) -> None:
    """Another program, other facts or a damaged folder start a new analysis."""
    start_analysis(request_of, TEXTS, tmp_path / "kept").follow.close()
    if what == "program":
        request_of.program.write_text(PROGRAM.replace("!called(n)", "wanted(n)"))
    elif what == "facts":
        (tmp_path / "wanted.facts").write_text("g\n")
    elif what == "folder":
        (tmp_path / "kept" / "trees.image").write_bytes(b"no trees")
    else:
        (tmp_path / "kept" / "trees.image").rename(tmp_path / "kept" / "trees.npz")

    kept, new = start_analysis(request_of, TEXTS, tmp_path / "kept"), start_analysis(request_of, TEXTS)

    assert found(kept.follow) == found(new.follow)
    about = json.loads((tmp_path / "kept" / "follow.json").read_text())
    assert about["fingerprint"] == request_of.fingerprint()
    kept.follow.close()
    new.follow.close()


def test_a_folder_with_other_things_is_refused(request_of: AnalysisRequest, tmp_path: Path) -> None:
    """Nothing is deleted that an analysis did not write."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "notes.txt").write_text("mine")

    with pytest.raises(TidelogError, match="not the store of an analysis"):
        start_analysis(request_of, TEXTS, tmp_path / "kept")

    assert (tmp_path / "kept" / "notes.txt").read_text() == "mine"


def test_a_folder_in_use_is_left_alone(request_of: AnalysisRequest, tmp_path: Path) -> None:
    """While another process has the store, an analysis starts without it and finds the same."""
    first = start_analysis(request_of, TEXTS, tmp_path / "kept").follow
    held = Store.open(tmp_path / "kept" / "state")

    second = start_analysis(request_of, TEXTS, tmp_path / "kept").follow

    assert found(second) == found(first)
    held.close()
    first.close()
    second.close()
