"""What newcomers type wrong on the command line and in the shell: each is told what to do."""

import re
import shlex
from pathlib import Path

import pytest

from support.command_line import Command, make_command

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
FILES = {
    "p.dl": PATHS,
    "edge.facts": "1\t2\n2\t3\n3\t4\n",
    "bad/edge.facts": "1\t2\n2\tthree\n",
    "comma/edge.facts": "1,2\n2,3\n",
    "wide/edge.facts": "1\t2\t3\n",
    "blank/edge.facts": "",
    "near/egde.facts": "1\t2\n",
    "nothing/notes.txt": "",
    "torn.dl": ".decl edge(x: number y: number)\n.output edge\n",
    "wrong.dl": ".decl edge(x: number)\n.output edge\nedge(x) :- egde(x).\n",
    "arrow.dl": ".decl a(x: number)\n.output a\na(x) <- a(x).\n",
    "dotless.dl": ".decl a(x: number)\n.output a\na(1)\na(2).\n",
    "quotes.dl": ".decl a(x: symbol)\n.output a\na('b').\n",
    "notes.md": "# Notes\n",
    "include.dl": '#include "pp.dl"\n',
    "half.dl": ".functor half(x: number): number\n.decl a(x: number)\n.output a\na(@half(2)).\n",
    "other.py": "def hlf(x):\n    return x\n",
    "broken.py": "def half(x) return x\n",
    "endless.dl": ".decl a(x: number)\n.output a\na(0).\na(x + 1) :- a(x).\n",
    "changes.dl": "+edge(4, 5).\ncommit.\n-edge(4, 5).\ncommit.\n",
    "facts-not-changes.dl": "edge(4, 5).\n",
    "guards.txt": "pth(1, 5)\n",
    "job.toml": "nothing = 1\n",
    "src/a.py": "x = 1\n",
}

