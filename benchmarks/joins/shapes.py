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

    def rule(self, plan: str) -> str:
        """Return the rule that finds the pattern, joined as `plan` says."""
        body = ", ".join(f"e({arc[0]}, {arc[1]})" for arc in self.arcs)
        order = ", ".join(str(number) for number in range(1, len(self.arcs) + 1))
        return f"found({', '.join(self.vertices)}) :- {body}. {plan.format(order=order)}"


TRIANGLE = Shape("triangle", "xyz", ("xy", "yz", "zx"))
SQUARE = Shape("4-cycle", "xyzw", ("xy", "yz", "zw", "wx"))
CLIQUE = Shape("4-clique", "xyzw", ("xy", "xz", "yz", "xw", "yw", "zw"))
SHAPES = (TRIANGLE, SQUARE, CLIQUE)

# The arcs of a shape are in the best order for joins in pairs.
PLANS = {"leapfrog": ".plan leapfrog", "pairs": ".plan 0:({order})", "auto": ""}


@dataclass(frozen=True, slots=True)
class Found:
    """What a join found, and the CPU seconds it took."""

    facts: int
    seconds: float


def program_of(shape: Shape, how: str) -> Program:
    """Return the program of a shape, joined as `how` says."""
    columns = ", ".join(f"{name}: number" for name in shape.vertices)
    rule = shape.rule(PLANS[how])
    text = f".decl e(x: number, y: number)\n.input e\n.decl found({columns})\n{rule}\n"
    return build_program(parse(Source(f"{shape.name}.dl", text)))[0]


def join(shape: Shape, arcs: Arcs, how: str) -> Found:
    """Evaluate a shape on one thread; building indexes and tries and inserting what is found count."""
    program = program_of(shape, how)
    engine = LocalEngine(program, Codec(program.types), Settings(jobs=1), {})
    engine.insert("e", [np.ascontiguousarray(arcs[:, 0]), np.ascontiguousarray(arcs[:, 1])])
    start = time.process_time()
    engine.evaluate(SilentObserver())
    return Found(engine.size("found"), time.process_time() - start)
