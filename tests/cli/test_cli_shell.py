"""The shell's questions about facts: why, why not, blame, repair; and that nothing ends it."""

import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes import started
from tidelog.cli.main import main
from tidelog.cli.shell import Shell
from tidelog.cli.shell_blame import read_fault
from tidelog.cli.shell_help import HELP, help_for
from tidelog.session import Session, open_session

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a shell over three edges that is given lines, and gives what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t4\n")

    def call(*lines: str) -> tuple[str, str]:
        arguments = ["tidelog", "shell", "p.dl", "-F", "."]
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode() + b"\n")))
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        # In a pipe, a mistake is the exit status.
        assert bool(end.value.code) == ("error[" in err)
        return out, err

    return call


@pytest.mark.parametrize("command", ["why", "explain"])
def test_why_shows_a_proof(run: Run, command: str) -> None:
    """`why`, and `explain` as Soufflé spells it, show the rules and the facts they rest on."""
    out, err = run(f"{command} path(1, 3).")

    assert err == ""
    for part in ("path(1, 3)", "path(1, 2)", "edge(2, 3)", "edge(1, 2)"):
        assert part in out


@pytest.mark.parametrize("command", ["whynot", "explainnegation", "why_not", "why-not"])
def test_why_not_shows_what_is_missing(run: Run, command: str) -> None:
    """`whynot`, also as Soufflé, Python and the command line spell it, names the facts that rules lack."""
    out, err = run(f"{command} path(4, 1)")

    assert err == ""
    assert "edge(4, 1)" in out


@pytest.mark.parametrize("command", ["depth", "setdepth"])
def test_proofs_are_cut_at_a_depth(run: Run, command: str) -> None:
    """The depth is shown, set by a number or `all`, and a wrong one changes nothing."""
    out, err = run(
        command, f"{command} 1", "why path(1, 4)", f"{command} all", "why path(1, 4)", f"{command} x"
    )

    first, _, second = out.partition("depth: all the way")
    assert "depth: 4" in first
    assert "depth: 1" in first
    assert "edge(1, 2)" not in first
    assert "edge(1, 2)" in second
    assert "error[bad-depth]" in err


def test_why_not_is_asked_step_by_step(run: Run) -> None:
    """One chooses a rule, gives values, sees what fails, and goes on from there."""
    out, err = run("guide path(2, 1)", "choose 2", "values y", "let y = 3", "follow 2", "let z = 1")

    assert "1: path(x, y) :- edge(x, y)." in out
    assert "2: path(x, z) :- path(x, y), edge(y, z)." in out
    assert "y = 3" in out
    assert "2: FAILS  edge(3, 1)" in out
    assert "edge(3, 1) does not hold" in out
    assert "error[no-guide]" in err


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (["why"], "not-a-fact"),
        (["why path(1"], "syntax"),
        (["why nothing(1)"], "undeclared-relation"),
        (["why path(4, 1)"], "fact-absent"),
        (["whynot path(1, 2)"], "fact-holds"),
        (["choose 1"], "no-guide"),
        (["guide path(4, 1)", "choose 9"], "no-such-rule"),
        (["guide path(4, 1)", "choose 2", "let"], "bad-binding"),
        (["guide path(4, 1)", "choose 2", "let y = [1]"], "bad-binding"),
        (["guide path(4, 1)", "choose 2", "let q = 1"], "no-such-variable"),
        (["guide path(4, 1)", "choose 2", "values q"], "no-such-variable"),
        (["guide path(4, 1)", "choose 2", "follow 7"], "no-such-literal"),
        (["insert"], "not-a-fact"),
        (["insert path(1, 9)"], "not-an-input"),
        (["delete edge(1, 'x')"], "type-clash"),
        (["facts nothing"], "undeclared-relation"),
        (["rules nothing"], "undeclared-relation"),
        (["blame"], "not-a-fact"),
        (["blame x < 3"], "not-a-fact"),
        (["reject 1"], "no-repair"),
        (["accept"], "no-repair"),
    ],
)
def test_mistakes_are_told_and_the_shell_goes_on(run: Run, lines: list[str], code: str) -> None:
    """Each mistake is a diagnostic, and the next line is read."""
    out, err = run(*lines, "relations")

    assert f"error[{code}]" in err
    assert "Traceback" not in err
    assert "edge(x: number, y: number)  3" in out


