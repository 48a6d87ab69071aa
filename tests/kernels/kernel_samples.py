"""Programs that call the kernels which programs commonly need, to learn which to compile ahead.

They run as plain Python, which takes no compiler and half a minute: once as they are, and once as if what is
few were many, so that few facts reach the kernels for many.

    NUMBA_DISABLE_JIT=1 python tests/kernels/kernel_samples.py

prints a line for each kernel and the types of its arguments. `src/tidelog/kernels/common.txt` has what it
prints; `tests/test_kernels_warm.py` compares them, and rewrites the file with `UPDATE_GOLDEN=1`.
"""

import ctypes
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final
from unittest import mock

import numpy as np

import tidelog
from tidelog.engine.local import (
    aggregates,
    choose,
    key_scan,
    marked,
    runnable_rules,
    small,
    statistics,
    stratum,
)
from tidelog.engine.local.library_kernels import call_for_numbers, call_for_texts
from tidelog.engine.recorder import SessionRecorder
from tidelog.engine.spark import kernels as spark_kernels
from tidelog.kernels.decorators import plain_calls
from tidelog.plan import chain
from tidelog.session.once import evaluate_once
from tidelog.session.prepare import Request, prepare
from tidelog.source import Source
from tidelog.storage import index, ordered, packed, pairs, paths
from tidelog.storage.membership import move_rows, number_rows
from tidelog.trees.chains import pair_by_hash
from tidelog.trees.tree import Tree
from tidelog.values.dictionary import Dictionary
from tidelog.views.write import write_outputs

# What counts as many rows, with what few facts reach.
_MANY: Final = (
    (aggregates, "_FEW_FLOATS", 0),
    (chain, "_FACTS_TO_ORDER", 1),
    (choose, "LEAST_ROWS", 1),
    (key_scan, "_FACTS_PER_KEY", 0),
    (key_scan, "_LEAST_FACTS", 1),
    (index, "_BYTES_TO_TRIM", 0),
    (index, "_ROWS_TO_COUNT", 8),
    (marked, "_LEAST_ROWS", 1),
    (marked, "_SHARED", 0.0),
    (ordered, "_SHORT_TAIL", 1),
    (paths, "_FEW_ARCS", 1),
    (statistics, "_ROWS_TO_SAMPLE", 1),
    (runnable_rules, "_MATCHES_FOR_SIEVE", 0),
    (stratum, "_PLAN_AGAIN_ROWS", 8),
)
_PACKED: Final = ((packed, "_SMALLEST_ROWS", 8),)
_SMALL: Final = ((small, "_FEWEST_ITERATIONS", 2),)
_PAIRS: Final = ((pairs, "_SMALLEST_ROWS", 8), (pairs, "_MOST_BYTES", 1 << 10))

