"""A kernel kept on disk is compiled again when anything it is made of was edited."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from processes import started
from tidelog.values.kernel import IS_COMPILED

KERNEL = """
from beside import PART, part
from tidelog.storage.kernel import kernel

@kernel
def total(numbers):
    found = 0
    for number in numbers:
        found += part(number) + PART
    return found
"""
PART = """
from tidelog.storage.kernel import inlined

PART = {constant}

@inlined
def part(number):
    return {factor} * number
"""
CALL = """
import numpy as np
from made import total
print(total(np.arange(4)), sum(total.stats.cache_hits.values()))
"""


@pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")
def test_a_kernel_follows_what_it_is_made_of(tmp_path: Path):
    """The second process takes it from disk; with a part or a constant edited it is compiled anew."""
    (tmp_path / "made.py").write_text(KERNEL, "utf-8")

    def run(constant: int, factor: int) -> str:
        beside = tmp_path / "beside.py"
        text = PART.format(constant=constant, factor=factor)
        if not beside.exists() or beside.read_text("utf-8") != text:
            beside.write_text(text, "utf-8")
            os.utime(beside, ns=(1, constant * 1_000 + factor))
        done = subprocess.run(
            [sys.executable, "-c", CALL],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        return done.stdout.strip()

    assert run(0, 1) == "6 0"
    assert run(0, 1) == "6 1"
    assert run(0, 2) == "12 0"
    assert run(1, 2) == "16 0"


@pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")
def test_processes_that_compile_at_once_do_not_mix_their_code(tmp_path: Path):
    """Six processes compile one kernel for six types of arrays; afterwards each type is found on disk."""
    (tmp_path / "made.py").write_text(KERNEL, "utf-8")
    (tmp_path / "beside.py").write_text(PART.format(constant=0, factor=1), "utf-8")
    call = "import numpy as np; from made import total; print(int(total(np.arange(4).astype('{}'))), {})"
    hits = "sum(total.stats.cache_hits.values())"
    kinds = ["i1", "i2", "i4", "i8", "u4", "f8"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    for expected in ("6 0", "6 1"):
        with ExitStack() as stack:
            commands = [[sys.executable, "-c", call.format(kind, hits)] for kind in kinds]
            running = [
                stack.enter_context(started(command, tmp_path, stderr=None, env=environment))
                for command in commands
            ]
            assert [process.communicate()[0].strip() for process in running] == [expected] * len(kinds)