def test_facts_are_inserted_and_deleted_at_once(run: Run) -> None:
    """`insert` and `delete` are epochs of their own, and leave staged changes alone."""
    out, err = run(
        "+edge(9, 9).", "insert edge(4, 5), edge(5, 6)", "delete edge(1, 2).", "commit.", "strategy"
    )

    assert err == ""
    titles = [line for line in out.splitlines() if line.startswith("// epoch")]
    assert [title.split(":")[0] for title in titles] == ["// epoch 1", "// epoch 2", "// epoch 3"]
    assert "+path(1, 6)." in out
    assert "-path(1, 6)." in out
    assert "+edge(9, 9)." in out
    assert "epoch 3\n" in out


def test_facts_and_rules_are_listed(run: Run) -> None:
    """`facts` shows relations, or the facts of one; `rules` all rules, or those of a relation."""
    out, err = run("facts", "facts path 2", "rules path", "rules edge")

    assert err == ""
    assert out.splitlines() == [
        "edge(x: number, y: number)  3",
        "path(x: number, y: number)  6",
        "path(1, 2).",
        "path(1, 3).",
        "// ... and 4 more",
        "1: path(x, y) :- edge(x, y).",
        "2: path(x, z) :- path(x, y), edge(y, z).",
        "no rule derives edge: it has only input facts",
    ]


def test_blame_and_repair(run: Run) -> None:
    """Changes are blamed, a repair is refined by rejecting what must stay, and accepted."""
    lines = [
        "insert edge(4, 5), edge(5, 6), edge(8, 8)",
        "blame path(1, 6)",
        "repair path(1, 6), path(8, 8) at 1",
        "reject edge(4, 5)",
        "accept",
        "path(1, 6)",
        "blame !edge(5, 6)",
    ]

    out, err = run(*lines)

    assert err == ""
    blamed, _, rest = out.partition("`accept` applies it")
    assert "+edge(8, 8)" not in blamed.partition("blamed:")[2].partition("to take back")[0]
    assert "-edge(8, 8)" in rest
    assert "-edge(5, 6)" in rest
    assert "// epoch 2" in rest
    assert "false" in rest
    assert "blamed:\n  -edge(5, 6)" in rest


def test_guards_are_told_when_broken(run: Run) -> None:
    """An epoch that brings a guarded fact about says so, with blame and repair."""
    lines = ["guard path(1, 6)", "insert edge(4, 6)", "unguard 1", "guard", "unguard 1"]

    out, err = run(*lines)

    assert "guard broken: never path(1, 6)" in out
    assert "blamed:\n  +edge(4, 6)" in out
    assert "there are no guards" in out
    assert "error[no-such-guard]" in err


def test_faults_are_read() -> None:
    """Facts with `!` are missing, others unwanted; the end of the line may name the epochs."""
    fault = read_fault("path(1, x), !edge('a, b', 2) between 2 and 5.")

    assert fault.unwanted == ("path(1, x)",)
    assert fault.missing == ('edge("a, b", 2)',)
    assert fault.epoch == (2, 5)
    assert read_fault("path(1, 2) at 7").epoch == 7
    assert read_fault("path(1, 2)").epoch is None


def test_every_command_has_help() -> None:
    """`help` names every command, and `help COMMAND` that one alone."""
    with open_session(PROGRAM) as session:
        commands = set(Shell(session)._commands)

    for command in commands - {":help", ".help", "help"}:
        assert command in HELP, command
        assert help_for(command) != HELP, command
    assert help_for("explain").startswith("why path(1, 3)")
    assert help_for("") == HELP


def test_a_mistake_of_ours_does_not_end_the_shell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong inside, or in the system, is one line, and the next line is read."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Session, "why", fail)
    monkeypatch.setattr(Session, "why_not", full)

    out, err = run("why path(1, 2)", "whynot path(1, 2)", "relations")

    assert "internal error: ZeroDivisionError: of ours" in err
    assert "error[system-failure]: No space left on device" in err
    assert "path(x: number, y: number)  6" in out


CITIES = """\
.decl road(from: symbol, to: symbol, length: number)
.input road
.decl reach(from: symbol, to: symbol)
reach(x, y) :- road(x, y, _).
"""
ROADS = {"road": [("Bern", "New York", 10), ("Bonn", "Bern", 12), ("it's", "Bonn", 7)]}


