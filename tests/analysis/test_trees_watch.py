"""Following files and commits: what is found, where, what changes, and what a mistake leaves as it is."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from support.processes import started
from tidelog.analysis.follow import Follow
from tidelog.analysis.sarif import sarif, write_sarif
from tidelog.cli.app import app
from tidelog.errors import TidelogError
from tidelog.trees import Forest
from tidelog.trees.git_history import GitHistory

RULES = """
// Functions without a docstring.
.decl undocumented(f: Node, name: symbol)
.output undocumented
undocumented(f, n) :- Link_FunctionDef_name(f, n), !documented(f).
.decl documented(f: Node)
documented(f) :- Link_FunctionDef_body(f, b), first(b, s), Link_Expr_value(s, c), Node_Constant_str(c).
"""
GOOD = 'def good():\n    """Return."""\n'
BAD = "def bad():\n    return 1\n"


def follow(texts: dict[str, str | None]) -> Follow:
    """Return the analysis over some files."""
    return Follow(RULES, Forest.of("python").update(texts).forest)


def test_findings_have_file_and_line() -> None:
    """Facts of output relations are told with the place of the first node and the rest as values."""
    found = follow({"b.py": f"x = 1\n\n{BAD}", "a.py": GOOD + BAD}).findings()

    assert [str(each) for each in found] == [
        'a.py:3:1: undocumented(`def bad():…`, "bad")',
        'b.py:3:1: undocumented(`def bad():…`, "bad")',
    ]


def test_a_step_tells_what_came_and_went() -> None:
    """New findings have the place in the new text, those that are gone the place in the old one."""
    analysis = follow({"a.py": BAD, "b.py": GOOD})

    step = analysis.update({"a.py": f"\n\n{GOOD}", "b.py": f"{GOOD}\n{BAD}", "c.py": "x = ("})

    assert [str(each.span) for each in step.deleted] == ["a.py:1:1"]
    assert [str(each.span) for each in step.inserted] == ["b.py:4:1"]
    assert [each.code for each in step.mistakes] == ["source-syntax"]
    assert list(analysis.forest) == ["a.py", "b.py"]


def test_findings_as_sarif() -> None:
    """A result for each finding, with its rule and region; mistakes are notifications."""
    analysis = follow({"sub dir/a.py": f"x = 'é'\n{BAD}"})
    step = analysis.update({"b.py": "("})

    log = json.loads(json.dumps(sarif(analysis.findings(), step.mistakes)))

    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0"
    assert result["ruleId"] == run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "undocumented"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sub%20dir/a.py"
    assert place["region"] == {"startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 13}
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1


# --- git -------------------------------------------------------------------------------------------


def git(repository: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    names = {"NAME": "n", "EMAIL": "e@x"}
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in names.items()}
    done = subprocess.run(
        ["git", "-C", str(repository), *arguments],
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository of four commits."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    versions: list[dict[str, str | None]] = [
        {"a.py": BAD, "notes.txt": "no"},
        {"a.py": GOOD + BAD, "sub/ü b.py": BAD},
        {"a.py": None, "c.py": GOOD + BAD},
        {"c.py": GOOD, "sub/ü b.py": "x = (\n"},
    ]
    for number, version in enumerate(versions):
        for name, text in version.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"version {number}")
    return folder


def test_a_history_is_read_commit_by_commit(repository: Path) -> None:
    """Files of a revision, and the changes of each commit, with names that are not ASCII."""
    with GitHistory(repository, (".py",)) as history:
        commits = history.commits()
        changes = [history.changes(commit) for commit in commits]
        files = history.files("HEAD~1")

    assert [commit.subject for commit in commits] == [f"version {number}" for number in range(4)]
    assert commits[0].parent is None
    assert [sorted(each) for each in changes] == [
        ["a.py"],
        ["a.py", "sub/ü b.py"],
        ["a.py", "c.py"],
        ["c.py", "sub/ü b.py"],
    ]
    assert changes[2]["a.py"] is None
    assert files == {"c.py": GOOD + BAD, "sub/ü b.py": BAD}


def test_what_is_no_repository(tmp_path: Path) -> None:
    """A folder without a history, and a range that names nothing, are mistakes of the user."""
    with pytest.raises(TidelogError, match="git-failed"):
        GitHistory(tmp_path, (".py",))


def run(*arguments: object) -> str:
    """Return what a command prints."""
    result = CliRunner().invoke(app, ["watch", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with a program, and two files in `src`: one function lacks its documentation."""
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(BAD)
    (tmp_path / "src" / "b.py").write_text(GOOD)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "status"), [([], 1), (["--exit-zero"], 0), (["--quiet"], 1), (["--format", "json"], 1)]
)
def test_findings_are_the_exit_status(sources: Path, options: list[str], status: int) -> None:
    """Who looks once gets 1 if anything is found, unless `--exit-zero` says otherwise."""
    once = ["watch", str(sources / "rules.dl"), "--tree", str(sources / "src"), "--once"]

    found = CliRunner().invoke(app, [*once, *options])
    (sources / "src" / "a.py").write_text(GOOD)
    clean = CliRunner().invoke(app, [*once, *options])

    assert (found.exit_code, clean.exit_code) == (status, 0)


def test_an_analysis_is_kept_between_starts(sources: Path) -> None:
    """With a store the second start tells what is found now, as the first one does."""
    options = ["--once", "--exit-zero", "--store", sources / "kept"]
    first = run(sources / "rules.dl", "--tree", sources / "src", *options)
    (sources / "src" / "b.py").write_text(f"{BAD}\n{GOOD}")

    second = run(sources / "rules.dl", "--tree", sources / "src", *options)

    assert second == run(sources / "rules.dl", "--tree", sources / "src", "--once", "--exit-zero")
    assert second != first
    assert (sources / "kept" / "follow.json").exists()


