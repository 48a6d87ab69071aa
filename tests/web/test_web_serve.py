"""`tidelog serve` as it is started, and what the set-up does for the explorer's tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import tidelog
from benchmarks import explorer
from support.processes import started
from support.web_serving import serving
from tidelog.cli.main import main
from tidelog.cli.sessions import SessionOptions, open_target

ROOT = Path(__file__).parents[2]
PROGRAM = ".decl edge(x: number, y: number)\n.input edge\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a program, its facts and a store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    with tidelog.open(PROGRAM, store=tmp_path / "state") as db:
        db.apply(insert=["edge(7, 8)"])
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "facts"), [(("p.dl", "--facts", "."), 2), (("state",), 1)], ids=["program", "store"]
)
def test_serve_prints_its_address_and_stops(folder: Path, arguments: tuple[str, ...], facts: int) -> None:
    """A program with its facts, or a store, is served on a free port until Ctrl-C, which is no failure."""
    command = [sys.executable, "-m", "tidelog", "serve", *arguments, "--port", "0"]

    with started(command, folder) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = line.split()[0]
        with urlopen(f"{address}api/session") as reply:  # noqa: S310 - the address is ours
            about = json.load(reply)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert address.startswith("http://127.0.0.1:")
    assert "1 relation, read-only" in line
    assert about["relations"][0]["size"] == facts
    assert (process.returncode, out, err) == (0, "", "stopped\n")


def test_a_store_that_is_only_read_can_be_written_to(folder: Path) -> None:
    """Serving a store without `--write` takes no lock, and asks it about blame all the same."""
    options = SessionOptions(folder / "state", is_read_only=True)
    with open_target(options) as reader, tidelog.open(store=folder / "state") as writer:
        writer.apply(insert=["edge(8, 9)"])
        with serving(reader) as client:
            page = client.get("/api/facts/edge").json
            blame = client.post("/api/blame", {"unwanted": ["edge(7, 8)"]}).json

    assert [row["values"] for row in page["rows"]] == [["7", "8"]]
    assert [each["text"] for each in blame["changes"]] == ["+edge(7, 8)"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("p.dl", "--host", "0.0.0.0"), "token-required"),  # noqa: S104 - refused
        (("p.dl", "--token", "short"), "weak-token"),
        (("gone.dl",), "unreadable-program"),
        (("p.dl", "--host", "no.such.host.invalid", "--token", "long enough for a token"), "cannot-listen"),
    ],
)
def test_serve_tells_mistakes(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    code: str,
) -> None:
    """What cannot be served is a diagnostic and status 1."""
    monkeypatch.setattr(sys, "argv", ["tidelog", "serve", *arguments])

    with pytest.raises(SystemExit) as end:
        main()

    assert end.value.code == 1
    assert f"error[{code}]" in capsys.readouterr().err
    assert folder.exists()


def test_serve_without_its_packages_says_what_to_install(folder: Path) -> None:
    """Without Starlette there is a diagnostic that names the extra."""
    script = (
        "import sys; sys.modules['starlette'] = None\n"
        "sys.argv = ['tidelog', 'serve', 'p.dl']\n"
        "from tidelog.cli.main import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "error[missing-package]" in done.stderr
    assert "tidelog[web]" in done.stderr


def test_all_files_of_the_page_are_packaged() -> None:
    """Every static file is matched by the package's data, and every import of a script is there."""
    static = ROOT / "src" / "tidelog" / "web" / "static"
    assert '"web/static/*"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    for file in static.iterdir():
        assert file.is_file()
        text = file.read_text(encoding="utf-8")
        assert "innerHTML" not in text
        assert "http://" not in text.replace("http://www.w3.org/", "")
        assert "https://" not in text
        for line in text.splitlines():
            if file.suffix == ".js" and line.startswith("import "):
                assert (static / line.split('"./')[1].rstrip('";')).exists(), line


# --- the set-up -------------------------------------------------------------------------------------


@pytest.fixture
def house(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder with the set-up script, and a PATH without Java, browser or Python."""
    house, tools = tmp_path / "house", tmp_path / "tools"
    (house / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "bin" / "set-up", house / "bin")
    shutil.copy(ROOT / "pyproject.toml", house)
    tools.mkdir()
    for tool in ("sh", "dirname", "cksum", "cat", "grep", "tail", "mkdir", "sleep"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    return house, tools


def program(path: Path, text: str) -> None:
    """Write an executable script."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def set_up(house: tuple[Path, Path]) -> str:
    """Return what `bin/set-up dev` says; the environment it then finds is a pretended one."""
    folder, tools = house
    program(tools / "python3", "mkdir -p .venv/bin; exit 0")
    done = subprocess.run(
        [folder / "bin" / "set-up", "dev"],
        env={"PATH": str(tools), "POSTGRES_DRIVER": str(tools / "postgresql.jar")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_set_up_installs_what_is_missing_as_root(house: tuple[Path, Path]) -> None:
    """As root with apt-get, what is missing is installed; what failed is not tried every time."""
    folder, tools = house
    program(tools / "id", "echo 0")
    program(tools / "apt-get", f'echo "$@" >>{folder}/asked; exit 1')

    first = set_up(house)
    set_up(house)

    packages = "default-jre-headless chromium chromium-driver postgresql libpostgresql-jdbc-java"
    assert f"installing {packages}" in first
    assert (folder / "asked").read_text().splitlines() == ["update"]
    (folder / "build" / "system-packages.failed").unlink()
    program(tools / "apt-get", f'echo "$@" >>{folder}/asked')
    set_up(house)
    last = (folder / "asked").read_text().splitlines()[-1]
    assert last == f"install --yes --no-install-recommends {packages}"


def test_set_up_leaves_others_systems_alone(house: tuple[Path, Path]) -> None:
    """Who is not root, or has all that is needed, is not asked for anything."""
    folder, tools = house
    program(tools / "id", "echo 1000")
    program(tools / "apt-get", f"echo called >{folder}/asked")
    set_up(house)
    program(tools / "id", "echo 0")
    program(tools / "java", "echo 'openjdk version \"17.0.1\" 2021-10-19' >&2")
    for name in ("chromium", "chromedriver", "initdb", "postgresql.jar"):
        program(tools / name, "exit 0")
    set_up(house)

    assert not (folder / "asked").exists()


def test_set_up_wants_a_java_that_is_new_enough(house: tuple[Path, Path]) -> None:
    """Java 8 calls itself 1.8, and is too old."""
    folder, tools = house
    program(tools / "id", "echo 0")
    program(tools / "apt-get", f'echo "$@" >>{folder}/asked')
    program(tools / "java", "echo 'java version \"1.8.0_292\"' >&2")
    for name in ("chromium", "chromedriver", "initdb", "postgresql.jar"):
        program(tools / name, "exit 0")

    set_up(house)

    last = (folder / "asked").read_text().splitlines()[-1]
    assert last.endswith("--no-install-recommends default-jre-headless")
    assert os.access(folder / "bin" / "set-up", os.X_OK)


def test_the_benchmark_measures(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m benchmarks.explorer` prints a line for every question."""
    assert explorer.main(["--facts", "3000"]) == 0

    out = capsys.readouterr().out
    assert "| sorted by texts, downwards |" in out
    assert "3,000 facts" in out
