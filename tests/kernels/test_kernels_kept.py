"""Kernels on disk: found again without the compiler, made again when anything they are made of changed."""

import fcntl
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.processes import started
from tidelog.kernels import IS_COMPILED

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="kernels are plain Python")

KERNEL = """
from typing import NamedTuple
import numpy as np
import beside
from beside import OTHER, PART, part
from tidelog.kernels import kernel

ONE, TWO = 1, 2

class Pair(NamedTuple):
    left: object
    right: object

@kernel
def total(numbers):
    found = 0
    for number in numbers:
        found += part(number) + PART + beside.OTHER
    return found

@kernel
def digits(numbers):
    return 10 * PART + OTHER + len(numbers) + ONE * TWO

@kernel
def split(numbers, place, is_reversed):
    if is_reversed:
        return numbers[place:], numbers[:place]
    return numbers[:place], numbers[place:]

@kernel
def of_pair(pair, factor):
    return (total(pair.left) + total(pair.right["number"])) * factor

@kernel
def refuse(numbers):
    if numbers[0] == 0:
        raise ValueError("the first is zero")
    return np.full(numbers[0], 7, np.int32)
"""
PART = """
from tidelog.kernels import inlined

PART = {constant}
OTHER = {other}

# {comment}
@inlined
def part(number):
    return {factor} * number
"""
# The module is loaded for what is not on disk; the compiler itself is loaded in other processes only.
IS_COMPILED_NOW = "'tidelog.kernels.compilers' in sys.modules"
IS_LOADED = "'numba' in sys.modules"
CALL = (
    f"import sys\nimport numpy as np\nfrom made import *\nprint(int(total(np.arange(4))), {IS_COMPILED_NOW})"
)


@pytest.fixture
def run(tmp_path: Path):
    """Return what Python prints that runs statements in a folder with kernels."""
    (tmp_path / "made.py").write_text(KERNEL, "utf-8")
    (tmp_path / "beside.py").write_text(PART.format(constant=0, factor=1, comment="", other=0), "utf-8")

    def call(statements: str = CALL, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", statements],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env=_environment(tmp_path) | environment,
        )
        return done.stdout.strip()

    return call


def _environment(folder: Path) -> dict[str, str]:
    path = os.pathsep.join([str(folder), *sys.path])
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(folder)}


def test_a_kernel_is_compiled_once(run):
    """The second process takes the code from disk; not even the first one loads the compiler."""
    call = CALL.replace("print(", f"print({IS_LOADED}, ")

    assert run(call) == "False 6 True"
    assert run(call) == "False 6 False"


def test_a_kernel_follows_what_it_is_made_of(run, tmp_path: Path):
    """With a part or a constant edited it is compiled anew; with a comment edited it is not."""

    def edited(constant: int, factor: int, comment: str, other: int = 0) -> str:
        text = PART.format(constant=constant, factor=factor, comment=comment, other=other)
        (tmp_path / "beside.py").write_text(text, "utf-8")
        return run()

    assert edited(0, 1, "") == "6 True"
    assert edited(0, 1, "said in other words") == "6 False"
    assert edited(0, 2, "") == "12 True"
    assert edited(1, 2, "") == "16 True"
    assert edited(1, 2, "") == "16 False"
    assert edited(1, 2, "", other=5) == "36 True"
    assert len(list(tmp_path.rglob("made.total.*.kernel"))) == 1


def test_constants_that_change_places_count(run, tmp_path: Path):
    """The same values with other names are another kernel, though other constants have them too."""
    call = CALL.replace("total(", "digits(")
    found = []
    for constant, other in ((1, 2), (2, 1), (2, 1)):
        text = PART.format(constant=constant, factor=1, comment="", other=other)
        (tmp_path / "beside.py").write_text(text, "utf-8")
        found.append(run(call))

    assert found == ["18 True", "27 True", "27 False"]


def test_a_damaged_file_is_made_again(run, tmp_path: Path):
    """Code that is cut off or changed is not run, and whole code takes its place."""
    run()
    (file,) = tmp_path.rglob("made.total.*.kernel")
    whole = file.read_bytes()

    for damaged in (b"", whole[:-1], whole[:100] + b"?" + whole[101:]):
        file.write_bytes(damaged)
        assert run() == "6 True"
        assert run() == "6 False"


def test_settings_of_the_compiler_count(run):
    """Code that was made with other settings of the compiler is not used, and not deleted either."""
    run()

    assert run(NUMBA_BOUNDSCHECK="1") == "6 True"
    assert run() == "6 False"


def test_without_a_folder_to_write_to(run, tmp_path: Path):
    """Where neither folder can be written kernels are compiled in every process."""
    (tmp_path / "__pycache__").write_text("a file", "utf-8")

    for _ in range(2):
        assert run(XDG_CACHE_HOME=str(tmp_path / "made.py")) == "6 True"


def test_a_folder_of_the_user(run, tmp_path: Path):
    """Code for an installation that cannot be written is in the user's folder for such things."""
    (tmp_path / "__pycache__").write_text("a file", "utf-8")

    assert run() == "6 True"
    assert run() == "6 False"
    assert list((tmp_path / "tidelog").glob("made.total.*.kernel"))


def test_plain_python(run):
    """With the compiler switched off kernels are the functions they were written as."""
    assert run(NUMBA_DISABLE_JIT="1") == "6 False"