@pytest.mark.parametrize(
    ("before", "text", "offered"),
    [
        ("", "expl", ["explain", "explainnegation"]),
        ("", "roa", ["road"]),
        ("", ".mo", [".mode "]),
        ("", "com", ["commit."]),
        ("why ", "re", ["reach"]),
        ("road(", '"B', ['"Bern"', '"Bonn"']),
        ("road(", "'B", ["'Bern'", "'Bonn'"]),
        ("road(", "'it", []),
        ("road(x, ", '"', ['"Bern"', '"Bonn"', '"New York"']),
        ('road(x, "New ', "Y", ['York"']),
        ("road(x, y, ", "1", ["10", "12"]),
        ("road(x, y, z, ", "", []),
        ("reach(x, y) :- road(", '"Be', ['"Bern"']),
        ("unknown(", "", []),
        ("road(x, y, 1), ", "re", ["reach"]),
        (".mode ", "", ["csv", "json", "markdown", "table"]),
        (".timer ", "o", ["off", "on"]),
        (".read ", "not-the", []),
        ("help ", "bl", ["blame"]),
    ],
)
def test_words_and_values_are_offered(before: str, text: str, offered: list[str]) -> None:
    """Completion offers commands and relations, and inside brackets the constants of the column."""
    with open_session(CITIES, facts=ROADS) as session:
        assert Shell(session).complete(before, text) == offered


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        ("table", ["x", "3", "4", "true", "no answer", "path(2, 3).", "path(2, 4).", "// ... and 1 more"]),
        ("csv", ["x", "3", "4", "true", "x", "x,y", "2,3", "2,4"]),
        ("json", ['[{"x": 3},', ' {"x": 4}]', "true", "[]", '[{"x": 2, "y": 3},', ' {"x": 2, "y": 4}]']),
        (
            "markdown",
            ["| x | y |", "|---|---|", "| 2 | 3 |", "| 2 | 4 |"],
        ),
    ],
)
def test_modes(run: Run, mode: str, lines: list[str]) -> None:
    """Answers and facts are printed in the form that `.mode` chose."""
    out, err = run(
        f".mode {mode}", "delete edge(1, 2)", "path(2, x)", "path(2, 3)", "path(9, x)", "facts path 2"
    )

    assert err == ""
    assert out.splitlines()[-len(lines) :] == lines


def test_deltas_and_relations_have_modes_too(run: Run) -> None:
    """As JSON an epoch is one line, as `apply` prints it; the list of relations is a table."""
    out, err = run(".mode json", "insert edge(7, 8)", ".mode csv", "relations", ".mode")

    assert err == ""
    epoch, *relations = out.splitlines()
    assert json.loads(epoch)["inserted"] == {"edge": [[7, 8]], "path": [[7, 8]]}
    assert relations == [
        "relation,columns,facts",
        'edge,"x: number, y: number",4',
        'path,"x: number, y: number",7',
        "mode: csv",
    ]


def test_other_modes_print_all_facts(run: Run) -> None:
    """A table shows the first facts; what other programs read is whole."""
    edges = ", ".join(f"edge({number}, 0)" for number in range(100, 130))
    out, _ = run(f"insert {edges}", ".mode csv", "edge(x, 0)", "facts edge")

    assert len(out.partition("\nx\n")[2].splitlines()) == 30 + 1 + 33


def test_the_timer(run: Run) -> None:
    """After `.timer on` every line is timed, on stderr so that tables stay as they are."""
    out, err = run(".timer on", "path(1, 2)", ".timer", ".timer off", "path(1, 2)")

    assert out == "true\ntimer: on\ntrue\n"
    assert [line.endswith(" ms") for line in err.splitlines()] == [True] * 2


def test_files_are_read(run: Run, tmp_path: Path) -> None:
    """The lines of a file are obeyed as if typed; mistakes say where they are. No file reads itself."""
    (tmp_path / "more.txt").write_text(
        "// rules over lines\n.decl far(x: number)\nfar(y) :-\n  path(1, y),\n  y > 3.\nfar(x\n  )\nnope(1)\n"
        ".read more.txt\n"
    )

    out, err = run(".read more.txt", ".read gone.txt", ".read")

    assert "+far(4)." in out
    assert out.endswith("x\n4\n")
    assert "  in line 8 of more.txt" in err
    assert "error[unreadable-script]: more.txt reads itself" in err
    assert "error[unreadable-script]: cannot read gone.txt: No such file or directory" in err
    assert "hint: name one: .read FILE" in err


