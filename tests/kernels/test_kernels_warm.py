"""Kernels compiled before they are called."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tidelog.kernels import IS_COMPILED, warm
from tidelog.kernels.compilers import common_kernels
from tidelog.kernels.samples import samples_of
from tidelog.kernels.signature import signature_of

KERNEL = """
from tidelog.kernels import kernel

@kernel
def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found
"""


class Pair(NamedTuple):
    """Two arrays."""

    left: object
    right: object


RECORDS = np.dtype([("number", np.int64), ("flag", np.uint8)])
FROZEN = np.zeros(3, np.uint8)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1, True, 2.5, np.uint8(3), np.int32(4)),
        (np.zeros(3), np.zeros((2, 3), np.int32), np.zeros((2, 3, 4))),
        (np.zeros((4, 4))[::2, ::2], np.zeros(8)[::2], np.asfortranarray(np.zeros((2, 3))), FROZEN),
        (Pair(np.zeros(2, RECORDS), np.zeros(2, np.dtype(RECORDS, align=True))), 1),
        (Pair(np.zeros(2, np.uint64), (np.zeros(1), 2)),),
    ],
    ids=["nothing", "numbers", "arrays", "layouts", "records", "tuples"],
)
def test_samples_have_the_types_that_a_signature_names(arguments):
    """Arguments made from the name of some types have these types."""
    signature = signature_of(arguments)

    assert signature_of(samples_of(signature)) == signature


def _run(folder: Path, code: str, **environment: str) -> list[str]:
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")
def test_what_was_compiled_beforehand_needs_no_compiler(tmp_path: Path):
    """Kernels are named by a run in plain Python and compiled in other processes; then a call finds them."""
    (tmp_path / "made.py").write_text(KERNEL, "utf-8")
    call = "import numpy as np; from made import total; total(np.arange(3)); total(np.arange(3.0)); "
    names = "from tidelog.kernels.decorators import plain_calls; print(*plain_calls(), sep='\\n')"

    wanted = _run(tmp_path, call + names, NUMBA_DISABLE_JIT="1")
    (tmp_path / "compile.py").write_text(
        "from tidelog.kernels.warm import compile_kernels, missing_kernels\n"
        f"if __name__ == '__main__':\n    wanted = {wanted}\n"
        "    done = sorted(compile_kernels(missing_kernels(wanted), 2))\n"
        "    print(*done, missing_kernels(wanted), sep='\\n')\n",
        "utf-8",
    )
    compiled = _run(tmp_path, "import runpy; runpy.run_path('compile.py', run_name='__main__')")
    loaded = _run(tmp_path, call + "import sys; print('numba' in sys.modules)")

    assert wanted == ["made:total <i8:1C", "made:total <f8:1C"]
    assert compiled == [*sorted(wanted), "[]"]
    assert loaded == ["False"]


COMMON = Path(warm.__file__).with_name("common.txt")


def test_the_list_of_common_kernels(tmp_path: Path):
    """It has the kernels that samples of programs call, for codes of 32 and of 64 bits."""
    samples = Path(__file__).with_name("kernel_samples.py")

    named = _run(
        tmp_path,
        f"import runpy; runpy.run_path({str(samples)!r}, run_name='__main__')",
        NUMBA_DISABLE_JIT="1",
    )
    if os.environ.get("UPDATE_GOLDEN"):
        COMMON.write_text("\n".join(named) + "\n", "utf-8")

    assert common_kernels() == named, "`make update-golden` writes the list anew"
    assert [line for line in named if signature_of(samples_of(line.partition(" ")[2])) not in line] == []
    inserting = [line for line in named if line.startswith("tidelog.storage.membership:insert_rows ")]
    assert {"<i4:2C" in line for line in inserting} == {True, False}


@pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")
def test_a_list_that_is_out_of_date(tmp_path: Path):
    """Names of kernels that are gone, or take other arguments now, keep no other from being compiled."""
    (tmp_path / "made.py").write_text(KERNEL, "utf-8")
    wanted = ["made:gone <i8:1C", "nowhere:total <i8:1C", "made:total <i8:1C <i8:1C", "made:total <i8:1C"]
    code = f"from tidelog.kernels.warm import *; print(*compile_kernels(missing_kernels({wanted}), 1))"

    assert _run(tmp_path, code) == ["made:total <i8:1C"]