# The command, its exit status, the code of its diagnostic or "", and words that say what to do.
COMMANDS = [
    ("rnu p.dl", 2, "", "Did you mean 'run'?"),
    ("query p.dl", 2, "", "Did you mean 'shell'?"),
    ("format p.dl", 2, "", "Did you mean 'fmt'?"),
    ("run", 2, "", "Missing argument 'PROGRAM'"),
    ("run p.dl wrong.dl", 2, "", "takes PROGRAM; leave out `wrong.dl`"),
    ("run pp.dl", 1, "unreadable-program", "did you mean p.dl?"),
    ("run src", 1, "unreadable-program", "`src` is a folder; name a file"),
    ("run gone/p.dl", 1, "unreadable-program", "there is no folder `gone`"),
    ("run notes.md", 1, "bad-preprocessor-line", "a comment begins with `//`"),
    ("run torn.dl", 1, "syntax", "is a `,` missing?"),
    ("run wrong.dl", 1, "undeclared-relation", "did you mean `edge`?"),
    ("run arrow.dl", 1, "syntax", "a rule is written `head :- body.`"),
    ("run dotless.dl", 1, "syntax", "facts and rules end with `.`"),
    ("run quotes.dl", 1, "bad-character", 'write "b"'),
    ("run include.dl", 1, "missing-include", "did you mean `p.dl`?"),
    ("run p.dl --fact-dri .", 2, "", "Possible options: --fact-dir"),
    ("run p.dl -F", 2, "", "Option '-F' requires an argument"),
    (
        "run p.dl -F gone",
        1,
        "missing-fact-file",
        "there is no folder `gone`; name the",
    ),
    (
        "run p.dl -F edge.facts",
        1,
        "missing-fact-file",
        "`edge.facts` is a file; name the folder that it is in",
    ),
    ("run p.dl -F near", 1, "missing-fact-file", "did you mean `egde.facts`?"),
    ("run p.dl -F nothing", 1, "missing-fact-file", "name the folder that has"),
    ("run p.dl -F bad", 1, "malformed-value", "write a whole number such as -3"),
    ("run p.dl -F comma", 1, "wrong-column-count", '`.input edge(delimiter=",")`'),
    ("run p.dl -F wide", 1, "wrong-column-count", "separate columns with a tab; `edge` has x, y"),
    ("run p.dl -D notes.md", 1, "unwritable-file", "`notes.md` is a file; name a folder"),
    (
        "run p.dl --stats gone/s.json",
        1,
        "unwritable-file",
        "there is no folder `gone`; make it, or name another",
    ),
    ("run p.dl -j zero", 2, "", "give 1 or more, or auto"),
    ("run p.dl --engine lokal", 2, "", "is not one of 'local', 'reference', 'spark'"),
    ("run p.dl --master local[2]", 1, "no-effect", "give --engine spark as well"),
    ("run p.dl --spark-option partners=2", 1, "no-effect", "give --engine spark as well"),
    ("run p.dl --output-parts", 1, "no-effect", "give --engine spark as well"),
    ("run p.dl --output-parts --engine spark -D -", 1, "no-effect", "the outputs are printed"),
    ("run p.dl --engine spark --spark-option partner=2", 1, "spark-bad-option", "did you mean `partners`?"),
    ("run p.dl --engine spark --spark-option partners=x", 1, "spark-bad-option", "write partners=4"),
    ("run p.dl --engine spark --spark-option ports=1", 1, "spark-bad-option", "write ports=40000-40999"),
    ("run p.dl --memory-limit lots", 1, "bad-memory-limit", "write for example 512M or 4G"),
    ("run p.dl --iteration-limit ten", 2, "", "Invalid value for '--iteration-limit'"),
    ("run p.dl --iteration-limit 0", 1, "bad-iteration-limit", "hint: give"),
    ("run endless.dl --iteration-limit 9", 1, "iteration-limit", "bound the values the rules can make"),
    ("run p.dl -M =3", 2, "", "'=3' is not a macro; write NAME=VALUE"),
    ("run p.dl --store src", 1, "store-exists", "choose a new folder for a new store"),
    ("run p.dl --store notes.md", 1, "store-exists", "`notes.md` is a file, and a store is a folder"),
    ("run half.dl", 1, "missing-function", "name its file: --functions FILE"),
    (
        "run half.dl --functions gone.py",
        1,
        "functions-failed",
        "name a Python file that defines the functions",
    ),
    ("run half.dl --functions other.py", 1, "missing-function", "did you mean `hlf`?"),
    ("run half.dl --functions broken.py", 1, "functions-failed", "must run as plain Python"),
    (f"run half.dl --functions {'a' * 300}.py", 1, "functions-failed", "name a Python file"),
    ("x" * 300, 2, "", "No such command"),
    ("check", 2, "", "Missing argument 'PROGRAM...'"),
    ("check wrong.dl gone.dl", 1, "unreadable-program", "hint:"),
    ("fmt --check --write p.dl", 2, "", "choose one of --check and --write"),
    ("why p.dl", 2, "", "Missing argument 'FACT'"),
    ("why p.dl 'path(1,' -F .", 1, "syntax", "for example path(1, "),
    ("why p.dl path -F .", 1, "syntax", "an atom is written `path(...)`"),
    ("why p.dl 'paht(1, 2)' -F .", 1, "undeclared-relation", "did you mean `path`?"),
    ("why p.dl 'path(1)' -F .", 1, "wrong-arity", "p.dl:3:1: declared here"),
    ("why p.dl 'path(1, x)' -F .", 1, "not-a-constant", "a query finds the facts that one can ask about"),
    ("why p.dl 'path(4, 1)' -F .", 1, "fact-absent", "ask `why_not` what is missing for it"),
    ("why p.dl 'path(1, 2)' -F blank", 1, "fact-absent", "name their folder with -F DIR"),
    ("why p.dl 'path(1, 2)' -F . --metric best", 1, "unknown-metric", "choose height, nodes or leaves"),
    ("why-not p.dl 'path(1, 2)' -F .", 1, "fact-holds", "ask `why` for its proof"),
    ("status gone", 1, "no-store", "there is no folder `gone`"),
    ("status p.dl", 1, "no-store", "`tidelog run PROGRAM --store DIR` creates one"),
    ("apply p.dl", 2, "", "Missing argument 'CHANGES...'"),
    (
        "apply gone changes.dl",
        1,
        "unreadable-program",
        "name a program, a .dl file, or the folder of a store",
    ),
    ("apply p.dl change.dl -F .", 1, "unreadable-script", "did you mean changes.dl?"),
    ("apply p.dl facts-not-changes.dl -F .", 1, "syntax", "a change is written `+edge(1, 2).`"),
    ("apply p.dl changes.dl -F . --strategy fast", 1, "unknown-strategy", "choose one of auto, update"),
    ("apply p.dl changes.dl -F . --strict", 1, "bad-wish", "name a file of guards: --guards FILE"),
    ("apply p.dl changes.dl -F . --guards guards.txt", 1, "undeclared-relation", "did you mean `path`?"),
    ("apply p.dl changes.dl -F . --guards guard.txt", 1, "unreadable-guards", "did you mean guards.txt?"),
    (
        "blame p.dl -u 'path(1, 2)' -F .",
        1,
        "epoch-not-kept",
        "`tidelog blame PROGRAM CHANGES` takes change scripts",
    ),
    ("blame p.dl changes.dl -F .", 1, "bad-fault", "--unwanted"),
    ("blame p.dl changes.dl -F . -u 'path(1, 5)'", 1, "no-fault", "it appeared in epoch 1: ask with epoch=1"),
    ("blame p.dl changes.dl -F . -u 'path(1, 5)' --epoch last", 2, "", "give 5, or 3:5"),
    ("blame p.dl changes.dl -F . -u 'path(1, 5)' --epoch 9", 1, "epoch-not-kept", "epochs 1 to 2"),
    ("blame p.dl changes.dl -F . -u 'path(1, 5)' --method magic", 2, "", "choose reasons or ddmin"),
    ("repair p.dl changes.dl -F . -m 'path(1, 5)' --cost edge", 2, "", "give load=2"),
    ("serve p.dl --port 99999", 2, "", "99999 is not in the range"),
    ("serve p.dl -F . --host 0.0.0.0", 1, "token-required", "give --token"),
    ("watch p.dl", 2, "", "give one of --tree and --git"),
    ("watch p.dl --tree gone --once", 1, "no-such-folder", "name one with --tree DIR"),
    ("watch p.dl --tree src/a.py --once", 1, "no-such-folder", "name the folder it is in"),
    ("watch p.dl --tree src --once -l cobol", 1, "missing-package", "use the language `python`"),
    ("tree facts src/b.py", 1, "unreadable-program", "did you mean src/a.py?"),
    ("pipeline run jobs.toml", 1, "unreadable-job", "did you mean job.toml?"),
    ("pipeline check job.toml", 1, "unknown-job-key", "it may have job, trigger, spark, source, output"),
    ("shell", 2, "", "Missing argument 'STORE|PROGRAM'"),
]

