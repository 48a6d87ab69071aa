"""`tidelog apply`, `shell` and `status`, and `run --store`."""

import json
import sys
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from support.processes import started
from tidelog.cli.prompt import Prompt
from tidelog.cli.shell import Shell
from tidelog.cli.shell_help import HELP
from tidelog.session import open_session

PROGRAM = """\
.decl edge(x: number, y: symbol)
.input edge
.decl path(x: number, y: symbol)
.output path
path(x, y) :- edge(x, y).
path(x, "all") :- edge(x, _).
.decl hidden(x: number)
hidden(x) :- edge(x, _).
"""


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with a program and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\ta\n2\tb\n")

    return make_command(monkeypatch, capsys)


@pytest.fixture
def store(tidelog: Command) -> str:
    """Return the folder of a store at epoch 0."""
    assert tidelog("run", "p.dl", "-F", ".", "-D", "out", "--store", "state")[0] == 0
    return "state"


def changes_in(text: str) -> list[str]:
    """Return the lines of a printed delta that are no comments."""
    return [line for line in text.splitlines() if not line.startswith("//")]


# --- apply ----------------------------------------------------------------------------------


def test_run_keeps_its_state_in_a_store(tidelog: Command, store: str) -> None:
    """The outputs are written as always; run again, it goes on from the store and not from the facts."""
    assert Path("out/path.csv").read_text() == "1\ta\n1\tall\n2\tall\n2\tb\n"
    Path("edge.facts").write_text("")
    Path("c.dl").write_text('-edge(2, "b").')
    tidelog("apply", store, "c.dl")

    assert tidelog("run", "p.dl", "-D", "out", "--store", store)[0] == 0
    assert Path("out/path.csv").read_text() == "1\ta\n1\tall\n"


def test_apply_prints_each_delta_as_a_change_script(tidelog: Command, store: str) -> None:
    """Outputs are shown, other relations only on demand; comments tell the rest."""
    Path("c.dl").write_text('+edge(3, "c"). -edge(9, "z").\ncommit.\n-edge(3, "c").\n')

    status, out, err = tidelog("apply", store, "c.dl")

    assert (status, err) == (0, "")
    assert changes_in(out) == [
        '+path(3, "all").',
        '+path(3, "c").',
        "commit.",
        '-path(3, "all").',
        '-path(3, "c").',
        "commit.",
    ]
    assert '// without effect: -edge(9, "z"), it is not an input fact' in out
    assert out.startswith("// epoch 1: 4 facts inserted, 0 facts deleted, impact 3, ")
    assert "+hidden(5)." in tidelog("apply", store, "-", "--all", stdin="+edge(5, 'e').")[1]


def test_apply_prints_json(tidelog: Command, store: str) -> None:
    """One object per epoch, one epoch per line."""
    _, out, _ = tidelog("apply", store, "-", "--format", "json", stdin="+edge(3, 'c').\ncommit.\ncommit.")

    first, second = map(json.loads, out.splitlines())
    assert first["epoch"] == 1
    assert first["inserted"] == {"path": [[3, "all"], [3, "c"]]}
    assert first["deleted"] == {}
    assert first["impact"] == 3
    assert {name for each in first["strata"] for name in each["relations"]} >= {"path"}
    assert set(first["strata"][0]) == {
        "relations",
        "action",
        "strategy",
        "reason",
        "predicted_work",
        "work",
        "seconds",
    }
    assert second["epoch"] == 2
    assert second["inserted"] == {}


def test_apply_explains_strategies(tidelog: Command, store: str) -> None:
    """What was done to each stratum stands in comments."""
    status, out, _ = tidelog(
        "apply", store, "-", "--explain-strategy", "--strategy", "recompute", stdin="+edge(3, 'c')."
    )

    assert status == 0
    assert "// path: recomputed (recompute), work " in out


def test_a_mistake_rejects_its_epoch_and_ends_the_script(tidelog: Command, store: str) -> None:
    """Earlier epochs stand; the line is counted from the beginning of the script."""
    script = "+edge(3, 'c').\ncommit.\n+edge(4, 4).\n+edge(5, 'e'). commit.\n+edge(6, 'f').\n"

    status, out, err = tidelog("apply", store, "-", stdin=script)

    assert status == 1
    assert out.count("commit.") == 1
    assert err.startswith("stdin:3:10: error[type-clash]")
    status, out, err = tidelog("apply", store, "-", "--keep-going", stdin=script)
    assert status == 1
    assert changes_in(out) == ["commit.", '+path(6, "all").', '+path(6, "f").', "commit."]


