"""The engine `cuda` on this machine's processor, and on a GPU where there is one."""

import pytest

from support.host_device import COMPILER, HostDevice
from support.programs import Facts, Relations, build, insert, read
from tidelog.engine.cuda import CudaEngine
from tidelog.engine.cuda.cupy_device import open_device
from tidelog.engine.cuda.device import Device
from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.protocol import Settings, SilentObserver, UserFunctions
from tidelog.errors import TidelogError
from tidelog.program.nodes import Program
from tidelog.values import Codec

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler for the kernels")


def gpu() -> Device | None:
    """Return the GPU of this machine, if there is one that CuPy can use."""
    try:
        return open_device()
    except TidelogError:
        return None


def run_kernels(
    program: Program | str,
    inputs: Facts | None = None,
    *,
    device: Device | None = None,
    settings: Settings | None = None,
    functions: UserFunctions | None = None,
) -> tuple[Relations, CudaEngine]:
    """Return every relation of a program after evaluation, and the engine."""
    built = build(program) if isinstance(program, str) else program
    codec = Codec(built.types)
    chosen = HostDevice() if device is None else device
    known = with_tables(built, functions or {})
    engine = CudaEngine(built, codec, settings or Settings(jobs=1), known, chosen)
    for relation, facts in (inputs or {}).items():
        insert(engine, built.relations[relation], codec, facts)
    engine.evaluate(SilentObserver())
    return {name: read(engine, relation, codec) for name, relation in built.relations.items()}, engine


def places(engine: CudaEngine) -> dict[str, str]:
    """Return where the strata with rules ran, by their relations."""
    return {
        ", ".join(placement.relations): placement.where
        for placement in engine.placements
        if placement.reason != "no rule derives anything"
    }
