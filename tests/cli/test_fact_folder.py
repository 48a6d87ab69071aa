"""`-F` means the same in every command: facts are beside the program unless it names another folder."""

import shutil
import sys
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from tidelog.session import Session

PROGRAM = """\
.decl edge(x: symbol, y: symbol)
.input edge
.decl path(x: symbol, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
# Reaches from the first fact of a folder to a new one.
CHANGES = '+edge("b", "end").\n'
FACT = "path('{0}', 'b')"
# The words of a command, and what it prints if the edge from {0} to b is among the facts.
COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "run": (("run", "p.dl", "-D", "-"), "{0}\tb"),
    "Soufflé's run": (("p.dl", "-D", "-"), "{0}\tb"),
    "apply": (("apply", "p.dl", "c.changes"), '+path("{0}", "end")'),
    "shell": (("shell", "p.dl"), "{0}"),
    "serve": (("serve", "p.dl"), "{0}"),
    "why": (("why", "p.dl", FACT), 'edge("{0}", "b")  [input]'),
    "why-not": (("why-not", "p.dl", "path('{0}', 'end')"), 'path("{0}", "b")'),
    "blame": (("blame", "p.dl", "c.changes", "-u", "path('{0}', 'end')"), 'path("{0}", "b")'),
    "repair": (("repair", "p.dl", "c.changes", "-u", "path('{0}', 'end')"), 'edge("b", "end")'),
    "plan": (("plan", "p.dl"), "input edge, facts: {1}"),
    "plan --measure": (("plan", "p.dl", "--measure"), "{1} binding"),
    "watch": (("watch", "p.dl", "--tree", "source", "--once"), 'path("{0}", "b")'),
}


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with neither the program nor facts.

    One fact from `beside` is beside the program, two from `other` are in a folder of their own.
    """
    for folder, lines in (("program", "beside\tb\n"), ("other", "other\tb\nother\tc\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "edge.facts").write_text(lines)
    (tmp_path / "program" / "p.dl").write_text(PROGRAM)
    here = tmp_path / "here"
    (here / "source").mkdir(parents=True)
    (here / "c.changes").write_text(CHANGES)
    monkeypatch.chdir(here)

    def serve(session: Session, *_: object, **__: object) -> None:
        sys.stdout.write(str(list(session["path"])))

    monkeypatch.setattr("tidelog.web.serve", serve)
    return make_command(monkeypatch, capsys)


def words(name: str, folder: str, count: int) -> tuple[list[str], str]:
    """Return a command and what it prints if the facts of a folder were read."""
    arguments, expected = COMMANDS[name]
    whole = [each.replace("p.dl", "../program/p.dl").replace("{0}", folder) for each in arguments]
    return whole, expected.replace("{0}", folder).replace("{1}", str(count))


@pytest.mark.parametrize("name", COMMANDS)
def test_facts_are_beside_the_program(tidelog: Command, name: str) -> None:
    """Without `-F` the folder of the program is read, wherever the command is called."""
    arguments, expected = words(name, "beside", 1)

    _, out, err = tidelog(*arguments, stdin="path(x, 'b')\n")

    assert expected in out, out + err


@pytest.mark.parametrize("name", COMMANDS)
def test_facts_are_where_the_option_says(tidelog: Command, name: str) -> None:
    """With `-F` that folder is read and no other."""
    arguments, expected = words(name, "other", 2)

    _, out, err = tidelog(*arguments, "-F", "../other", stdin="path(x, 'b')\n")

    assert expected in out, out + err
    assert "beside" not in out


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", [(), ("-F", "source"), ("-F", "nowhere")])
def test_a_relation_without_its_file_is_named(tidelog: Command, name: str, option: tuple[str, ...]) -> None:
    """The message says where the file was looked for, and the hint how to name another folder."""
    folder = Path("../program")
    (folder / "edge.facts").unlink()
    arguments, _ = words(name, "beside", 1)

    status, out, err = tidelog(*arguments, *option)

    place = Path(option[1]) if option else folder
    assert f"[missing-fact-file]: there is no fact file `{place / 'edge.facts'}`" in err
    assert "-F DIR" in err
    if name == "plan" and not option:
        # It guesses the size.
        assert (status, out != "") == (0, True)
    else:
        assert (status, out) == (1, "")


def test_facts_of_a_program_from_stdin_are_here(tidelog: Command) -> None:
    """A program without a folder has its facts in the current one."""
    shutil.copy("../other/edge.facts", "edge.facts")

    status, out, _ = tidelog("run", "-", "-D", "-", stdin=PROGRAM)

    assert status == 0
    assert "other\tb" in out
