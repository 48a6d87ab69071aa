"""`tidelog run`: outputs, statistics, exit statuses."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from support.processes import started
from tidelog.cli import app as cli_app
from tidelog.cli.main import as_command

PATHS = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
.printsize edge
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a program and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paths.dl").write_text(PATHS)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.facts").write_text("1\t2\n2\t3\n")
    return tmp_path


@pytest.fixture
def tidelog(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return the command line as a function from arguments to status, stdout and stderr."""
    return make_command(monkeypatch, capfd)


RUN = ("run", "paths.dl", "-F", "facts")


def test_outputs_are_written_and_sizes_printed(folder: Path, tidelog: Command) -> None:
    """`.output` goes to a file of the output folder, `.printsize` to stdout."""
    status, out, err = tidelog(*RUN, "-D", "out")

    assert (status, out, err) == (0, "edge\t2\n", "")
    assert (folder / "out" / "path.csv").read_text() == "1\t2\n1\t3\n2\t3\n"
    assert [file.name for file in (folder / "out").iterdir()] == ["path.csv"]


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_an_input_that_nothing_needs_may_be_missing(folder: Path, tidelog: Command, engine: str) -> None:
    """It is a warning; a missing file that an output depends on stays an error."""
    more = ".decl spare(x: number)\n.input spare\n.decl unused(x: number)\nunused(x) :- spare(x).\n"
    (folder / "paths.dl").write_text(PATHS + more)

    status, out, err = tidelog(*RUN, "-D", "out", "--engine", engine)

    assert (status, out) == (0, "edge\t2\n")
    assert "warning[missing-fact-file]: there is no fact file `facts/spare.facts`" in err
    (folder / "paths.dl").write_text(PATHS + more + ".output unused\n")
    assert tidelog(*RUN, "-D", "out", "--engine", engine)[0] == 1


def test_wrong_directives_are_reported_before_evaluation(
    folder: Path, tidelog: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All mistakes of outputs are told together, and nothing is evaluated for them."""
    more = ".output edge(IO=stdin)\n.output edge(IO=strange)\n.output edge(floats=long)\n"
    (folder / "paths.dl").write_text(PATHS + more)
    monkeypatch.setattr("tidelog.cli.run.evaluate_once", None)

    status, _, err = tidelog(*RUN)

    assert status == 1
    assert re.findall(r"error\[([a-z-]+)\]", err) == ["unknown-io", "unknown-io", "bad-io-parameter"]


def test_floats_are_written_as_souffle_does(folder: Path, tidelog: Command) -> None:
    """Whole ones have no `.0`; `--floats exact` has, and the fewest digits that read back."""
    (folder / "f.dl").write_text(".decl f(x: float)\n.output f\nf(1.0). f(0.1).\n")

    tidelog("run", "f.dl", "-D", "out")
    tidelog("run", "f.dl", "-D", "exact", "--floats", "exact")

    assert (folder / "out" / "f.csv").read_text() == "0.10000000000000001\n1\n"
    assert (folder / "exact" / "f.csv").read_text() == "0.1\n1.0\n"


def test_a_dash_prints_outputs_as_souffle_does(folder: Path, tidelog: Command) -> None:
    """`-D -` frames every relation with its name."""
    status, out, _ = tidelog(*RUN, "-D", "-")

    frame = "---------------\npath\n===============\n1\t2\n1\t3\n2\t3\n===============\n"
    assert (status, out) == (0, frame + "edge\t2\n")
    assert not list(folder.glob("*.csv"))


@pytest.mark.usefixtures("folder")
def test_run_may_be_left_out(tidelog: Command) -> None:
    """Command lines written for Soufflé work, options first or last."""
    first = tidelog("-F", "facts", "-D", "-", "-j2", "-w", "-c", "paths.dl")
    last = tidelog("paths.dl", "-Ffacts", "-D-", "-jauto", "--engine=local")

    assert first == last
    assert first[0] == 0


def test_only_program_files_and_options_stand_for_run() -> None:
    """Anything else is a misspelt command and stays one."""
    assert as_command(["prog.dl"]) == ["run", "prog.dl"]
    assert as_command(["rnu", "prog.dl"]) == ["rnu", "prog.dl"]
    assert as_command(["--help"]) == ["--help"]
    assert as_command([]) == []


def test_statistics_are_json_with_documented_keys(folder: Path, tidelog: Command) -> None:
    """Every key that is written stands in docs/cli.md."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

    status, _, _ = tidelog(*RUN, "--stats", "stats.json", "-j", "1")

    stats = json.loads((folder / "stats.json").read_text())
    keys = {
        *(key for key in stats if key != "seconds"),
        *(f"seconds.{key}" for key in stats["seconds"]),
        *(f"strata[].{key}" for key in stats["strata"][0]),
    }
    assert status == 0
    assert [key for key in keys if f"`{key}`" not in page] == []
    assert stats["relations"] == {"edge": 2, "path": 3}
    assert stats["complete"] is True
    assert stats["jobs"] == 1
    assert stats["strata"][1]["relations"] == ["path"]


def test_statistics_tell_how_far_a_failed_run_came(folder: Path, tidelog: Command) -> None:
    """A run that fails while it loads or evaluates still writes them, as incomplete."""
    (folder / "facts" / "edge.facts").write_text("1\ttwo\n")

    status, out, err = tidelog(*RUN, "-D", "out", "--stats", "-")

    assert status == 1
    assert json.loads(out)["complete"] is False
    assert "edge.facts:1:3" in err
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (".decl a(x: number)\na(y) :- a(x).\n", "unbound-variable"),
        (".decl a(x: number\n", "syntax"),
        ("", ""),
    ],
)
def test_mistakes_give_status_one_and_diagnostics(
    folder: Path, tidelog: Command, program: str, code: str
) -> None:
    """Diagnostics go to stderr, nothing to stdout; an empty program is no mistake."""
    (folder / "bad.dl").write_text(program)

    status, out, err = tidelog("run", "bad.dl")

    assert status == (1 if code else 0)
    assert out == ""
    assert f"error[{code}" in err or not code


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "paths.dl", "-j", "0"),
        ("run", "paths.dl", "--engine", "warp"),
        ("frob",),
        ("--frob",),
    ],
)
def test_a_command_line_that_is_not_understood_gives_status_two(
    tidelog: Command, arguments: tuple[str, ...]
) -> None:
    """Usage mistakes are told apart from mistakes in programs."""
    status, _, err = tidelog(*arguments)

    assert status == 2
    assert "Usage" in err