_CHAIN: Final = """
.decl step(x: number)
.output step
step({first}).
step(x + 1) :- step(x), x < {last}.
"""
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
# A fact that needs codes of 64 bits beside others that are small.
_WIDE: Final = ".decl wide(x: number)\nwide(8589934592).\n"
_CYCLES: Final = """
.decl edge(x: number, y: number)
.decl cost(x: number, y: number, c: number)
.input edge
.input cost
.decl path(x: number, y: number)
.decl triangle(x: number, y: number, z: number)
.decl square(x: number, y: number, z: number, w: number)
.decl corner(x: number)
.decl dear(x: number, y: number, z: number)
.decl near(x: number, y: number)
.decl reach(x: number, y: number)
.decl back(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
triangle(x, y, z) :- edge(x, y), edge(y, z), edge(z, x).
square(x, y, z, w) :- edge(x, y), edge(y, z), edge(z, w), edge(w, x). .plan leapfrog
corner(x) :- edge(x, y), edge(y, z), edge(z, x). .plan leapfrog
dear(x, y, z) :- cost(x, y, c), cost(x, z, d), c < d.
dear(x, y, z) :- dear(y, x, _), cost(x, z, d), z < x + 9, x < z.
reach(x, y) :- edge(x, y).
reach(x, z) :- reach(x, y), reach(y, z).
near(x, y) :- edge(x, y).
near(x, z) :- near(x, y), near(y, z), back(z, x).
back(x, y) :- edge(y, x).
back(x, z) :- back(x, y), near(y, z), back(z, x), path(x, z).
"""
_PATHS: Final = """
.type Low <: {kind}
.lattice Low<> {{ Lub -> {best}(_, _) }}
.decl cost(x: number, y: number, c: {kind})
.input cost
.decl distance(x: number, d: Low<>)
distance(1, {zero}).
distance(y, d {sign} c) :- distance(x, d), cost(x, y, c).
"""
_PATH_KINDS: Final = (
    {"kind": "number", "best": "min", "zero": "0", "sign": "+"},
    {"kind": "float", "best": "min", "zero": "0.0", "sign": "+"},
    {"kind": "unsigned", "best": "min", "zero": "0", "sign": "+"},
    {"kind": "number", "best": "max", "zero": "9", "sign": "-"},
)
# Not the lengths of paths: a sum of two of them.
_PRODUCTS: Final = """
.type Low <: number
.lattice Low<> { Lub -> min(_, _) }
.decl cost(x: number, y: number, c: number)
.input cost
.decl product(x: number, d: Low<>)
product(1, 1).
product(2, 1).
product(z, d + e) :- product(x, d), product(y, e), cost(x, y, _), cost(y, z, _).
"""
_SHARES: Final = """
.decl cost(x: number, y: number, c: float)
.input cost
.decl total(x: number, s: float, m: float)
.decl least(x: number, c: float)
total(x, s, m) :- cost(x, _, _), s = sum c : { cost(x, _, c) }, m = mean c : { cost(x, _, c) }.
least(x, c) :- cost(x, _, _), c = min d : { cost(x, _, d) }.
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
_OLD: Final = "def f(a):\n    b = a + 1\n    return [b, g(a)]\n\ndef g(x):\n    return x\n"
_NEW: Final = "def g(x):\n    return x\n\ndef f(a, c):\n    b = a + 1\n    if c:\n        return [g(a), b]\n"


_EDGES: Final = [
    (1, 2),
    (2, 3),
    (3, 1),
    (3, 4),
    (4, 5),
    (5, 5),
    (2, 6),
    (6, 1),
    *((x, x + 1) for x in range(6, 24)),
]


@contextmanager
def _with(*changed: tuple[ModuleType, str, float]) -> Iterator[None]:
    """Let few facts be handled as many are."""
    with ExitStack() as held:
        for module, name, value in changed:
            held.enter_context(mock.patch.object(module, name, value))
        yield


def _facts(step: int) -> dict[str, list[tuple[int, ...]]]:
    """Return a small graph whose nodes are so far apart."""
    facts: dict[str, list[tuple[int, ...]]] = {"edge": [(x * step, y * step) for x, y in _EDGES]}
    return {**facts, "cost": [(x * step, y * step, (x + y) % 5 + 1) for x, y in _EDGES]}


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
            list(db.query(f"path({1 * step}, y)"))
            str(db.why(f"path({1 * step}, {6 * step})"))
            str(db.why_not(f"path({24 * step}, {1 * step})"))
            db.repair(unwanted=[f"path({5 * step}, {2 * step})"])
            db.repair(missing=[f"path({3 * step}, {4 * step})"])
            db.blame(unwanted=[f"path({5 * step}, {2 * step})"])
            db.repair(unwanted=[f"path({5 * step}, {2 * step})"], method="ddmin")


def _follow_graphs(*strategies: str) -> None:
    """Follow programs over graphs, with codes of 32 and of 64 bits."""
    for step, wide in ((1, ""), (1, _WIDE), (1 << 33, "")):
        for strategy in strategies:
            for program in (_GRAPH, _CYCLES):
                _follow(program + wide, _facts(step), step, strategy)
        for kind in _PATH_KINDS:
            _follow(_PATHS.format(**kind) + wide, {"cost": _facts(1)["cost"]}, 1, "auto")
        _follow(_SHARES + wide, {"cost": _facts(1)["cost"]}, 1, "auto")


def _run_graphs() -> None:
    """Evaluate programs over graphs once, with codes of which some take few bits and others many."""
    for step, wide in ((1, ""), (1, _WIDE), (1 << 20, ""), (1 << 20, _WIDE), (1 << 33, "")):
        for program in (_GRAPH, _CYCLES):
            _run_once(program + wide, _facts(step))
        for kind in _PATH_KINDS:
            _run_once(_PATHS.format(**kind) + wide, {"cost": _facts(1)["cost"]})
        _run_once(_PRODUCTS + wide, {"cost": _facts(1)["cost"]})


def _run_once(program: str, facts: Mapping[str, list[tuple[int, ...]]]) -> None:
    """Evaluate a program once, from files to files, as `tidelog run` does."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for relation, rows in facts.items():
            lines = ("\t".join(map(str, row)) for row in rows)
            (folder / f"{relation}.facts").write_text("\n".join(lines) + "\n", "utf-8")
        _evaluate(program, folder)


