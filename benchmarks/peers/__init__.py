"""The same rules on what a user would pick instead and pip can install."""

from importlib import import_module
from types import ModuleType
from typing import Final

PEERS: Final = ("duckdb", "nemo", "clingo", "logica")


def load_peer(name: str) -> ModuleType:
    """Return a peer's module, with `can_run(program)` and `run(program, facts, jobs)`.

    The library itself is imported by `run` alone. `run` evaluates and returns a function that counts
    the facts of every printed relation; what counting takes is not the peer's work.
    """
    return import_module(f"benchmarks.peers.with_{name}")
