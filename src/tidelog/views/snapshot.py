"""What is known after an epoch: the program, its facts, and how to read their codes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Engine, FactReader
from tidelog.program.nodes import Program
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An evaluated program, to be read only, until the session goes on to the next epoch.

    `make_engine` gives an engine of the same sort for another program over the same values.
    `lock` is held by whoever reads the engine while another thread may apply changes.
    """

    program: Program
    codec: Codec
    engine: FactReader
    make_engine: Callable[[Program], Engine]
    epoch: int = 0
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