def _evaluate(program: str, folder: Path) -> None:
    options = tidelog.OpenOptions(facts=folder, jobs=1)
    prepared = prepare(Request(Source("sample", program), options), SessionRecorder())
    write_outputs(evaluate_once(prepared, SessionRecorder())[0], folder)


def _run_texts(count: int) -> None:
    """Evaluate a program with texts, records and floats."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        lines = [f'{x},"text, {x}a",{x}.5' for x in range(count)]
        (folder / "name.facts").write_text("\n".join(lines) + "\n", "utf-8")
        _evaluate(_TEXTS, folder)
        with tidelog.open(_TEXTS, facts=folder, jobs=1) as db:
            list(db.query('long("nothing", n)'))


def _look_up(dtype: type[np.signedinteger[Any]]) -> None:
    """Look for rows among those that are kept as bits or words."""
    constants, key = np.empty(0, np.int64), np.arange(2, dtype=np.int32)
    for largest in (1, 1 << 25):
        rows = np.full((8, 2), largest, dtype)
        kept = packed.packed_words(1 << 12, lambda rows=rows: [rows[:1]], rows)
        assert kept is not None, "the rows fit words"
        kept.find(rows, constants, key)
        kept.rows_at(0, 1, dtype)
    near = np.ones((1, 2), dtype)
    bits = pairs.PairBits(2, 2)
    bits.mark(near[:1])
    bits.find(near, constants, key)
    bits.rows_at(0, 1, dtype)
    bits.insert(near.copy(), near, np.zeros(2, np.int64), np.zeros(1, np.int64), 1)


def _call_library() -> None:
    """Call functions in C for columns of numbers and texts."""
    libc = ctypes.CDLL(None)
    absolute, name = (ctypes.cast(each, ctypes.c_void_p).value for each in (libc.labs, libc.strerror))
    integers, floats = np.zeros((1, 1), np.int64), np.empty((0, 1))
    for results in (np.zeros(1, np.int64), np.zeros(1)):
        call_for_numbers(absolute, integers, floats, results)
    texts = np.zeros(100, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.uint8)
    call_for_texts(name, (integers, floats), texts, 0)


def _call_directly() -> None:
    """Call what takes several threads, several partners on Spark, or large files."""
    for dtype in (np.int32, np.int64):
        _look_up(dtype)
        rows = np.zeros((2, 2), dtype)
        slots = np.zeros(4, np.uint32)
        number_rows(slots, rows, 0, 1, False)
        move_rows(slots, rows, np.zeros(2, np.int32), 0, 0, 1)
        spark_kernels.owners(rows, 0, 2, np.zeros(2, np.int32))
        spark_kernels.take_own(rows, 0, 2, 1, rows.copy())
        spark_kernels.split_own(rows, 0, 2, 1, rows.copy(), rows.copy())
        spark_kernels.sort_by_owner(rows, 0, 2, np.zeros(2, np.int64), np.zeros(3, np.int64))
    hashes, is_free = np.zeros(1, np.uint64), np.ones(1, np.uint8)
    pair_by_hash(hashes, hashes, is_free, is_free)
    Dictionary().find("unknown")
    _call_library()


def run_samples() -> None:
    """Run all programs."""
    _run_graphs()
    _follow_graphs("auto", "counting", "dred", "trace")
    with _with(*_MANY):
        _follow_graphs("auto")
    for changed in (_MANY, (*_MANY, *_PACKED), (*_MANY, *_PAIRS)):
        with _with(*changed):
            _run_graphs()
    with _with(*_SMALL):
        for first in (0, 1 << 33):
            _run_once(_CHAIN.format(first=first, last=first + 9), {})
    for count in (3, 2000):
        _run_texts(count)
    _call_directly()
    Tree.from_source(_OLD).diff(Tree.from_source(_NEW))


if __name__ == "__main__":
    run_samples()
    sys.stdout.write("\n".join(plain_calls()) + "\n")