def test_a_store_is_for_folders(sources: Path) -> None:
    """Commits are replayed from their texts."""
    done = CliRunner().invoke(app, ["watch", "rules.dl", "--git", str(sources), "--store", "kept"])

    assert done.exit_code == 2
    assert "--store goes with --tree" in done.output


def test_a_file_that_cannot_be_read_is_the_exit_status(sources: Path) -> None:
    """Nothing was found in a file with a mistake in it, which is no reason to pass."""
    (sources / "src" / "a.py").write_text("def (")
    once = ["watch", str(sources / "rules.dl"), "--tree", str(sources / "src"), "--once"]

    assert CliRunner().invoke(app, once).exit_code == 1


def test_findings_as_json(sources: Path) -> None:
    """One object to a line, with places and, if asked for, why."""
    program = sources / "rules.dl"

    printed = run(
        program, "--tree", sources / "src", "--once", "--exit-zero", "--format", "json", "--why", "1"
    )

    found = json.loads(printed)
    (finding,) = found["inserted"]
    assert found["title"] == "2 files"
    assert (finding["file"], finding["line"], finding["relation"]) == ("a.py", 1, "undocumented")
    assert finding["why"].startswith("undocumented(")


def test_why_is_told_of_every_finding(sources: Path) -> None:
    """Each finding is followed by the rule that found it."""
    (sources / "src" / "b.py").write_text(BAD)

    printed = run(sources / "rules.dl", "--tree", sources / "src", "--once", "--exit-zero", "--why", "1")

    assert printed.count("[rules.dl:") == 2


def test_replaying_commits(repository: Path, tmp_path: Path) -> None:
    """One epoch for each commit of the range; a moved file moves its findings, a mistake keeps them."""
    program, log = tmp_path / "rules.dl", tmp_path / "log.sarif"
    program.write_text(RULES)

    printed = run(program, "--git", repository, "--range", "HEAD~2..HEAD", "--sarif", log)

    lines = [line.split(", ", 1)[-1] if line.startswith("#") else line for line in printed.splitlines()]
    assert lines == [
        "2 found",
        '  a.py:3:1: undocumented(`def bad():…`, "bad")',
        '  sub/ü b.py:1:1: undocumented(`def bad():…`, "bad")',
        "1 edit, 0 new, 0 gone",
        "7 edits, 0 new, 1 gone",
        '- c.py:3:1: undocumented(`def bad():…`, "bad")',
    ]
    assert len(json.loads(log.read_text())["runs"][0]["results"]) == 1


@pytest.mark.parametrize(
    "arguments",
    [[], ["--tree", ".", "--git", "."], ["--tree", ".", "--range", "a..b"], ["--tree", ".", "--exit-zero"]],
)
def test_options_that_do_not_go_together(arguments: list[str], tmp_path: Path) -> None:
    """Either a folder is watched or a history replayed."""
    result = CliRunner().invoke(app, ["watch", str(tmp_path / "rules.dl"), *arguments])

    assert result.exit_code == 2


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The message names it."""
    (tmp_path / "rules.dl").write_text(RULES)

    result = CliRunner().invoke(app, ["watch", str(tmp_path / "rules.dl"), "--tree", str(tmp_path / "no")])

    assert result.exit_code == 1
    assert "no-such-folder" in result.output


def test_saving_files(tmp_path: Path) -> None:
    """A process that watches a folder prints what every save changes, and ends quietly when interrupted."""
    program, folder = tmp_path / "rules.dl", tmp_path / "src"
    program.write_text(RULES)
    folder.mkdir()
    (folder / "a.py").write_text(BAD)
    command = [sys.executable, "-m", "tidelog", "watch", str(program), "--tree", str(folder)]
    with started([*command, "--interval", "0.05"]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "# 1 file, 1 found\n"
        assert "a.py:1:1" in process.stdout.readline()
        time.sleep(0.05)
        (folder / "b.py").write_text(f"\n{BAD}")
        assert "1 new, 0 gone" in process.stdout.readline()
        assert process.stdout.readline().startswith("+ b.py:2:1: undocumented")
        (folder / "a.py").write_text("x = (")
        assert "0 edits" in process.stdout.readline()
        (folder / "a.py").unlink()
        assert "0 new, 1 gone" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)

    assert "error[source-syntax]" in told
    assert "Traceback" not in told


def test_sarif_files_are_as_readable_as_others(tmp_path: Path) -> None:
    """A SARIF file has the mode that the umask gives, not that of a temporary file."""
    mask = os.umask(0o022)
    try:
        write_sarif(tmp_path / "log.sarif", [])
    finally:
        os.umask(mask)

    assert (tmp_path / "log.sarif").stat().st_mode & 0o777 == 0o644
    assert json.loads((tmp_path / "log.sarif").read_text("utf-8"))["version"] == "2.1.0"


def test_a_sarif_file_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is full the old file stays, no temporary one, and a diagnostic names the file."""
    log = tmp_path / "log.sarif"
    log.write_text("old", "utf-8")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TidelogError, match=r"log.sarif` cannot be written: No space left"):
        write_sarif(log, [])

    assert [file.name for file in tmp_path.iterdir()] == ["log.sarif"]
    assert log.read_text("utf-8") == "old"
