"""`--format` in every command that prints results; JSON is `--format json` everywhere."""

import json
from pathlib import Path

import pytest
from typer.main import get_command

from support.command_line import Command, make_command
from tidelog.cli.app import app

PROGRAM = """\
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
# Commands whose results are files, a layout, a page or nothing.
WITHOUT = {
    "fmt",
    "include",
    "lsp",
    "serve",
    "shell",
    "version",
    "warm",
    "tree declare",
    "tree facts",
}


def options() -> dict[str, dict[str, list[str]]]:
    """Return the options of all commands, with the words that each may be."""
    commands = {"": get_command(app)}
    found = {}
    while commands:
        path, command = commands.popitem()
        inner = getattr(command, "commands", {})
        commands |= {f"{path} {name}".strip(): each for name, each in inner.items()}
        if not inner:
            found[path] = {
                name: list(getattr(each.type, "choices", [])) for each in command.params for name in each.opts
            }
    return found


def test_formats_have_one_name_and_the_same_words() -> None:
    """Every command with results has `--format`, with the same words, and no other option for a form."""
    found = options()
    named = {name: each["--format"] for name, each in found.items() if "--format" in each}

    assert set(found) - set(named) == WITHOUT
    assert {name for name, words in named.items() if words[:2] != ["text", "json"]} == set()
    assert not [
        (name, option)
        for name, each in found.items()
        for option in ("--json", "--output-format", "--dot", "--html", "--csv")
        if option in each
    ]


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with a program, its facts, changes and a store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("a\tb\nb\tc\n")
    (tmp_path / "c.changes").write_text('+edge("c", "d").\n')
    (tmp_path / "bad.dl").write_text(".decl a(x: number)\na(y).\n")
    command = make_command(monkeypatch, capsys)
    assert command("run", "p.dl", "--store", "state")[0] == 0
    return command


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("apply", "p.dl", "c.changes"), "inserted"),
        (("blame", "p.dl", "c.changes", "-u", "path('a', 'd')"), "changes"),
        (("repair", "p.dl", "c.changes", "-u", "path('a', 'd')"), "changes"),
        (("repair", "p.dl", "c.changes", "-u", "path('a', 'd')", "--apply"), "changes"),
        (("status", "state"), "epoch"),
        (("plan", "p.dl"), "strata"),
        (("plan", "p.dl", "--measure"), "strata"),
        (("why", "p.dl", "path('a', 'c')"), "nodes"),
        (("why-not", "p.dl", "path('c', 'a')"), "rules"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_json_is_one_object(tidelog: Command, arguments: tuple[str, ...], key: str) -> None:
    """All that is on stdout is the object."""
    status, out, err = tidelog(*arguments, "--format", "json")

    assert status == 0, err
    assert key in json.loads(out)


def test_a_run_prints_its_outputs(tidelog: Command) -> None:
    """All outputs are printed in the form asked for, and no file is written."""
    Path("two.dl").write_text(
        PROGRAM + ".decl end(x: symbol)\n.output end\nend(x) :- edge(_, x), !edge(x, _).\n"
    )

    _, objects, _ = tidelog("run", "two.dl", "--format", "json")
    _, table, _ = tidelog("run", "two.dl", "--format", "table")
    _, one, _ = tidelog("run", "p.dl", "--format", "csv")
    _, page, _ = tidelog("run", "two.dl", "--format", "markdown")
    status, _, err = tidelog("run", "two.dl", "--format", "csv", "-D", "out")

    assert json.loads(objects)["end"] == [{"x": "c"}]
    assert [fact["y"] for fact in json.loads(objects)["path"]] == ["b", "c", "c"]
    assert table == "path: 3 facts\nx  y\na  b\na  c\nb  c\n\nend: 1 fact\nx\nc\n"
    assert one == "x,y\na,b\na,c\nb,c\n"
    assert "### end: 1 fact\n\n| x |\n|---|\n| c |\n" in page
    assert not Path("end.csv").exists()
    assert status == 1
    assert "`-D` would have no effect: `--format csv` prints the outputs" in err


def test_plans_name_their_strata(tidelog: Command) -> None:
    """A plan has its strata with the lines that the text has."""
    strata = json.loads(tidelog("plan", "p.dl", "--format", "json")[1])["strata"]
    text = tidelog("plan", "p.dl")[1]

    assert [(each["relations"], each["recursive"]) for each in strata] == [
        (["edge"], False),
        (["path"], True),
    ]
    assert all(line in text for each in strata for line in each["plan"])


def test_several_proofs_are_a_list(tidelog: Command) -> None:
    """Several proofs can be printed as JSON, but not as one graph."""
    _, out, _ = tidelog("why", "p.dl", "path('a', 'c')", "--all", "--format", "json")
    status, _, err = tidelog("why", "p.dl", "path('a', 'c')", "--all", "--format", "dot")

    assert [each["nodes"][0]["relation"] for each in json.loads(out)] == ["path"]
    assert status == 1
    assert "error[bad-form]: several proofs cannot be printed as dot" in err
    assert "--format json" in err


def test_diagnostics_are_a_list(tidelog: Command) -> None:
    """`check` prints the diagnostics of all programs, and the status says whether there are errors."""
    status, out, err = tidelog("check", "p.dl", "bad.dl", "--format", "json")

    (found,) = json.loads(out)
    assert (status, err) == (1, "")
    assert found["code"] == "unbound-variable"
    assert found["place"] == {"source": "bad.dl", "line": 2, "column": 3}
    assert json.loads(tidelog("check", "p.dl", "--format", "json")[1]) == []


def test_another_form_is_named_with_those_there_are(tidelog: Command) -> None:
    """A word that is not a form is not understood; the message lists the others."""
    status, _, err = tidelog("why", "p.dl", "path('a', 'c')", "--format", "yaml")

    assert status == 2
    assert all(word in err for word in ("yaml", "text", "json", "dot", "mermaid", "html"))
