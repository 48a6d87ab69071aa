"""Where the facts of a workload are: in the data folder, unpacked from it, or generated."""

import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.measure import FIND_US, measure
from benchmarks.workload import WORKLOADS, Generated, Published, Workload


def default_cache() -> Path:
    """Return the folder for unpacked and generated facts; nothing in it is under version control."""
    return Path(os.environ.get("TIDELOG_BENCH_CACHE", Path(__file__).parent / "out" / "cache"))


def facts_folder(workload: Workload, data: Path | None, cache: Path) -> Path | None:
    """Return a folder with the workload's facts, or None if the data set is nowhere to be found.

    What had to be unpacked, renamed or generated stays in the cache for the next run.
    """
    match workload.facts:
        case Published(folder, rename):
            source = published_folder(folder, data, cache)
            if source is None or not rename:
                return source
            return _make_once(cache / "facts" / workload.name, lambda new: _link(source, new, rename))
        case Generated():
            return _make_once(cache / "facts" / workload.name, lambda new: _generate(workload.name, new))


def first_lines(facts: Path, cache: Path, workload: Workload, lines: int = 20) -> Path:
    """Return a folder with the first lines of every fact file: enough to compile what a run needs."""

    def copy(new: Path) -> None:
        for file in facts.glob("*.facts"):
            with file.open("rb") as whole, (new / file.name).open("wb") as part:
                part.writelines(line for line, _ in zip(whole, range(lines), strict=False))

    return _make_once(cache / "warm" / workload.name, copy)


def published_folder(folder: str, data: Path | None, cache: Path) -> Path | None:
    """Return the folder of a published data set, unpacked if need be; None if it is nowhere to be found."""
    if data is not None and (data / folder).is_dir():
        return (data / folder).resolve()
    if data is not None and (archive := data / f"{folder}.tar.xz").is_file():
        return _make_once(cache / "data" / folder, lambda new: _unpack(archive, folder, new))
    unpacked = cache / "data" / folder
    return unpacked if unpacked.is_dir() else None


def _unpack(archive: Path, folder: str, new: Path) -> None:
    with tarfile.open(archive) as members:
        members.extractall(new, filter="data")
    inner = new / folder
    if inner.is_dir():
        for file in inner.iterdir():
            file.rename(new / file.name)
        inner.rmdir()


def _link(source: Path, new: Path, rename: Mapping[str, str]) -> None:
    for published, wanted in rename.items():
        (new / wanted).symlink_to(source / published)


def _generate(name: str, new: Path) -> None:
    # In a process of its own: the runner must stay small, because a process that it starts is
    # charged with the runner's memory until its own program is loaded.
    command = [sys.executable, "-m", "benchmarks", "generate", name, str(new)]
    made = measure(command, timeout_seconds=3600, environment=FIND_US)
    if made.status != 0:
        raise RuntimeError(f"the generator of {name} failed:\n{made.errors}")


def generate(name: str, folder: Path) -> None:
    """Write the facts of a generated workload into the folder."""
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    if not isinstance(workload.facts, Generated):
        raise TypeError(f"{name} is published, not generated")
    folder.mkdir(parents=True, exist_ok=True)
    workload.facts.write(folder)


def _make_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder, filled beside its place first, so that an interrupted start leaves no half."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
        try:
            fill(new)
            new.rename(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return folder.resolve()
