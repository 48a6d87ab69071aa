"""`tidelog check`, `fmt`, `plan` and `version`."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from support.command_line import Command, make_command
from tidelog import __version__
from tidelog.cli.app import app
from tidelog.cli.main import COMMANDS, only_needed

GOOD = ".decl a(x: number)\n.output a\na(1).\n"
BAD = ".decl a(x: number)\n.output a\na(y) :- a(x).\nb(1).\n"


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called in a folder with a good and a bad program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.dl").write_text(GOOD)
    (tmp_path / "bad.dl").write_text(BAD)

    return make_command(monkeypatch, capsys)


def test_check_accepts_a_good_program(tidelog: Command) -> None:
    """Nothing is wrong: status 0 and a summary."""
    assert tidelog("check", "good.dl") == (0, "1 program checked: 0 errors, 0 warnings\n", "")


def test_check_reports_all_mistakes_of_all_programs(tidelog: Command) -> None:
    """A missing program does not keep the others from being checked."""
    status, out, err = tidelog("check", "bad.dl", "good.dl", "gone.dl")

    assert status == 1
    assert "error[unbound-variable]" in err
    assert "error[undeclared-relation]" in err
    assert "error[unreadable-program]" in err
    assert out.startswith("3 programs checked: 3 errors")


def test_check_goes_on_after_mistakes_in_the_syntax(tidelog: Command) -> None:
    """Names, arities and types of what could be read are checked, but for what a torn declaration names."""
    Path("torn.dl").write_text(
        ".decl edge(x: number y: number)\n.decl node(x: number)\n.decl path(x: number, y: number)\n"
        "path(x, y) :- edge(x, y).\npath(x, z) :- edge(y z).\npath(x, w) :- node(x).\n"
        'nod(1).\nnode(1, 2).\nnode("a").\n'
    )

    status, out, err = tidelog("check", "torn.dl")

    assert status == 1
    assert [line.split(": ")[:2] for line in err.splitlines() if line.startswith("torn.dl")] == [
        ["torn.dl:1:22", "error[syntax]"],
        ["torn.dl:5:22", "error[syntax]"],
        ["torn.dl:6:9", "error[unbound-variable]"],
        ["torn.dl:7:1", "error[undeclared-relation]"],
        ["torn.dl:8:1", "error[wrong-arity]"],
        ["torn.dl:9:6", "error[type-clash]"],
    ]
    assert out == "1 program checked: 6 errors, 0 warnings\n"


@pytest.mark.parametrize(
    "text",
    [
        '#include "gone.dl"\n.decl a(x: number)\na(x) :- b(x).\n',
        ".type T = A {x: number} | B {y number}\n.decl a(t: T)\na($B(1)).\n",
        ".comp C { .decl a(x number) }\n.init c = C\nc.a(1).\n",
        ".decl a(x: number)\na(n) :- n = mean : { a(x) }.\n",
    ],
    ids=["include", "type", "component", "aggregate"],
)
def test_check_reports_no_echoes_of_what_is_lost(tidelog: Command, text: str) -> None:
    """What a missing file or a torn declaration would have declared is not called undeclared."""
    Path("torn.dl").write_text(text)

    status, _, err = tidelog("check", "torn.dl")

    assert status == 1
    assert err.count("error[") == 1


def test_check_shows_warnings_unless_told_not_to(tidelog: Command) -> None:
    """A warning does not change the status."""
    Path("odd.dl").write_text(".decl a(x: number)\n.decl b(x: number)\n.output a\na(1) :- b(x).\n")

    status, out, err = tidelog("check", "odd.dl")
    _, quiet_out, quiet_err = tidelog("check", "-w", "odd.dl")

    assert status == 0
    assert "warning[" in err
    assert "0 errors" in out
    assert (quiet_out, quiet_err) == ("1 program checked: 0 errors, 0 warnings\n", "")


def test_a_program_may_come_from_stdin(tidelog: Command) -> None:
    """`-` is standard input."""
    status, _, err = tidelog("check", "-", stdin=BAD)

    assert status == 1
    assert "stdin:3:3" in err


def test_fmt_prints_checks_and_rewrites(tidelog: Command, tmp_path: Path) -> None:
    """The three ways of `fmt` agree on what the canonical layout is."""
    untidy = tmp_path / "untidy.dl"
    untidy.write_text(".decl   a( x:number )\na( 1 ).   // one\n")

    printed = tidelog("fmt", "untidy.dl")
    checked = tidelog("fmt", "--check", "untidy.dl")
    written = tidelog("fmt", "--write", "untidy.dl")
    again = tidelog("fmt", "--check", "untidy.dl")

    assert checked[:2] == (1, "untidy.dl\n")
    assert written[:2] == (0, "untidy.dl\n")
    assert untidy.read_text() == printed[1]
    assert "// one" in printed[1]
    assert again == (0, "", "")
    assert [file.name for file in tmp_path.glob(".*")] == []


def test_fmt_changes_nothing_when_one_program_is_wrong(tidelog: Command, tmp_path: Path) -> None:
    """All programs are read before one is rewritten."""
    untidy = tmp_path / "untidy.dl"
    untidy.write_text(".decl   a( x:number )\n")
    (tmp_path / "broken.dl").write_text(".decl a(\n")

    status, _, _ = tidelog("fmt", "--write", "untidy.dl", "broken.dl")

    assert status == 1
    assert untidy.read_text() == ".decl   a( x:number )\n"


def test_fmt_takes_one_of_check_and_write(tidelog: Command) -> None:
    """Both together is a usage mistake."""
    assert tidelog("fmt", "--check", "--write", "good.dl")[0] == 2


def test_plan_prints_the_program_by_strata(tidelog: Command) -> None:
    """What will run is shown as text."""
    status, out, _ = tidelog("plan", "good.dl")

    assert status == 0
    assert "a(1)" in out


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["run"], "tidelog run [OPTIONS] PROGRAM"),
        (["why"], "tidelog why [OPTIONS] STORE|PROGRAM FACT"),
        (["tree", "diff"], "tidelog tree diff [OPTIONS] OLD NEW"),
    ],
)
def test_usage_is_plain(tidelog: Command, command: list[str], usage: str) -> None:
    """What must be given stands without brackets, in the help and in messages."""
    _, out, _ = tidelog(*command, "-h")
    status, _, err = tidelog(*command)

    assert usage in out
    assert usage in err
    assert status == 2


def test_every_command_is_known_before_it_is_looked_up() -> None:
    """A file of the same name in the folder is not run in its place."""
    assert set(COMMANDS) >= set(get_command(app).commands)


def test_arguments_too_many_are_named(tidelog: Command) -> None:
    """The message says what the command takes."""
    status, _, err = tidelog("run", "good.dl", "bad.dl")

    assert status == 2
    assert "takes PROGRAM; leave out" in err
    assert "`bad.dl`" in err


@pytest.mark.parametrize("line", ["version", "--version", "--version missing.dl", "run missing.dl --version"])
def test_version_is_printed(tidelog: Command, line: str) -> None:
    """The version is the package's, and nothing else on the line is looked at."""
    assert tidelog(*line.split()) == (0, f"tidelog {__version__}\n", "")