# A line in the shell, the code of its diagnostic, and words that say what to do.
LINES = [
    (".mode nope", "bad-argument", "the modes are table, csv, json, markdown"),
    (".mode markdwn", "bad-argument", "did you mean `markdown`?"),
    (".timer maybe", "bad-argument", "write `.timer on` or `.timer off`"),
    (".read guard.txt", "unreadable-script", "did you mean guards.txt?"),
    (".raed x", "unknown-command", "did you mean `.read`?"),
    (".dcel a(x: number)", "unknown-command", "did you mean `.decl`?"),
    (":what", "unknown-command", ":help lists the commands"),
    ("help nope", "unknown-command", "there are accept, at, blame, commit"),
    ("path", "unknown-command", "`facts path` shows its facts"),
    ("shwo path", "unknown-command", "did you mean `show`?"),
    ("select * from path", "unknown-command", "a query is written path(1, x)"),
    ("paht(1, x)", "undeclared-relation", "did you mean `path`?"),
    ("nothing(1, x)", "undeclared-relation", "there are edge, path"),
    ("path(x), x > 1", "wrong-arity", "p.dl:3:1: declared here"),
    ("path(1, x", "syntax", "write for example path(1, x)"),
    ("path(1 x)", "syntax", "is an operator or a comma missing before `x`?"),
    ("path(1, 'a)", "bad-character", "a string begins here and does not end"),
    ('path(1, "a")', "type-clash", "expected `number`, found `symbol`"),
    ("query", "bad-query", "for example: query path(1, x)"),
    ("+path(1, 2).", "not-an-input", "change `edge`"),
    ("+egde(1, 2).", "undeclared-relation", "did you mean `edge`?"),
    ("+edge(x, 2).", "not-a-constant", "a text is written in quotes"),
    ("insert edge 1 2", "syntax", "an atom is written `edge(...)`"),
    ("delete", "not-a-fact", "for example: delete edge(1, 2)"),
    ("path(x, y) <- edge(x, y).", "syntax", "a rule is written `head :- body.`"),
    ("path(x, y) :- egde(x, y).", "undeclared-relation", "did you mean `edge`?"),
    ("path(x, w) :- edge(x, _).", "unbound-variable", "add a positive atom over `w` to the body"),
    (".decl edge(x: number)", "redefined-relation", "delete one of the declarations or rename it"),
    ("rules nope", "undeclared-relation", "there are edge, path"),
    ("remove 99", "no-such-rule", "so does `rules` in the shell"),
    ("remove first", "no-such-rule", "for example: remove 3"),
    ("remove", "no-such-rule", "there is no rule to remove"),
    ("facts path ten", "bad-argument", "for example: facts path 20"),
    ("facts nope", "undeclared-relation", "there are edge, path"),
    ("why", "not-a-fact", "for example: why path(1, 3)"),
    ("why path(1", "syntax", "for example path(1, "),
    ("why path(4, 1)", "fact-absent", "ask `why_not`"),
    ("whynot path(1, 2)", "fact-holds", "ask `why` for its proof"),
    ("depth deep", "bad-depth", "give a number of 1 or more, or `all`"),
    ("choose 1", "no-guide", "begin with `guide FACT`"),
    ("blame", "not-a-fact", "for example: blame path(1, 3)"),
    ("blame path(1, 2)", "epoch-not-kept", "apply changes first"),
    ("blame path(1, 2) at last", "epoch-not-kept", "write for example at 4, or between 2 and 4"),
    ("insert edge(7, 8)\ninsert edge(8, 9)\nblame path(7, 8)", "no-fault", "it appeared in epoch 1"),
    ("delete edge(3, 4)\ninsert edge(8, 9)\nblame !path(1, 4)", "no-fault", "it vanished in epoch 1"),
    ("accept", "no-repair", "ask for one: repair path(1, 3)"),
    ("guard pth(1, 2)", "undeclared-relation", "did you mean `path`?"),
    ("unguard 3", "no-such-guard", "`guard` lists them"),
]


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with programs, facts and other files."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return make_command(monkeypatch, capsys)


