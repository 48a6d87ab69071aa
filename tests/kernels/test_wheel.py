"""The sdist and the wheel: the wheel is built from the sdist and used where the repository is not."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from support.doc_pages import blocks_of
from tidelog import __version__
from tidelog.kernels import IS_COMPILED
from tidelog.kernels.compilers import common_kernels
from tidelog.kernels.target import target

ROOT = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "src")
CALL = """
import numpy as np
from tidelog.storage.slots import grow_slots
grow_slots(*np.zeros((2, 4), np.uint32), np.zeros((1, 1), np.int32), np.zeros(1, np.int32))
"""
README = blocks_of((ROOT / "README.md").read_text("utf-8"))

pytestmark = [
    pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python"),
    pytest.mark.skipif(not target().name, reason="wheels are built on processors that most have"),
    pytest.mark.timeout(900),
    # Building compiles what is missing, on all cores: once is enough.
    pytest.mark.xdist_group("wheel"),
]


def _build(kind: str, source: Path, dist: Path, cache: Path) -> Path:
    """Return the sdist or wheel of a folder with source."""
    code = f"import sys; from setuptools import build_meta; print(build_meta.build_{kind}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, dist],
        cwd=source,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dist / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an sdist of the files as they are now."""
    folder = tmp_path_factory.mktemp("sdist")
    unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for part in PARTS:
        copy = shutil.copy if (ROOT / part).is_file() else lambda *at: shutil.copytree(*at, ignore=unwanted)
        copy(ROOT / part, folder / part)
    return _build("sdist", folder, folder / "dist", folder)


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel built from the sdist, with the kernels that are compiled already."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder, filter="data")
    cache = folder / "cache" / "tidelog"
    cache.mkdir(parents=True)
    for file in (ROOT / "src").rglob("*.kernel"):
        shutil.copy(file, cache)
    return _build("wheel", folder / f"tidelog-{__version__}", folder, cache.parent)


def _outside() -> dict[str, str]:
    """Return an environment in which Python does not find the repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel and what it needs, and without the repository."""
    folder = tmp_path_factory.mktemp("fresh")
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True, env=_outside())
    # Files of this kind in the other folder are not read: one of them leads to the repository.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", "utf-8")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "call.py").write_text(CALL, "utf-8")
    return folder


def _run(fresh: Path, command: str) -> str:
    """Return what a command prints in the fresh environment."""
    environment = _outside() | {
        "PATH": f"{fresh / 'bin'}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(fresh / "cache"),
    }
    done = subprocess.run(
        ["sh", "-c", command], cwd=fresh, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _compiled(fresh: Path) -> list[Path]:
    """Return the code that did not come with the wheel."""
    return [file for file in fresh.rglob("*.kernel") if file.parent.name != "objects"]


def test_the_sdist_has_what_a_build_needs(sdist: Path):
    """Source, licence, changelog and the build itself, and no machine code."""
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}

    assert {*PARTS[:-1], "src/tidelog/py.typed", "src/tidelog/kernels/common.txt"} <= names
    assert [name for name in names if name.endswith((".kernel", ".pyc"))] == []


def test_the_wheel_says_what_it_is_for(wheel: Path):
    """It is for this Python and platform, typed, licensed, and has the code of every common kernel."""
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        metadata = Parser().parsestr(packed.read(f"tidelog-{__version__}.dist-info/METADATA").decode())

    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name == f"tidelog-{__version__}-{python}-{python}{sys.abiflags}-{platform}.whl"
    assert len([name for name in names if name.startswith("tidelog/kernels/objects/")]) == len(
        common_kernels()
    )
    assert {"tidelog/py.typed", f"tidelog-{__version__}.dist-info/licenses/LICENSE"} <= set(names)
    assert {"tidelog/include/tidelog.h", "tidelog/include/souffle/SouffleFunctor.h"} <= set(names)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in metadata.get_all("Classifier")


def test_the_command_line_of_a_fresh_install_compiles_nothing(fresh: Path):
    """The first example of the README gives what it says, from code that the wheel brought."""
    block = next(block for block in README if block.language == "console")
    command, printed, expected = block.text.split("\n", 2)

    _run(fresh, command.removeprefix("$ "))

    assert _run(fresh, printed.removeprefix("$ ")) == expected
    assert _compiled(fresh) == []


def test_python_in_a_fresh_install_compiles_nothing(fresh: Path):
    """The examples in Python, with changes, proofs and a repair, do not even load the compiler."""
    examples = [block.text for block in README if block.language == "python"]
    last = (
        ">>> import sys\n>>> 'numba' in sys.modules, tidelog.__file__.startswith(sys.prefix)\n(False, True)\n"
    )
    (fresh / "readme.txt").write_text("\n".join([*examples, last]), "utf-8")

    _run(fresh, "python -m doctest readme.txt")

    assert _compiled(fresh) == []


def test_what_does_not_fit_is_compiled(fresh: Path):
    """Code for other settings of the compiler is made and kept; what the wheel brought stays as it is."""
    shipped = sorted(fresh.rglob("objects/*.kernel"))
    _run(fresh, "NUMBA_BOUNDSCHECK=1 python call.py")

    (compiled,) = _compiled(fresh)
    assert compiled.name.startswith("slots.grow_slots.")
    assert sorted(fresh.rglob("objects/*.kernel")) == shipped


def test_the_other_common_kernels_follow_in_the_background(fresh: Path, tmp_path: Path):
    """A process that needs one missing kernel waits for that; others are compiled as long as it lives."""
    missing = [*fresh.rglob("objects/slots.grow_slots.*"), *fresh.rglob("objects/pairs.mark_pairs.*")]
    for file in missing:
        file.rename(tmp_path / file.name)
    (fresh / "wait.py").write_text(
        "import sys, time\nfrom pathlib import Path\nimport call\n"
        "while not all(any(Path().rglob(name)) for name in sys.argv[1:]):\n    time.sleep(0.1)\n",
        "utf-8",
    )

    _run(fresh, " ".join(["python wait.py", *(file.name for file in missing)]))

    assert len(missing) == 4
    assert {file.name for file in missing} <= {file.name for file in _compiled(fresh)}
