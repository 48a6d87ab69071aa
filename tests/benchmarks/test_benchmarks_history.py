"""The benchmark of histories, on source that is small enough for a test."""

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks.history.edits import made_history
from benchmarks.history.large import run_large
from benchmarks.history.replay import Replay, table

SOURCES = Path(__file__).parents[2] / "src" / "tidelog" / "trees"


def test_a_made_history_is_followed_as_if_analysed_anew() -> None:
    """After random edits and files that come and go, all relations are those of a new analysis."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("[e-i]*.py"))}
    run = Replay("review.dl", dict(texts))
    for changes in made_history(texts, 8):
        run.step(changes)
    gone = min(texts)
    run.step({gone: None, f"moved/{gone}": texts[gone]})
    run.step({"broken.py": "def f(:\n"})
    scratch = run.check()

    assert scratch.is_equal
    assert sum(cost.edits for cost in run.costs) > 20
    assert not any(cost.recomputed for cost in run.costs)
    assert "1 of 1 checks equal" in next(iter(table(run)))


def test_a_large_analysis_is_made_and_reopened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both parts tell what they took; edits leave the kept analysis as it was."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("f*.py"))}
    monkeypatch.setattr("benchmarks.trees.sources.read_files", lambda _: texts)
    options = Namespace(lines=100, edits=2, program="names.dl", folder=tmp_path / "kept")

    for part in ("make", "reopen", "reopen"):
        options.part = part
        assert run_large(options) == 0

    told = capsys.readouterr().out
    assert "names.dl analysed and saved" in told
    assert told.count("2 edits, CPU ms") == 2
