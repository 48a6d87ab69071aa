"""The house itself: the two commands, the demo, and what must be true of every file."""

import ast
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog

ROOT = Path(__file__).parents[2]
SCRIPTS = ("demo", "check", ".ci/run", "bin/set-up")
# What the shell scripts may rely on beside Python; the tests give them nothing else.
TOOLS = ("sh", "dirname", "cksum", "cat", "grep", "tail", "mkdir", "sleep")


def files(*endings):
    """Return the house's own text files with one of the endings, without what tools left behind."""
    folders = ("src", "tests", "benchmarks", "torture", "examples", "docs", "bin")
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in folders:
        inside = (path for path in (ROOT / folder).rglob("*") if path.is_file())
        # What npm installs for the checks of the page is not ours.
        found.extend(path for path in inside if "node_modules" not in path.parts)
    out = ROOT / "benchmarks" / "out"
    kept = (path for path in found if out not in path.parents and "__pycache__" not in path.parts)
    return sorted(path for path in kept if path.name.endswith(endings))


@pytest.fixture
def bare_house(tmp_path):
    """Return a folder with the set-up script, and a PATH that has the shell's tools but no Python."""
    house, tools = tmp_path / "house", tmp_path / "tools"
    (house / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin" / "set-up", house / "bin")
    shutil.copy(ROOT / "pyproject.toml", house)
    tools.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    return house, tools


def set_up(house, tools, *arguments, **environment):
    """Run the set-up script with nothing but the tools on PATH."""
    return subprocess.run(
        [house / "bin" / "set-up", *arguments],
        env={"PATH": str(tools), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def write_program(path, text):
    """Write an executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


# --- the two commands ----------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_executable_shell(script):
    """Every script can be started as it is and is read by a plain shell."""
    path = ROOT / script

    assert path.stat().st_mode & stat.S_IXUSR
    assert path.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", path], check=True)


def test_continuous_integration_runs_exactly_the_check():
    """`.ci/run` starts `./check` without arguments and does nothing else."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert lines == ["#!/bin/sh", 'exec "$(dirname "$0")/../check"']


def test_set_up_without_python_says_what_is_needed(bare_house):
    """Without a suitable Python the set-up stops with a message that says what to do."""
    house, tools = bare_house

    done = set_up(house, tools)

    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "hint:" in done.stderr
    assert not (house / ".venv").exists()


def test_set_up_passes_over_interpreters_that_do_not_run(bare_house):
    """A name on PATH that is no working Python 3.11 is not taken for one."""
    house, tools = bare_house
    write_program(tools / "python3", "exit 1")

    done = set_up(house, tools)

    assert done.returncode == 1
    assert "none was found" in done.stderr


def test_set_up_refuses_a_chosen_interpreter_that_does_not_run(bare_house):
    """A wrong PYTHON is named in the message."""
    house, tools = bare_house

    done = set_up(house, tools, PYTHON="/nowhere/python3")

    assert done.returncode == 1
    assert "PYTHON=/nowhere/python3" in done.stderr


def test_set_up_is_silent_when_nothing_changed(bare_house):
    """With the stamp of the same pyproject.toml the set-up runs no Python and says nothing."""
    house, tools = bare_house
    write_program(house / ".venv" / "bin" / "python", "echo started >&2; exit 1")
    summed = subprocess.run(
        ["cksum"], input=(house / "pyproject.toml").read_bytes(), stdout=subprocess.PIPE, check=True
    )
    stamp = f"{house.resolve()} {summed.stdout.decode().strip()}\n"
    (house / ".venv" / "set-up-base.stamp").write_text(stamp, encoding="utf-8")

    done = set_up(house, tools)

    assert (done.returncode, done.stderr) == (0, "")


def test_set_up_knows_its_extras(bare_house):
    """An extra that does not exist is refused with the ones that do."""
    house, tools = bare_house

    done = set_up(house, tools, "developer")

    assert done.returncode == 1
    assert "bin/set-up dev" in done.stderr


def test_check_names_its_steps():
    """The steps that `./check` runs by default are those its description lists."""
    text = (ROOT / "check").read_text(encoding="utf-8")
    listed = re.search(r"# Steps: (.*)", text)
    by_default = re.search(r"^\[ \$# -gt 0 \] \|\| set -- (.*)", text, re.MULTILINE)

    assert listed is not None
    assert by_default is not None
    assert listed[1] == by_default[1]


def test_check_runs_every_step_and_says_how_long_it_took(tmp_path):
    """A step that fails does not keep the next from running; the failed ones are named at the end."""
    shutil.copy(ROOT / "check", tmp_path)
    write_program(tmp_path / "bin" / "set-up", "exit 0")
    write_program(tmp_path / ".venv" / "bin" / "ruff", "exit 1")
    write_program(tmp_path / ".venv" / "bin" / "codespell", "exit 0")

    done = subprocess.run(
        [tmp_path / "check", "lint", "spelling"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert re.sub(r"\d+ s", "0 s", done.stdout).splitlines() == [
        "== lint", "== lint took 0 s", "== spelling", "== spelling took 0 s", "== failed: lint",
    ]  # fmt: skip


# --- the demo ------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_demo_gives_the_published_answer(engine):
    """The points-to demo derives what the thesis it comes from derives, aliases in both directions."""
    folder = ROOT / "examples" / "pointsto"
    aliases = {("userSession", "ins"), *(("superuser", other) for other in ("sec", "ins", "userSession"))}

    with tidelog.open(folder / "pointsto.dl", facts=folder / "facts", engine=engine) as db:
        assert set(db["vpt"]) == {
            ("admin", "L1"),
            ("sec", "L2"),
            ("ins", "L3"),
            ("userSession", "nullptr"),
            ("superuser", "nullptr"),
            ("userSession", "L3"),
            ("superuser", "L2"),
            ("superuser", "L3"),
        }
        assert set(db["alias"]) == aliases | {(second, first) for first, second in aliases}
        assert set(db["safevar"]) == {("admin",), ("sec",), ("ins",)}


def test_demo_command_shows_the_relations():
    """The command line of the demo prints every output relation in a frame."""
    command = re.search(r"tidelog (run .*) \"\$@\"", (ROOT / "demo").read_text(encoding="utf-8"))
    assert command is not None

    done = subprocess.run(
        [sys.executable, "-m", "tidelog", *command[1].split()],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    for relation in ("vpt", "alias", "safevar"):
        assert f"---------------\n{relation}\n===============\n" in done.stdout


# --- every file ----------------------------------------------------------------------------


def test_files_stay_short():
    """No Python file has more than 600 lines: one idea per file."""
    lengths = {path.relative_to(ROOT): path.read_text(encoding="utf-8").count("\n") for path in files(".py")}

    assert {str(path): lines for path, lines in lengths.items() if lines > 600} == {}


def test_files_are_named_for_an_idea():
    """No file is called by a name that could hold anything."""
    vague = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}

    assert [str(path) for path in files(".py") if path.name in vague] == []


# A program has these in two forms, as written and as checked.
TWO_FORMS = ({"syntax/tree.py", "program/nodes.py"}, {"syntax/tree.py", "values/types.py"})


def test_a_class_has_a_name_of_its_own():
    """No two files define a public class of the same name, but for the two forms of a program."""
    homes = {}
    for path in (ROOT / "src" / "tidelog").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                home = path.relative_to(ROOT / "src" / "tidelog").as_posix()
                homes.setdefault(node.name, set()).add(home)

    shared = {name for name, paths in homes.items() if len(paths) > 1 and paths not in TWO_FORMS}

    assert shared == set()


def test_files_name_no_machine():
    """Nothing depends on where somebody's files are, or on a private package index."""
    # One letter of each stands in brackets, so that this file does not find itself.
    private = re.compile(r"/roo[t]/|/hom[e]/|/wor[k]/|\.\./share[d]|pypi-mor[e]")

    named = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in files(".py", ".md", ".dl", ".toml", "Makefile", "demo", "check", "set-up")
        for match in private.finditer(path.read_text(encoding="utf-8"))
    ]

    assert named == []


def test_open_work_has_an_issue():
    """A note about work to be done names its issue."""
    note = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b(?!.*#\d+)")

    assert [str(path) for path in files(".py") if note.search(path.read_text(encoding="utf-8"))] == []


def test_links_between_documents_lead_somewhere():
    """Every relative link in the documentation names a file that exists."""
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")
    # In code, `π[x](edge)` is not a link.
    code = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)

    broken = [
        f"{path.relative_to(ROOT)}: {match[1]}"
        for path in files(".md")
        for match in link.finditer(code.sub("", path.read_text(encoding="utf-8")))
        if not (path.parent / match[1]).exists()
    ]

    assert broken == []


def test_changelog_speaks_of_this_version():
    """The newest release in the changelog is the version in the package; only what is unreleased is newer."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    newest = re.search(r"^## (?!Unreleased$)(\S+)", text, re.MULTILINE)

    assert newest is not None
    assert newest[1] == tidelog.__version__


def test_tests_of_ctrl_c_end_in_a_background_job():
    """Tests that a shell starts in the background, with Ctrl-C ignored, can be interrupted all the same."""
    ask = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN); import conftest; "
    code = ask + "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"

    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(("tests", *sys.path))},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "True"]


def test_every_test_has_a_time_limit(request):
    """A test that hangs fails after its limit, and none has a limit so large that it stands for none."""
    by_default = float(request.config.getini("timeout"))
    marks = [
        (item.nodeid, mark.args[0]) for item in request.session.items for mark in item.iter_markers("timeout")
    ]

    assert 0 < by_default <= 300
    assert [(name, limit) for name, limit in marks if not 0 < limit <= 900] == []


def test_licence_is_the_one_declared():
    """The licence stands once, in full, and is the one the package names."""
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