def _words(text: str) -> str:
    """Return a text without the frame and the line breaks that a terminal gives it."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def _check(err: str, code: str, words: str) -> None:
    assert "Traceback" not in err
    assert "internal error" not in err
    assert words in _words(err)
    assert f"error[{code}]" in err if code else "error[" not in err


@pytest.mark.parametrize(("command", "status", "code", "words"), COMMANDS, ids=[each[0] for each in COMMANDS])
def test_commands(tidelog: Command, command: str, status: int, code: str, words: str) -> None:
    """A wrong command ends with its status and says what to do."""
    found, _, err = tidelog(*shlex.split(command))

    assert found == status
    _check(err, code, words)


@pytest.mark.parametrize(("lines", "code", "words"), LINES, ids=[each[0] for each in LINES])
def test_lines_of_the_shell(tidelog: Command, lines: str, code: str, words: str) -> None:
    """A wrong line is told what to do, and makes the exit status 1 where nobody types."""
    status, _, err = tidelog("shell", "p.dl", "-F", ".", stdin=f"{lines}\n")

    assert status == 1
    _check(err, code, words)


@pytest.mark.parametrize("command", ["help", "help run", "p.txt -D out"])
def test_what_can_be_guessed_is_done(tidelog: Command, command: str) -> None:
    """`help` is the help, and a file that is there is a program whatever its name."""
    Path("p.txt").write_text(PATHS)

    assert tidelog(*shlex.split(command))[0] == 0