def _main(*arguments: str) -> str:
    """Return Python code that runs a command."""
    return (
        f"import sys; sys.argv = ['tidelog', *{arguments}]\n"
        "from tidelog.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


_HEAVY = ("numpy", "numba", "pyarrow", "pandas", "polars")


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import tidelog", (*_HEAVY, "typer", "rich")),
        (_main("version"), (*_HEAVY, "typer", "rich")),
        (_main("check", "good.dl"), (*_HEAVY, "rich")),
        (_main("fmt", "good.dl"), (*_HEAVY, "rich")),
    ],
    ids=["import", "version", "check", "fmt"],
)
def test_what_needs_no_arrays_loads_none(tidelog: Command, code: str, heavy: tuple[str, ...]) -> None:
    """Importing the package, printing the version, checking and formatting start quickly."""
    del tidelog  # it made the folder with the programs
    code += f"\nimport sys; print([module for module in {heavy} if module in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


_RULES = (
    ".decl edge(x: symbol, n: number, y: symbol)\n.input edge\n"
    ".decl path(x: symbol, y: symbol)\n.output path\n"
    "path(x, y) :- edge(x, n, y), n > 0.\npath(x, z) :- path(x, y), edge(y, _, z).\n"
)
# What a run on facts in text files may load beside Python's own modules. Whoever adds a package here makes
# every start slower.
_PACKAGES = {"tidelog", "numpy", "typer", "annotated_doc", "shellingham", "typing_extensions"}
_STAGES = {
    *("cli", "dataclass", "engine", "errors", "io", "kernels", "lazily", "plan", "program"),
    "progress",
    *("options", "session", "source", "storage", "syntax", "values", "views"),
}
_TELL_LOADED = """
import sys
names = {name for name in sys.modules if not name.startswith('_')}
print(*sorted({name for name in names if '.' not in name} - sys.stdlib_module_names - {'cython_runtime'}))
print(*sorted({name.split('.')[1] for name in names if name.startswith('tidelog.')}))
"""