@pytest.mark.usefixtures("folder")
def test_a_bad_memory_limit_is_a_diagnostic(tidelog: Command) -> None:
    """The amount is checked before anything runs."""
    status, _, err = tidelog(*RUN, "--memory-limit", "much")

    assert status == 1
    assert "error[bad-memory-limit]" in err


def test_functions_come_from_python_files(folder: Path, tidelog: Command) -> None:
    """`--functions` binds `.functor` declarations to a file's functions."""
    (folder / "f.dl").write_text(
        ".functor twice(x: number): number\n.decl a(x: number)\n.output a\na(@twice(4)).\n"
    )
    (folder / "f.py").write_text("def twice(x):\n    return 2 * x\n")

    status, out, _ = tidelog("run", "f.dl", "-D", "-", "--functions", "f.py")

    assert status == 0
    assert "\n8\n" in out


def test_a_functions_file_that_fails_says_where(folder: Path, tidelog: Command) -> None:
    """A mistake in the user's Python is the user's, with file and line."""
    (folder / "f.py").write_text("import math\nraise ValueError('no luck')\n")

    status, _, err = tidelog(*RUN, "--functions", "f.py")

    assert status == 1
    assert "f.py:2: ValueError: no luck" in err


def test_macros_and_includes_reach_the_preprocessor(folder: Path, tidelog: Command) -> None:
    """`-M` defines macros, one or several at once, and `-I` names folders."""
    (folder / "inc").mkdir()
    (folder / "inc" / "a.inc").write_text("a(ONE, TWO, FLAG).\n")
    (folder / "m.dl").write_text(".decl a(x: number, y: number, z: number)\n.output a\n#include <a.inc>\n")

    status, out, _ = tidelog("run", "m.dl", "-D", "-", "-I", "inc", "-M", "ONE=5 TWO=6", "-MFLAG")

    assert status == 0
    assert "5\t6\t1\n" in out


def test_our_own_mistakes_are_one_line(
    folder: Path, tidelog: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback reaches a user unless TIDELOG_DEBUG=1."""
    del folder

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a wheel\ncame off")

    monkeypatch.setattr("tidelog.cli.run.evaluate_once", fail)
    monkeypatch.delenv("TIDELOG_DEBUG", raising=False)
    status, _, err = tidelog(*RUN)
    monkeypatch.setenv("TIDELOG_DEBUG", "1")
    _, _, debugged = tidelog(*RUN)

    assert status == 70
    assert err.startswith("internal error: RuntimeError: a wheel came off\n")
    assert "Traceback" not in err
    assert "Traceback" in debugged


@pytest.mark.parametrize(
    ("failure", "expected"),
    [(KeyboardInterrupt, 130), (MemoryError, 1), (BrokenPipeError, 141), (OSError, 1)],
)
def test_every_way_to_be_stopped_has_its_status(
    folder: Path,
    tidelog: Command,
    monkeypatch: pytest.MonkeyPatch,
    failure: type[BaseException],
    expected: int,
) -> None:
    """An interruption while outputs are written leaves nothing behind."""

    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("tidelog.views.write.io.write_relation", fail)
    monkeypatch.setattr("tidelog.cli.guard.os.dup2", lambda *_: None)

    status, out, _ = tidelog(*RUN, "-D", "out")

    assert status == expected
    assert out == ""
    assert not list(folder.glob("out/*"))


def test_ctrl_c_and_terminate_leave_no_output(folder: Path) -> None:
    """A real process that is stopped while it evaluates exits with the status of its signal."""
    (folder / "endless.dl").write_text(
        ".decl n(x: number)\n.output n\nn(0).\nn(x + 1) :- n(x), x < 100000000.\n"
    )
    command = [sys.executable, "-c", _ANNOUNCED, "run", "endless.dl", "-D", "out"]
    statuses = []

    for stop in (signal.SIGINT, signal.SIGTERM):
        with started(command, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(stop)
            process.wait(timeout=60)
        statuses.append(process.returncode)

    assert statuses == [130, 143]
    assert not (folder / "out").exists()


# Says on stdout when the evaluation has begun, so that the signal does not come too early.
_ANNOUNCED = """
import tidelog.cli.run as run
from tidelog.cli.main import main
from tidelog.engine.recorder import SessionRecorder

class Announcing(SessionRecorder):
    def iteration_finished(self, *report):
        print("running", flush=True)

run.SessionRecorder = Announcing
main()
"""


def test_every_option_is_documented() -> None:
    """Every option of every command stands in docs/cli.md."""
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    source = Path(cli_app.__file__).read_text()

    options = set(re.findall(r'"(--?[a-zA-Z-]+)"', source)) - {"-", "-c", "--compile", "-h", "--help"}

    assert len(options) > 15
    assert [option for option in options if f"`{option}" not in page] == []
