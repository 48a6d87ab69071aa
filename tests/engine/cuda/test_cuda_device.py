"""The engine `cuda` on a GPU; skipped where there is none.

The programs are those that run on this machine's processor elsewhere: what is tested is the compiler, the
memory and the thousands of threads of a GPU. TIDELOG_GPU_EXAMPLES says how many random programs are run.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from support.cuda_engine import gpu, run_kernels
from support.programs import build, outcome_of, read_inputs, run_program
from support.strategies import dense_programs, programs
from tidelog.engine.protocol import Settings
from tidelog.errors import TidelogError

CASES = Path(__file__).parents[2] / "conformance" / "cases"
GPU = gpu()
EXAMPLES = int(os.environ.get("TIDELOG_GPU_EXAMPLES", "100"))
ANY_SPEED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

pytestmark = pytest.mark.skipif(GPU is None, reason="there is no GPU, or CuPy is not installed")


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.dl")))
def test_conformance_case_on_a_gpu(name, case_functions):
    """A conformance case has the relations of the reference engine."""
    program = build((CASES / f"{name}.dl").read_text(encoding="utf-8"), f"{name}.dl")
    inputs = read_inputs(program, CASES / f"{name}.facts")

    found, _ = run_kernels(program, inputs, device=GPU, functions=case_functions)

    assert found == run_program(program, inputs=inputs, functions=case_functions)


@ANY_SPEED
@given(dense_programs() | programs())
def test_random_programs_on_a_gpu(program):
    """Random programs derive on a GPU what they derive on the local engine."""
    try:
        limits = Settings(jobs=1, iteration_limit=200)
        found: object = run_kernels(program.text, program.inputs, device=GPU, settings=limits)[0]
    except TidelogError as error:
        found = [diagnostic.code for diagnostic in error.diagnostics]

    assert found == outcome_of(program)