def test_queries_go_on_over_lines(run: Run) -> None:
    """A query goes on while a bracket is open, behind a comma, and after `?-` up to the dot."""
    out, err = run("path(1,", "  x)", "path(2, x),", "x > 3", "?- path(3, x)", ", x > 0 /* more", "*/ .")

    assert err == ""
    assert out.split() == ["x", "2", "3", "4", "x", "4", "x", "4"]


def test_an_empty_commit_makes_no_epoch(run: Run) -> None:
    """There is nothing to apply, and the shell says so."""
    out, err = run("commit.", "+edge(5, 6).", "commit.", "commit")

    assert err == ""
    assert out.count("nothing to commit") == 2
    assert "// epoch 1" in out
    assert "// epoch 2" not in out


def test_help_for_what_there_is_not(run: Run) -> None:
    """`help nope` names the commands; a near miss is put right."""
    _, err = run("help nope", "help blme")

    assert "there is no command `nope`" in err
    assert "hint: there are accept, at, blame, commit," in err
    assert "did you mean `blame`?" in err


@pytest.mark.skipif(os.name == "nt", reason="signals as on Unix")
def test_ctrl_c_interrupts_only_what_runs(tmp_path: Path) -> None:
    """An interrupt while a query runs leaves the shell, which answers the next line."""
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x in range(60) for y in range(60)))
    command = [sys.executable, "-u", "-m", "tidelog", "shell", "p.dl", "-F", "."]

    with started(command, tmp_path) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("rules\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("1: path")
        process.stdin.write("edge(a, b), edge(b, c), edge(c, d), edge(d, e), edge(e, a), a < b\n")
        process.stdin.flush()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate("relations\n", timeout=120)

    assert process.returncode == 0
    assert "interrupted: nothing has changed" in err
    assert "edge(x: number, y: number)  3,600" in out


def test_old_epochs_are_asked_about_as_they_were(run: Run) -> None:
    """`at` answers queries, facts and proofs of an epoch, and `diff` shows what leads to another."""
    out, err = run(
        "delete edge(2, 3)",
        "at 0 path(1, x), x > 2",
        "at 0 why path(1, 3)",
        "at 1 whynot path(1, 3)",
        "at 0 facts edge",
        "diff 1 0 edge",
        "diff 0 1",
    )

    assert err == ""
    for part in (
        "x\n3\n4\n",
        "path(1, 3)  [path#2",
        "✗ edge(2, 3)",
        "edge(2, 3).\nedge(3, 4).\n",
        "+edge(2, 3).",
        "-path(1, 4).",
    ):
        assert part in out


@pytest.mark.parametrize(
    "line", ["at 7 path(1, x)", "at path(1, x)", "diff 1", "at 0 facts nowhere", "diff 0 9"]
)
def test_mistakes_about_old_epochs_are_diagnostics(run: Run, line: str) -> None:
    """An epoch that is not kept or not given, or an unknown relation, is told and the shell goes on."""
    out, err = run(line, "path(3, x)")

    assert "error[" in err
    assert "4" in out


def test_proofs_are_printed_in_other_forms_and_to_files(run: Run, tmp_path: Path) -> None:
    """`format` chooses the form, `output` a file, and both stay until they are changed."""
    out, err = run(
        "format horizontal", "why path(1, 3)", "output proof.txt", "why path(1, 3)", "output", "format json",
        "why path(1, 2)",
    )  # fmt: skip

    assert err == ""
    assert "(R2)\n" in out
    assert "written to proof.txt" in out
    assert (tmp_path / "proof.txt").read_text().splitlines()[-1].strip() == "path(1, 3)"
    assert '"path(1, 2)"' in out or '"relation"' in out


def test_subproofs_go_on_where_a_proof_was_cut(run: Run) -> None:
    """`subproof` lists the facts at which the last proof was cut, and shows the proof of one."""
    cut = ("depth 1", "why path(1, 4)", "subproof", "subproof 1")
    out, err = run(*cut, "depth all", "why path(1, 4)", "subproof")

    assert err == ""
    assert "  1: path(1, 3)" in out
    assert "path(1, 3)  [path#2" in out
    assert "shown to its end" in out


@pytest.mark.parametrize("line", ["format nonsense", "subproof 1", "subproof"])
def test_mistakes_about_forms_are_diagnostics(run: Run, line: str) -> None:
    """A form that there is not, and a subproof of no proof, are told."""
    _, err = run(line)

    assert "error[" in err
