"""`tidelog blame`, `tidelog repair` and `tidelog apply --guards`."""

import json
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from support.pointsto import CHANGES, FACTS, FAULT, PROGRAM


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with the running example and its changes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    for name in ("new", "assign", "load", "store"):
        lines = ["\t".join(fact) for fact in FACTS.get(name, [])]
        (tmp_path / f"{name}.facts").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "c.changes").write_text(CHANGES)
    (tmp_path / "g.guards").write_text(f"never {FAULT}\n")

    return make_command(monkeypatch, capsys)


def test_blame_of_change_scripts(tidelog: Command) -> None:
    """A program with change scripts is asked about the last epoch, in text or JSON."""
    status, out, _ = tidelog("blame", "p.dl", "c.changes", "-F", ".", "-u", FAULT)
    as_json = tidelog("blame", "p.dl", "c.changes", "-F", ".", "-u", FAULT, "--format", "json")[1]

    assert status == 0
    assert '+load("userSession", "admin", "session")' in out
    assert json.loads(as_json)["changes"][0]["fact"] == ["userSession", "admin", "session"]
    assert json.loads(as_json)["proofs"][0]["role"] == "appeared"


def test_repair_of_a_store(tidelog: Command) -> None:
    """A store is asked about its own epochs, and takes the repair with --apply."""
    assert tidelog("run", "p.dl", "-F", ".", "-D", "out", "--store", "s")[0] == 0
    assert tidelog("apply", "s", "c.changes")[0] == 0

    status, out, _ = tidelog("repair", "s", "-u", FAULT, "--apply")

    assert status == 0
    assert "applied as epoch 2" in out
    status, _, err = tidelog("repair", "s", "-u", FAULT)
    assert status == 1
    assert "no-fault" in err
    assert tidelog("blame", "s", "-u", FAULT, "--epoch", "0:1")[0] == 0


def test_no_repair_is_left(tidelog: Command) -> None:
    """Without any repair the status is 3 and the text says so."""
    status, out, _ = tidelog("repair", "p.dl", "c.changes", "-F", ".", "-u", FAULT, "--untouchable", "load")

    assert status == 3
    assert "no repair is left" in out


def test_interactive_rejection(tidelog: Command) -> None:
    """Rejecting changes one after the other leads to other repairs until none is left."""
    Path("more.changes").write_text('+assign("a", "b"). +new("b", "L2").')
    asked = ("repair", "p.dl", "more.changes", "-F", ".", "-u", "alias('a', 'sec')", "-i")

    status, out, _ = tidelog(*asked, stdin="1\nn\n")
    taken = tidelog(*asked, stdin="y\n")[0]

    assert (status, taken) == (3, 0)
    assert out.count("to take back") == 2
    assert "no repair is left" in out


def test_costs_on_the_command_line(tidelog: Command) -> None:
    """Costs are given by name; a cost that is none is refused."""
    asked = ("repair", "p.dl", "c.changes", "-F", ".", "-u", FAULT)

    out = tidelog(*asked, "--cost", "load=4", "--format", "json")[1]

    assert json.loads(out)["cost"] == 4
    assert tidelog(*asked, "--cost", "load")[0] == 2


def test_guards_of_apply(tidelog: Command) -> None:
    """A broken guard is reported and gives 3; with --strict the epoch is refused."""
    assert tidelog("run", "p.dl", "-F", ".", "-D", "out", "--store", "s")[0] == 0

    status, out, err = tidelog("apply", "s", "c.changes", "--guards", "g.guards", "--strict")
    assert (status, out) == (3, "")
    assert "guard-broken" in err
    assert "-load" in err

    status, out, err = tidelog("apply", "s", "c.changes", "--guards", "g.guards", "--format", "json")
    assert status == 3
    assert json.loads(out)["violations"][0]["facts"] == ['alias("userSession", "sec")']
    assert "guard broken" in err


def test_strict_without_guards_is_a_mistake(tidelog: Command) -> None:
    """Nothing could be refused, so somebody forgot to name the guards."""
    status, _, err = tidelog("apply", "p.dl", "c.changes", "-F", ".", "--strict")

    assert status == 1
    assert "error[bad-wish]" in err
    assert "--guards FILE" in err


def test_a_refused_epoch_in_json(tidelog: Command) -> None:
    """Programs that read JSON learn which guards an epoch breaks, and what to leave out."""
    guarded = ("apply", "p.dl", "c.changes", "-F", ".", "--guards", "g.guards", "--strict")

    status, out, _ = tidelog(*guarded, "--format", "json")

    refused = json.loads(out)
    assert status == 3
    assert (refused["epoch"], refused["refused"]) == (1, True)
    assert refused["violations"][0]["repair"]["apply"] == ['-load("userSession", "admin", "session")']