def test_apply_works_on_a_program_too(tidelog: Command) -> None:
    """Without a store the facts are read, the changes applied, and nothing is kept."""
    status, out, _ = tidelog("apply", "p.dl", "-", "-F", ".", stdin="-edge(1, 'a').")

    assert status == 0
    assert changes_in(out) == ['-path(1, "a").', '-path(1, "all").', "commit."]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("apply", "p.dl", "gone.dl"), "unreadable-script"),
        (("apply", "gone.dl", "-"), "unreadable-program"),
        (("apply", ".", "-"), "no-store"),
        (("apply", "p.dl", "bad.dl"), "bad-encoding"),
        (("apply", "p.dl", "-", "--strategy", "quick"), "unknown-strategy"),
        (("apply", "p.dl", "-", "--max-update-share", "-1"), "bad-update-share"),
        (("status", "gone"), "no-store"),
        (("shell", "gone.dl"), "unreadable-program"),
    ],
)
def test_mistakes_are_diagnostics(tidelog: Command, arguments: tuple[str, ...], code: str) -> None:
    """Whatever is missing or wrong, the status is 1 and the message names it."""
    Path("bad.dl").write_bytes(b"+edge(1, '\xff').\n")

    status, out, err = tidelog(*arguments)

    assert (status, out) == (1, "")
    assert f"error[{code}]" in err


def test_a_pipe_is_a_stream(tmp_path: Path) -> None:
    """Each delta comes out before the next change goes in."""
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").touch()
    command = [sys.executable, "-m", "tidelog", "apply", "p.dl", "-", "-w"]
    with started(command, tmp_path, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for number in (1, 2):
            process.stdin.write(f"+edge({number}, 'a').\ncommit.\n")
            process.stdin.flush()
            seen.append([process.stdout.readline() for _ in range(4)])
        process.stdin.close()

        assert [lines[0].split(":")[0] for lines in seen] == ["// epoch 1", "// epoch 2"]
        assert [lines[-1] for lines in seen] == ["commit.\n", "commit.\n"]
        assert process.wait(timeout=60) == 0


def test_the_output_of_one_is_the_input_of_another(tidelog: Command, store: str) -> None:
    """A delta's text is a change script for whoever has the relation as input."""
    Path("q.dl").write_text(
        ".decl path(x: number, y: symbol)\n.input path\n.decl n(x: number)\nn(x) :- path(x, _).\n"
    )
    Path("path.facts").touch()
    _, out, _ = tidelog("apply", store, "-", stdin="+edge(3, 'c').")

    status, out, _ = tidelog("apply", "q.dl", "-", stdin=out)

    assert status == 0
    assert changes_in(out) == ['+path(3, "all").', '+path(3, "c").', "+n(3).", "commit."]


@pytest.mark.parametrize("command", [("apply", "-"), ("shell",)])
def test_sessions_keep_to_a_memory_limit(tidelog: Command, command: tuple[str, ...]) -> None:
    """An amount that is exceeded is a diagnostic, and so is one that is no amount."""
    name, *scripts = command
    status, _, err = tidelog(name, "p.dl", *scripts, "-F", ".", "--memory-limit", "1M")
    assert status == 1
    assert "error[memory-limit]" in err

    status, _, err = tidelog(name, "p.dl", *scripts, "-F", ".", "--memory-limit", "much")
    assert status == 1
    assert "error[bad-memory-limit]" in err


def test_sessions_keep_to_an_iteration_limit(tidelog: Command) -> None:
    """An epoch that goes beyond it is rejected, and nothing changes."""
    Path("n.dl").write_text(
        ".decl s(x: number)\n.input s\n.decl n(x: number)\nn(x) :- s(x).\nn(x + 1) :- n(x), x < 100.\n"
    )
    Path("s.facts").touch()

    status, out, err = tidelog("apply", "n.dl", "-", "--iteration-limit", "50", stdin="+s(1).")

    assert (status, out) == (1, "")
    assert "error[iteration-limit]" in err


# --- status -------------------------------------------------------------------------------------


def test_status_tells_epoch_sizes_program_and_last_epochs(tidelog: Command, store: str) -> None:
    """As text and as JSON, also while another process has the store open."""
    tidelog("apply", store, "-", stdin="+edge(3, 'c'). -edge(1, 'a').")

    with open_session(store=store):
        status, out, _ = tidelog("status", store)
        told = json.loads(tidelog("status", store, "--format", "json")[1])

    assert status == 0
    assert "program  p.dl: 3 rules" in out
    assert "epoch    1 (snapshot of epoch 0, 1 in the log)" in out
    assert "  1  +1 -1  " in out
    assert told["epoch"] == 1
    assert told["facts"] == {"edge": 2, "path": 4, "hidden": 2}
    assert told["epochs"][0]["inserted"] == 1


# --- shell --------------------------------------------------------------------------------------


def test_the_shell_takes_changes_and_queries(tidelog: Command) -> None:
    """Changes wait for a commit; queries have three forms."""
    lines = [
        "+edge(7, 'g')",
        "path(7, x)",
        "commit.",
        "path(7, x)",
        "?- path(7, 'g').",
        "query path(8, 'g')",
        "show path 2",
        "relations",
    ]

    status, out, err = tidelog("shell", "p.dl", "-F", ".", stdin="\n".join(lines) + "\n")

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "no answer",
        "// epoch 1: 4 facts inserted, 0 facts deleted, impact 3",
        '+edge(7, "g").',
        '+path(7, "all").',
        '+path(7, "g").',
        "+hidden(7).",
        "x",
        "all",
        "g",
        "true",
        "false",
        'path(1, "a").',
        'path(1, "all").',
        "// ... and 4 more",
        "edge(x: number, y: symbol)  3",
        "path(x: number, y: symbol)  6",
        "hidden(x: number)  3",
    ]


