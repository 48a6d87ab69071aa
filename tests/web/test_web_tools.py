"""The checks of the page: they run where Node is, and say why not elsewhere."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "tidelog" / "web" / "static"


def test_without_node_the_page_is_not_checked(tmp_path: Path) -> None:
    """The step ends well and says what to install."""
    for name in ("sh", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)

    done = subprocess.run(
        [ROOT / "bin" / "check-page"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout.startswith("skipped: no Node")) == (0, True)


@pytest.mark.timeout(300)
def test_the_page_is_sound() -> None:
    """Biome and TypeScript find nothing, where they are installed."""
    if shutil.which("node") is None or not (STATIC.parent / "node_modules" / ".bin" / "tsc").exists():
        pytest.skip("no TypeScript and Biome: npm install in src/tidelog/web")

    done = subprocess.run([ROOT / "bin" / "check-page"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def test_no_line_of_the_page_is_long() -> None:
    """Lines have at most 120 characters, and files at most 450 lines."""
    for path in sorted(STATIC.glob("*.*")):
        lines = path.read_text(encoding="utf-8").splitlines()
        too_long = [number for number, line in enumerate(lines, start=1) if len(line) > 120]
        assert (path.name, [] if path.suffix == ".svg" else too_long) == (path.name, [])
        assert len(lines) <= 450, path.name