def test_a_run_loads_little(tmp_path: Path) -> None:
    """A run on few facts loads no compiler, no Arrow, no frames, nothing for epochs or proofs."""
    (tmp_path / "path.dl").write_text(_RULES)
    (tmp_path / "edge.facts").write_text("a\t1\tb\nb\t2\tc\n")
    code = _main("run", "path.dl") + _TELL_LOADED

    # The first run may have to compile kernels.
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
        )

    packages, stages = (set(line.split()) for line in done.stdout.splitlines()[-2:])
    assert packages <= _PACKAGES
    assert stages <= _STAGES
    assert (tmp_path / "path.csv").read_text() == "a\tb\na\tc\nb\tc\n"


def test_a_session_loads_little() -> None:
    """A session on few facts from Python, with an epoch, loads no compiler, no Arrow and no solver."""
    code = (
        f"import tidelog\ndb = tidelog.open({_RULES!r}, facts={{'edge': [('a', 1, 'b')]}})\n"
        "db.apply(insert={'edge': [('b', 2, 'c')]}, delete={'edge': [('a', 1, 'b')]})\n"
        "print(list(db['path']))" + _TELL_LOADED
    )

    # The first session may have to compile kernels.
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    paths, packages, _ = done.stdout.splitlines()
    assert paths == "[('b', 'c')]"
    assert packages == "numpy tidelog"


def test_every_option_is_documented() -> None:
    """The page of the command line names every command and every long option."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    commands = {"": get_command(app)}
    missing = []
    while commands:
        path, command = commands.popitem()
        commands |= {f"{path} {name}": each for name, each in getattr(command, "commands", {}).items()}
        options = [name for each in command.params for name in each.opts if name.startswith("--")]
        is_hidden = {name for each in command.params if getattr(each, "hidden", False) for name in each.opts}
        missing += [f"tidelog{path} {name}" for name in options if name not in page and name not in is_hidden]
        missing += [path] if path.split()[-1:] and path.split()[-1] not in page else []

    assert set(missing) <= {"tidelog --install-completion", "tidelog --show-completion"}


@pytest.mark.parametrize("name", sorted(get_command(app).commands))
def test_a_command_is_the_same_without_the_others(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the command that is called is prepared; its help is that which the whole program gives."""
    shown = []
    for each in (app, only_needed(app, [name])):
        with pytest.raises(SystemExit):
            each([name, "--help"], prog_name="tidelog")
        shown.append(capsys.readouterr().out)

    assert shown[0] == shown[1] != ""
    assert list(get_command(only_needed(app, [name])).commands) == [name]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["unknown"]])
def test_without_a_command_all_are_there(arguments: list[str]) -> None:
    """Help and suggestions need all commands."""
    assert only_needed(app, arguments) is app
