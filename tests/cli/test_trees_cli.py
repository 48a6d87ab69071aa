"""`tidelog tree`: declarations, facts and edits on the command line."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidelog.cli.app import app


def run(*arguments: object) -> str:
    """Return what a command prints."""
    result = CliRunner().invoke(app, ["tree", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with two versions of a Python and of a JSON file."""
    (tmp_path / "old.py").write_text("x = 1\n")
    (tmp_path / "new.py").write_text("x = 2\n")
    (tmp_path / "old.json").write_text(json.dumps({"hosts": [{"name": "a"}]}))
    (tmp_path / "new.json").write_text(json.dumps({"hosts": [{"name": "b"}]}))
    return tmp_path


def test_the_edits_between_two_files(folder: Path) -> None:
    """Edits, or the facts that change, of the language that the file names tell."""
    assert run("diff", folder / "old.py", folder / "new.py") == "update Constant_int#6 value: 1 -> 2\n"
    assert run("diff", folder / "old.py", folder / "new.py", "--changes") == (
        "-Link_Constant_int_value(6, 1).\n+Link_Constant_int_value(6, 2).\n"
    )
    assert run("diff", folder / "old.json", folder / "new.json") == "update Hosts#3 name: 'a' -> 'b'\n"


def test_edits_as_json(folder: Path) -> None:
    """Edits are objects, changed facts are listed by relation."""
    files = folder / "old.py", folder / "new.py", "--format", "json"

    assert json.loads(run("diff", *files)) == [
        {"edit": "update", "node": "Constant_int#6", "old": {"value": 1}, "new": {"value": 2}}
    ]
    assert json.loads(run("diff", *files, "--changes")) == {
        "Link_Constant_int_value": {"insert": [[6, 2]], "delete": [[6, 1]]}
    }


def test_declarations_of_a_language_and_of_a_file(folder: Path) -> None:
    """All relations, or those that a program names."""
    (folder / "rules.dl").write_text("a(x) :- Node_If(x), undef_Link_If_orelse(x).")

    assert ".decl Node_FunctionDef(id: Node)" in run("declare", "python")
    some = run("declare", "python", "--program", folder / "rules.dl")
    assert some.count(".decl ") == 3
    assert ".decl Link_Hosts_name(id: Node, value: symbol)" in run("declare", folder / "old.json")


def test_facts_that_a_run_reads(folder: Path) -> None:
    """What `facts` writes is what the generated declarations read."""
    run("facts", folder / "old.py", "-D", folder / "facts")
    rules = ".decl v(n: number)\n.output v\nv(n) :- Link_Constant_int_value(_, n).\n"
    (folder / "rules.dl").write_text(run("declare", "python") + rules)

    result = CliRunner().invoke(
        app, ["run", str(folder / "rules.dl"), "-F", str(folder / "facts"), "-D", str(folder)]
    )

    assert result.exit_code == 0, result.output
    assert (folder / "v.csv").read_text() == "1\n"


def test_a_file_of_an_unknown_language(folder: Path) -> None:
    """The language has to be told, and then is used."""
    (folder / "old.txt").write_text("x = 1\n")

    result = CliRunner().invoke(app, ["tree", "diff", str(folder / "old.txt"), str(folder / "new.py")])

    assert result.exit_code == 1
    assert "source-language" in result.output
    assert run("diff", "-l", "python", folder / "old.txt", folder / "new.py").startswith("update")


def test_mistakes_are_told(folder: Path) -> None:
    """A file that does not follow its grammar is a mistake of the user."""
    (folder / "bad.json").write_text("{")
    (folder / "bad.py").write_text("x = (")

    for name in ("bad.json", "bad.py"):
        result = CliRunner().invoke(app, ["tree", "declare", str(folder / name)])
        assert result.exit_code == 1
        assert "source-syntax" in result.output
