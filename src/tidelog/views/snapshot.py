"""What is known after an evaluation: the program, its facts, and how to read their codes."""

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.engine.protocol import Engine
from tidelog.program.nodes import Program
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An evaluated program, to be read only.

    `make_engine` gives an engine of the same sort for another program over the same values.
    """

    program: Program
    codec: Codec
    engine: Engine
    make_engine: Callable[[Program], Engine]
