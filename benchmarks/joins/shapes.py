"""Cyclic bodies over one relation of arcs, evaluated by Tidelog."""

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.joins.graphs import Arcs
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern of arcs between named vertices."""

    name: str
    vertices: str
    arcs: tuple[str, ...]

    @property
    def rule(self) -> str:
        """Return the rule that finds the pattern."""
        body = ", ".join(f"e({arc[0]}, {arc[1]})" for arc in self.arcs)
        return f"found({', '.join(self.vertices)}) :- {body}."


TRIANGLE = Shape("triangle", "xyz", ("xy", "yz", "zx"))
SQUARE = Shape("4-cycle", "xyzw", ("xy", "yz", "zw", "wx"))
CLIQUE = Shape("4-clique", "xyzw", ("xy", "xz", "xw", "yz", "yw", "zw"))
SHAPES = (TRIANGLE, SQUARE, CLIQUE)

PRAGMAS = {
    "leapfrog": '.pragma "leapfrog" "*"',
    "pairs": '.pragma "leapfrog-exclude" "*"',
    "auto": "",
}


@dataclass(frozen=True, slots=True)
class Found:
    """What a join found, and the CPU seconds it took."""

    facts: int
    seconds: float


def program_of(shape: Shape, how: str) -> Program:
    """Return the program of a shape, joined as `how` says."""
    columns = ", ".join(f"{name}: number" for name in shape.vertices)
    text = f"{PRAGMAS[how]}\n.decl e(x: number, y: number)\n.input e\n.decl found({columns})\n{shape.rule}\n"
    return build_program(parse(Source(f"{shape.name}.dl", text)))[0]


def join(shape: Shape, arcs: Arcs, how: str) -> Found:
    """Evaluate a shape on one thread; building indexes and tries and inserting what is found count."""
    program = program_of(shape, how)
    engine = LocalEngine(program, Codec(program.types), Settings(jobs=1), {})
    engine.insert("e", [np.ascontiguousarray(arcs[:, 0]), np.ascontiguousarray(arcs[:, 1])])
    start = time.process_time()
    engine.evaluate(SilentObserver())
    return Found(engine.size("found"), time.process_time() - start)