def test_the_shell_changes_rules(tidelog: Command) -> None:
    """Rules are added as they are typed, over several lines too, and removed by number."""
    lines = ["rules", "hidden(x) :- edge(x, _),", "  x > 1.", "remove 3", "rules", "explain"]

    _, out, err = tidelog("shell", "p.dl", "-F", ".", stdin="\n".join(lines) + "\n")

    assert err == ""
    assert "3: hidden(x) :- edge(x, _)." in out
    assert "4: hidden(x) :- edge(x, _), x > 1." in out
    assert "-hidden(1)." in out
    assert out.rstrip().splitlines()[-1].startswith("epoch 2") or "epoch 2" in out


def test_the_shell_survives_mistakes(tidelog: Command) -> None:
    """Each mistake is a diagnostic, and the next line is read; in a pipe the exit status is 1."""
    lines = [
        "+edge(1).",
        "+path(1, 'a').",
        "+edge(1, 2",
        "nothing(1)",
        "show nothing",
        ":what",
        "remove 77",
        "hidden(y) :- edge(x, _).",
        "",
        "// a comment",
        "+edge(9, 'z').",
        "rollback.",
        "+edge(8, 'z').",
    ]

    status, out, err = tidelog("shell", "p.dl", "-F", ".", stdin="\n".join(lines) + "\n")

    assert status == 1
    assert out == "1 change forgotten\n"
    for code in (
        "wrong-arity",
        "not-an-input",
        "syntax",
        "undeclared-relation",
        "unknown-command",
        "no-such-rule",
        "unbound-variable",
    ):
        assert f"error[{code}]" in err
    assert err.endswith("1 change without a commit: forgotten\n")


def test_the_shell_works_on_a_store(tidelog: Command, store: str) -> None:
    """What is committed in a shell is kept; `:quit` leaves."""
    tidelog("shell", store, stdin="+edge(7, 'g'). commit. +edge(8, 'h').\n:quit\ncommit.\n")

    _, out, _ = tidelog("shell", store, stdin="edge(x, _)\n:help\n")

    assert out.split("\n+edge")[0].splitlines()[:4] == ["x", "1", "2", "7"]
    assert HELP in out


