"""Processes that tests start and talk to."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE


@contextmanager
def started(
    command: Sequence[str], folder: Path | None = None, **options: object
) -> Iterator[subprocess.Popen[str]]:
    """Run a process while the block lasts, with pipes for its input and output; afterwards it is gone.

    `Popen` alone would wait for a process that a failed test left waiting.
    """
    pipes = {"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **options}
    process = subprocess.Popen(command, cwd=folder, text=True, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