@pytest.mark.parametrize("numbers", ["np.arange(8)[::2]", "np.arange(4.)"])
def test_other_arrays_take_other_code(run, numbers: str):
    """Strides, kind and writability are part of a type; calls with different ones can be mixed."""
    call = (
        "import sys\nimport numpy as np\nfrom made import *\n"
        f"other = {numbers}\nfrozen = np.arange(3); frozen.flags.writeable = False\n"
        "wide, narrow = np.arange(4), np.arange(4, dtype=np.int32)\n"
        "print([float(total(each)) for _ in range(2) for each in (wide, other, narrow, frozen)])\n"
    )
    expected = str([6.0, float(12 if "::2" in numbers else 6), 6.0, 3.0] * 2)

    assert run(call) == expected
    assert run(f"{call}print({IS_COMPILED_NOW})") == f"{expected}\nFalse"


def test_tuples_records_and_arrays_that_are_returned(run):
    """Named tuples, arrays of records, flags, NumPy's numbers; parts of arguments that are returned."""
    call = (
        "import sys\nimport numpy as np\nfrom made import *\n"
        "records = np.zeros(2, [('number', np.int64), ('flag', np.uint8)]); records['number'] = 5\n"
        "print(int(of_pair(Pair(np.arange(3), records), np.int64(2))), end=' ')\n"
        "print(int(of_pair(Pair(np.arange(3), records.copy()), 3)), end=' ')\n"
        "first, second = split(np.arange(5), 2, np.bool_(True))\n"
        "print(first.tolist(), second.tolist(), split(np.arange(2), 1, False)[0].tolist(), "
        f"refuse(np.array([2])).tolist(), {IS_COMPILED_NOW})\n"
    )

    for is_compiled in (True, False):
        assert run(call) == f"26 39 [2, 3, 4] [0, 1] [0] [7, 7] {is_compiled}"


def test_code_that_llvm_links(run, tmp_path: Path):
    """Where images cannot be made object files are kept, and LLVM links them without the compiler."""
    without = (
        "\nimport os\nif 'NO_IMAGES' in os.environ:\n    from tidelog.kernels import compile\n"
        "    def refuse_image(*_):\n        raise compile.UnfitError\n"
        "    compile.make_image = refuse_image\n"
    )
    (tmp_path / "made.py").write_text(KERNEL + without, "utf-8")
    call = CALL.replace("print(", "print(split(np.arange(3), 1, False)[1].tolist(), ")

    assert run(call, NO_IMAGES="1") == "[1, 2] 6 True"
    assert run(call) == "[1, 2] 6 False"


def test_integers_beyond_the_signed_ones(run):
    """An integer of 64 bits without a sign has a type of its own; smaller ones keep theirs."""
    call = (
        "import numpy as np\nfrom made import *\n"
        "pair = Pair(np.ones(1, np.uint64), np.zeros(1, [('number', np.uint64)]))\n"
        "print([int(of_pair(pair, factor)) % 2**64 for factor in (3, 2**63, 5, np.uint64(7), 2**63, 3)])\n"
    )

    for _ in range(2):
        assert run(call) == str([3, 2**63, 5, 7, 2**63, 3])


def test_what_a_kernel_raises(run):
    """An exception of a kernel, arguments that do not fit a machine word, too few arguments."""
    call = (
        "import numpy as np\nfrom made import *\n"
        "def tried(call, *arguments):\n"
        "    try:\n        call(*arguments)\n"
        "    except Exception as error:\n        print(type(error).__name__, end=' ')\n"
        "refuse(np.ones(1, np.int64)); split(np.arange(2), 1, False)\n"
        "tried(refuse, np.zeros(1, np.int64)); tried(refuse); tried(split, np.arange(2), 2**70, False)\n"
    )

    for _ in range(2):
        assert run(call) == "ValueError TypeError OverflowError"


def test_processes_that_compile_at_once_do_not_mix_their_code(run, tmp_path: Path):
    """Six processes compile one kernel for six types of arrays; afterwards each type is found on disk."""
    del run  # it made the folder with the kernels
    call = CALL.replace("np.arange(4)", "np.arange(4).astype('{}')")
    kinds = ["i1", "i2", "i4", "i8", "u4", "f8"]

    for expected in ("6 True", "6 False"):
        with ExitStack() as stack:
            commands = [[sys.executable, "-c", call.format(kind)] for kind in kinds]
            running = [
                stack.enter_context(started(command, tmp_path, stderr=None, env=_environment(tmp_path)))
                for command in commands
            ]
            assert [process.communicate()[0].strip() for process in running] == [expected] * len(kinds)


def test_one_process_at_a_time_compiles_a_kernel(run, tmp_path: Path):
    """A process that needs what another one is compiling waits for it, and writes no file of its own."""
    run()
    (file,) = tmp_path.rglob("made.total.*.kernel")
    whole = file.read_bytes()
    file.unlink()
    lock = file.with_name(f"{file.name}.lock")

    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with started([sys.executable, "-c", CALL], tmp_path, env=_environment(tmp_path)) as process:
            _wait_until_waited_for(held.fileno())
            file.write_bytes(whole)
            written = file.stat()
            fcntl.flock(held, fcntl.LOCK_UN)
            printed = process.communicate()[0].strip()

    assert printed == "6 True"
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def _wait_until_waited_for(locked: int) -> None:
    """Wait until another process waits for a locked file, where Linux tells."""
    waiting = f":{os.fstat(locked).st_ino} "
    while Path("/proc/locks").exists():
        lines = Path("/proc/locks").read_text("ascii").splitlines()
        if any("->" in line and waiting in line for line in lines):
            return
        time.sleep(0.01)


def test_a_source_that_was_edited_after_it_was_loaded(run):
    """A process with the old source of a kernel runs the old code; what is kept is that of the new source."""
    edited = PART.format(constant=1, factor=1, comment="", other=0)
    edit = f"import pathlib; pathlib.Path('beside.py').write_text({edited!r})\n"

    assert run(CALL.replace("print(", f"{edit}print(")) == "6 True"
    assert run() == "10 False"