def test_an_interruption_keeps_the_shell_alive(
    tidelog: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C while something runs, or while a line is typed, drops only that."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Shell, "_query", interrupt)

    status, out, err = tidelog("shell", "p.dl", "-F", ".", stdin="path(1, x)\nrules\n")

    assert status == 0
    assert "interrupted: nothing has changed" in err
    assert "1: path(x, y) :- edge(x, y)." in out

    typed = iter(["first", KeyboardInterrupt, "unfinished", KeyboardInterrupt, "second", EOFError])

    def line(_self: Prompt, _shown: str) -> str:
        each = next(typed)
        if isinstance(each, str):
            return each
        raise each

    monkeypatch.setattr(Prompt, "_line", line)
    prompt = Prompt(list)

    assert list(prompt.lines(lambda: "> ", lambda text: text == "unfinished")) == ["first", "second"]
    capsys.readouterr()


def test_words_are_completed() -> None:
    """Each completion is given once, then None."""
    prompt = Prompt(lambda before, text: [before + text + end for end in ("ch", "h")])

    assert [prompt.complete("pat", state) for state in range(3)] == ["patch", "path", None]


def test_the_shell_remembers_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, lines are kept in a file for the next time."""
    readline = pytest.importorskip("readline")
    history = tmp_path / "history"
    monkeypatch.setenv("TIDELOG_HISTORY", str(history))
    prompt = Prompt(list)
    prompt.is_interactive = True

    with prompt:
        readline.add_history("rules")

    assert "rules" in history.read_text()
    readline.clear_history()


@pytest.mark.parametrize(
    "command",
    [
        ("run", "p.dl", "-F", ".", "--store", "state"),
        ("run", "p.dl", "--master", "local[2]"),
        ("run", "p.dl", "--engine", "reference", "--memory-limit", "4G"),
        ("apply", "state", "-", "-F", "."),
        ("apply", "state", "-", "-I", "."),
        ("apply", "state", "-", "-M", "A=1"),
        ("apply", "p.dl", "-", "--engine", "reference", "--strategy", "dred"),
        ("apply", "p.dl", "-", "--engine", "reference", "--max-update-share", "0.5"),
        ("shell", "state", "-F", "."),
        ("why", "state", "edge(1, 'a')", "-F", "."),
        ("why", "state", "edge(1, 'a')", "--limit", "2"),
        ("why", "state", "edge(1, 'a')", "--all", "--metric", "nodes"),
        ("repair", "state", "-u", "edge(1, 'a')", "--method", "ddmin", "--alternatives", "2"),
        ("repair", "state", "-u", "edge(1, 'a')", "--interactive", "--format", "json"),
    ],
    ids=" ".join,
)
def test_options_without_effect_are_refused(tidelog: Command, store: str, command: tuple[str, ...]) -> None:
    """An option is obeyed, or the command ends with a message that names it."""
    assert store == "state"
    Path("c.dl").write_text('+edge(7, "x").')
    tidelog("apply", store, "c.dl")

    status, _, errors = tidelog(*command)

    assert (status, "error[no-effect]" in errors) == (1, True)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("watch", "p.dl", "--git", ".", "--once"), "--once goes with --tree"),
        (("watch", "p.dl", "--git", ".", "--interval", "1"), "--interval is for a folder"),
        (("watch", "p.dl", "--tree", ".", "--once", "--interval", "1"), "--interval is for a folder"),
        (("tree", "declare", "python", "--schema", "s.json"), "--schema goes with a JSON file"),
        (("tree", "diff", "a.py", "a.py", "--schema", "s.json"), "--schema goes with a JSON file"),
    ],
)
def test_options_of_other_commands_are_refused(
    tidelog: Command, command: tuple[str, ...], message: str
) -> None:
    """Options that do not go together are refused with the usage."""
    Path("a.py").write_text("x = 1\n")
    Path("s.json").write_text("{}")

    status, _, errors = tidelog(*command)

    assert status == 2
    assert message in " ".join(errors.replace("│", " ").split())


def test_run_with_a_store_of_other_facts_says_so(tidelog: Command, store: str) -> None:
    """Facts that changed since the store was made are not passed over without a word."""
    Path("edge.facts").write_text("9\tz\n")

    status, printed, errors = tidelog("run", "p.dl", "-F", ".", "-D", "-", "--store", store)

    assert (status, printed) == (1, "")
    assert "the store `state` has its facts already" in errors
    assert "`tidelog apply` changes its facts" in errors


def test_a_proof_is_written_to_a_file_or_not_at_all(tidelog: Command, store: str) -> None:
    """`-o` names a file in a folder that is there or is made; a folder itself cannot be written to."""
    assert tidelog("why", store, "edge(1, 'a')", "-o", "proofs/one.txt")[0] == 0
    assert "edge" in Path("proofs/one.txt").read_text()

    status, _, errors = tidelog("why", store, "edge(1, 'a')", "-o", "proofs")

    assert status == 1
    assert "error[unwritable-file]" in errors


def test_old_epochs_of_a_store_are_asked_about(tidelog: Command, store: str) -> None:
    """`--keep-epochs` keeps deltas in the store, and `why --at` asks about an epoch as it was."""
    Path("c.dl").write_text('-edge(1, "a").')
    tidelog("apply", store, "c.dl", "--keep-epochs", "10")

    _, then, _ = tidelog("why", store, "path(1, 'a')", "--at", "0")
    _, now, _ = tidelog("why-not", store, "path(1, 'a')", "--at", "1")
    status, _, gone = tidelog("why", store, "path(1, 'a')", "--at", "9")

    assert 'edge(1, "a")  [input]' in then
    assert "no such fact" in now
    assert status == 1
    assert "error[epoch-not-kept]" in gone
