"""Kernels that begin as plain Python and are compiled when there is more to do."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import numpy as np
from tidelog.values.kernel import inlined, kernel, load_compiler

@inlined
def twice(number):
    return number + number

@kernel
def total(numbers):
    result = np.uint8(0)
    for number in numbers:
        result = np.uint8(result + twice(number))
    return result

@kernel
def total_of_two(left, right, out):
    out[0] = total(left)
    return total(left) + total(right), left[0]

def loaded():
    return "numba" in sys.modules

small = np.full(3, 100, np.uint8)
large = np.full(10_000, 1, np.uint8)
room = np.empty(100_000, np.uint8)
"""


@pytest.fixture
def run(tmp_path):
    """Return what Python prints that runs statements after the kernels were defined."""

    def call(statements: str) -> str:
        file = tmp_path / "kernels.py"
        file.write_text(f"{PROGRAM}\n{statements}\n")
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
        done = subprocess.run(
            [sys.executable, file], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.strip()

    return call


def test_small_work_does_not_load_the_compiler(run):
    """Few elements are worked on in plain Python, with the same numbers and Python's types."""
    shown = run("print(total(small), total_of_two(small, small, room), type(total(small)), loaded())")

    assert shown == "88 (176, 100) <class 'int'> False"


def test_large_work_loads_the_compiler(run):
    """Many elements load the compiler; what was plain before gives the same afterwards."""
    shown = run("print(total(small), loaded(), total(large), loaded(), total_of_two(small, large, room))")

    assert shown == "88 False 32 True (120, 100)"


def test_small_work_that_lasts_loads_the_compiler(run):
    """Many calls on few elements load the compiler, too."""
    shown = run("while not loaded():\n    total(small)\nprint(total(small))")

    assert shown == "88"


def test_parts_defined_later_are_compiled_too(run):
    """A kernel may call parts that came after the compiler was loaded."""
    shown = run(
        "load_compiler()\n"
        "@inlined\n"
        "def thrice(number):\n    return 3 * number\n"
        "@kernel\n"
        "def first(numbers):\n    return thrice(twice(numbers[0]))\n"
        "print(loaded(), first(small))"
    )

    assert shown == "True 600"
