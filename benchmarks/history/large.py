"""`python -m benchmarks large`: a large code base analysed once, reopened and edited.

python -m benchmarks large --lines 1000000 --folder FOLDER
"""

import argparse
import gc
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.history.edits import edit_statement

if TYPE_CHECKING:
    from tidelog.trees import Forest

_WARM = 10


def add_large_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--lines", type=int, default=1_000_000, help="size of the code base")
    parser.add_argument("--edits", type=int, default=100, help="how many single statements to edit")
    parser.add_argument("--program", default="review.dl", help="of examples/analyses")
    parser.add_argument("--folder", type=Path, required=True, help="where the analysis is kept")
    parser.add_argument("--part", choices=("make", "reopen"), help="one of the two processes alone")


def run_large(options: argparse.Namespace) -> int:
    """Measure in two processes, of which the first makes the analysis and the second reopens it."""
    if options.part is not None:
        for line in (_make if options.part == "make" else _reopen)(options):
            print(line, flush=True)
        return 0
    for part in ("make", "reopen"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks", *sys.argv[1:], "--part", part], check=False
        )
        if done.returncode:
            return done.returncode
    return 0


def _make(options: argparse.Namespace) -> Iterator[str]:
    from benchmarks.history.live import ANALYSES, functions_of  # noqa: PLC0415 - as above
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - it brings NumPy
    from tidelog.analysis import start_saved  # noqa: PLC0415 - as above
    from tidelog.trees import Forest  # noqa: PLC0415 - as above

    shutil.rmtree(options.folder, ignore_errors=True)
    texts = read_files(options.lines)
    watch = _Watch()
    forest = Forest.of("python").update(dict(texts)).forest
    yield f"read {_lines(forest):,} lines in {len(forest.files):,} files, {len(forest):,} nodes: {watch}"
    watch = _Watch()
    functions = functions_of(options.program)
    follow = start_saved(
        ANALYSES / options.program, forest, options.folder, facts=ANALYSES, functions=functions
    )
    yield f"{options.program} analysed and saved: {watch}"
    follow.close()
    _beside(options.folder).write_text(f"{_lines(forest)} {len(forest)}")


def _beside(folder: Path) -> Path:
    """Return the file with the numbers of lines and nodes: counting them again would make all trees."""
    return folder.with_name(folder.name + ".size")


def _reopen(options: argparse.Namespace) -> Iterator[str]:
    from benchmarks.history.live import functions_of  # noqa: PLC0415 - it brings NumPy
    from tidelog.analysis import reopen_follow  # noqa: PLC0415 - as above

    # Edits go to a copy, so that the analysis can be reopened again.
    copy = options.folder.with_name(options.folder.name + ".edited")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(options.folder, copy)
    watch = _Watch()
    follow = reopen_follow(copy, functions=functions_of(options.program))
    follow.db.leave_store()
    yield f"reopened: {watch}"
    gc.collect()
    gc.freeze()
    lines, nodes = map(int, _beside(options.folder).read_text().split())
    yield f"memory after reopening: {_memory(lines, nodes)}"
    chance, paths = random.Random(3), sorted(follow.forest.files)  # noqa: S311 - not for secrets
    seconds: list[float] = []
    while len(seconds) < options.edits + _WARM:
        path = chance.choice(paths)
        text = edit_statement(_text(follow.forest, path), chance)
        if text is not None:
            begun = time.process_time()
            follow.update({path: text})
            seconds.append(time.process_time() - begun)
    first, counted = sum(seconds[:_WARM]), sorted(seconds[_WARM:])
    yield (
        f"{options.edits} edits, CPU ms: median {1000 * counted[len(counted) // 2]:.1f},"
        f" 99 % {1000 * counted[len(counted) * 99 // 100]:.1f}; the first {_WARM} together {first:.1f} s"
    )
    yield f"memory after edits: {_memory(lines, nodes)}"
    follow.close()
    shutil.rmtree(copy, ignore_errors=True)


class _Watch:
    """CPU seconds, those of processes that ended included, and the time since it was made."""

    def __init__(self) -> None:
        self._cpu, self._wall = _cpu_seconds(), time.perf_counter()

    def __str__(self) -> str:
        cpu, wall = _cpu_seconds() - self._cpu, time.perf_counter() - self._wall
        return f"{cpu:.1f} CPU s, {wall:.1f} s"


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _memory(lines: int, nodes: int) -> str:
    """Return the resident memory in words, and how much of it the process has written or allocated.

    The rest are pages of files, such as the image of the analysis, which the system can drop at any time.
    """
    import psutil  # noqa: PLC0415 - only here

    resident = int(psutil.Process().memory_info().rss)
    spoken = f"{resident / lines / 1024:.2f} KiB a line, {resident >> 20:,} MiB"
    try:
        rollup = Path("/proc/self/smaps_rollup").read_text()
    except OSError:
        return spoken
    own = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Anonymous:"))
    per_node = f"{1024 * own / nodes:,.0f} bytes a node"
    return f"{spoken}; without pages of files {own / lines:.2f} KiB a line, {per_node}, {own >> 10:,} MiB"


def _lines(forest: "Forest") -> int:
    return sum(_text(forest, path).count("\n") for path in forest.files)


def _text(forest: "Forest", path: str) -> str:
    places = forest.files[path].places
    assert places is not None, "source has places"
    return str(places.source.text)
