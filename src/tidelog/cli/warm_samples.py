"""Small programs that call the kernels which programs commonly need, to learn which to compile.

Run as plain Python this takes seconds and no compiler:

    NUMBA_DISABLE_JIT=1 python -m tidelog.cli.warm_samples

prints a line for each kernel and the types of its arguments.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import tidelog
from tidelog.kernels.decorators import plain_calls
from tidelog.session.once import evaluate_once
from tidelog.session.prepare import Request, prepare
from tidelog.session.recorder import Recorder
from tidelog.session.write import write_outputs
from tidelog.source import Source
from tidelog.trees.tree import Tree

_GRAPH: Final = """
.decl edge(x: number, y: number)
.decl cost(x: number, y: number, c: number)
.input edge
.input cost
.decl path(x: number, y: number)
.output path
.decl any()
.decl two(x: number, y: number, z: number)
.decl alike(x: number, y: number)
.decl far(x: number, y: number)
.decl round(x: number, y: number)
.decl degree(x: number, n: number)
.decl best(x: number, least: number, most: number, total: number, average: float)
.decl together(x: number, y: number) eqrel
.decl one(x: number, y: number) choice-domain x
.decl cheap(x: number, c: number)
any() :- edge(_, _).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
two(x, y, z) :- edge(x, y), edge(y, z), x != z, x < z + 1.
alike(x, y) :- edge(z, x), edge(z, y), !edge(x, y).
alike(x, y) :- alike(y, x), cost(x, y, _).
far(x, y) :- path(x, y), !edge(x, y), any(), x != 1.
round(x, y) :- edge(x, y).
round(x, z) :- round(x, y), round(y, z), edge(z, x).
degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
best(x, a, b, s, m) :- edge(x, _), a = min c : { cost(x, _, c) }, b = max c : { cost(x, _, c) },
    s = sum c : { cost(x, _, c) }, m = mean c : { cost(x, _, c) }.
together(x, y) :- edge(x, y).
one(x, y) :- edge(x, y).
cheap(x, c) :- cost(x, _, c), c < 4.
cheap(x, c) <= cheap(x, d) :- d < c.
"""
_PATHS: Final = """
.type Low <: number
.lattice Low<> { Lub -> min(_, _) }
.decl cost(x: number, y: number, c: number)
.input cost
.decl distance(x: number, d: Low<>)
distance(1, 0).
distance(y, d + c) :- distance(x, d), cost(x, y, c).
"""
_TEXTS: Final = """
.type Pair = [left: symbol, right: number]
.type Shape = Dot {} | Box { side: number }
.decl name(x: number, text: symbol, share: float)
.input name(rfc4180=true)
.decl pair(p: Pair, s: Shape)
.decl long(text: symbol, n: number)
.decl share(text: symbol, total: float, average: float)
.output pair
.output long
.output share
pair([t, x], $Box(x)) :- name(x, t, _).
pair([t, x], $Dot()) :- name(x, t, f), f ^ 2.0 > 1.0.
long(cat(t, "!"), strlen(t)) :- name(_, t, _), contains("a", t), t < "z".
share(t, s, m) :- name(_, t, _), s = sum f : { name(_, t, f) }, m = mean f : { name(_, t, f) }.
"""
_STRATEGIES: Final = ("auto", "counting", "dred", "trace")
_OLD: Final = "def f(a):\n    b = a + 1\n    return [b, g(a)]\n\ndef g(x):\n    return x\n"
_NEW: Final = "def g(x):\n    return x\n\ndef f(a, c):\n    b = a + 1\n    if c:\n        return [g(a), b]\n"


def _facts(step: int) -> dict[str, list[tuple[int, ...]]]:
    """Return a small graph whose nodes are so far apart."""
    edges = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 5), (2, 6), (6, 1)]
    facts: dict[str, list[tuple[int, ...]]] = {"edge": [(x * step, y * step) for x, y in edges]}
    return {**facts, "cost": [(x * step, y * step, (x + y) % 5 + 1) for x, y in edges]}


def _follow(program: str, facts: Mapping[str, object], step: int, strategy: str) -> None:
    """Open a session, change its facts and ask it questions."""
    with tidelog.open(program, facts=facts, strategy=strategy, jobs=1) as db:
        for changes in ({"cost": [(1, 5, 2)]}, {"cost": [(5, 1, 1), (2, 4, 9)]}):
            moved = {name: [(x * step, y * step, c) for x, y, c in rows] for name, rows in changes.items()}
            db.apply(insert=moved)
            db.apply(delete=moved)
        if "edge" in facts:
            db.apply(insert={"edge": [(5 * step, 1 * step)]}, delete={"edge": [(3 * step, 4 * step)]})
            list(db.query("path(x, y), edge(y, z)"))
            str(db.why(f"path({1 * step}, {6 * step})"))
            str(db.why_not(f"path({4 * step}, {7 * step})"))
            db.repair(unwanted=[f"path({5 * step}, {2 * step})"])


def _run(program: str, folder: Path) -> None:
    """Evaluate a program once, from files to files."""
    (folder / "name.facts").write_text('1,"a, b",1.5\n2,bca,2.5\n3,c,0.5\n', "utf-8")
    prepared = prepare(Request(Source("warm", program), folder), Recorder())
    write_outputs(evaluate_once(prepared, Recorder()), folder)


def run_samples() -> None:
    """Run all programs, with codes of 32 and of 64 bits."""
    for step in (1, 1 << 33):
        for strategy in _STRATEGIES:
            _follow(_GRAPH, _facts(step), step, strategy)
        _follow(_PATHS, {"cost": _facts(1)["cost"]}, 1, "auto")
    with TemporaryDirectory() as folder:
        _run(_TEXTS, Path(folder))
    Tree.from_source(_OLD).diff(Tree.from_source(_NEW))


if __name__ == "__main__":
    run_samples()
    sys.stdout.write("\n".join(plain_calls()) + "\n")
