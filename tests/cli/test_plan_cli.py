"""`tidelog plan`, and what `tidelog run` leaves out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number) magic
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl out(y: number)
.output out
out(y) :- path(2, y), y < 5 + 5.
.decl unread(x: number)
unread(x) :- path(x, _).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a program and its facts."""
    (tmp_path / "prog.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n3\t4\n")
    return tmp_path


def tidelog(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    code = "import sys; from tidelog.cli.main import main; sys.argv[0] = 'tidelog'; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={"PYTHONUTF8": "1", "PATH": ""},
    )


def test_plan_shows_algebra_operators_and_indexes(folder: Path):
    """What runs is shown after all passes, with the sizes of the inputs."""
    done = tidelog(folder, "plan", "prog.dl", "-F", ".")

    assert done.returncode == 0, done.stderr
    assert "input edge, facts: 3" in done.stdout
    assert "π[y](" in done.stdout
    assert "scan delta path: x, y" in done.stdout
    assert "index edge by x" in done.stdout
    assert "y < 10" in done.stdout
    assert "unread" not in done.stdout


def test_plan_without_facts_guesses(folder: Path):
    """Sizes are needed only to choose better orders."""
    (folder / "edge.facts").unlink()

    done = tidelog(folder, "plan", "prog.dl")

    assert done.returncode == 0, done.stderr
    assert "not known" in done.stdout


def test_plan_reports_missing_facts(folder: Path):
    """A fact file that is not there is a mistake, as it is for a run."""
    (folder / "edge.facts").unlink()

    done = tidelog(folder, "plan", "prog.dl", "-F", ".")

    assert done.returncode == 1
    assert "error[" in done.stderr
    assert "Traceback" not in done.stderr


def test_run_restricts_magic_relations(folder: Path):
    """A run derives what its outputs ask for and writes the same outputs."""
    done = tidelog(folder, "run", "prog.dl", "--stats", "stats.json")

    assert done.returncode == 0, done.stderr
    assert (folder / "out.csv").read_text() == "3\n4\n"
    assert '"path": 2' in (folder / "stats.json").read_text()


def test_measured_plan_shows_what_operators_yielded(folder: Path):
    """Beside what was expected of each join stands what it did when the program was evaluated."""
    done = tidelog(folder, "plan", "prog.dl", "-F", ".", "--measure")

    assert done.returncode == 0, done.stderr
    assert "input edge, facts: 3" in done.stdout
    assert "scan delta path: x, y (measured 2) → x, y" in done.stdout
    assert re.search(r"join full edge by x = y: y as z \(~[\d.]+ each, measured 0.5: 1\) → x, z", done.stdout)
    assert "index edge by x" in done.stdout
    assert not (folder / "out.csv").exists()


def test_measured_choices_show_where_bindings_went(folder: Path):
    """Every alternative of a choice has its own number of bindings; inside they add up."""
    arcs = [(x, x * y % 97) for x in range(97) for y in range(1, 30)]
    (folder / "edge.facts").write_text("".join(f"{x}\t{y}\n" for x, y in arcs))
    (folder / "tri.dl").write_text(
        ".decl edge(x: number, y: number)\n.input edge\n.decl t(x: number, y: number, z: number)\n.output t\n"
        "t(x, y, z) :- edge(x, y), edge(y, z), edge(z, x).\n"
    )

    done = tidelog(folder, "plan", "tri.dl", "-F", ".", "--measure")

    assert done.returncode == 0, done.stderr
    began = [
        int(x.replace(",", "")) for x in re.findall(r"alternative \d \(measured ([\d,]+)\)", done.stdout)
    ]
    assert len(began) == 2
    assert 0 < sum(began) <= len(set(arcs))


def test_measuring_takes_functions_of_the_user(folder: Path):
    """A program with functors of its own is measured with them, as it is run."""
    (folder / "twice.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    (folder / "twice.dl").write_text(
        ".functor twice(x: number): number\n.decl a(x: number)\n.decl b(x: number)\n.output b\n"
        "a(1). a(2).\nb(@twice(x)) :- a(x).\n"
    )

    done = tidelog(folder, "plan", "twice.dl", "--measure", "--functions", "twice.py")

    assert done.returncode == 0, done.stderr
    assert "(measured 2)" in done.stdout
