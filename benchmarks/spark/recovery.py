"""What it costs when resident partners are lost in an epoch, on a cluster in processes.

Executors are killed, Python workers are killed, and Python workers are stopped so that they give no sign.
"""

import argparse
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import psutil

import tidelog

_PROGRAM: Final = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
_CHAIN: Final = 100
_KINDS: Final = ("executor", "worker", "frozen worker")
_SILENCE_SECONDS: Final = 10.0


def run_recovery(options: argparse.Namespace) -> int:
    """Print what epochs take without and with kills, and the parts of each recovery; return 1 if inexact."""
    from benchmarks.spark.subject import session  # noqa: PLC0415 - only with Spark

    chains = (options.rows or [5_000_000])[0] // (_CHAIN * (_CHAIN + 1) // 2)
    edges = [(c * 1000 + n, c * 1000 + n + 1) for c in range(chains) for n in range(_CHAIN)]
    # An epoch cuts every tenth chain in the middle, or mends it: a few per cent of all facts change.
    middle = [(c * 1000 + _CHAIN // 2, c * 1000 + _CHAIN // 2 + 1) for c in range(0, chains, 10)]
    size = chains * _CHAIN * (_CHAIN + 1) // 2
    # A chain has one more vertex than edges; those up to the cut do not reach those behind it.
    cut = len(middle) * (_CHAIN // 2 + 1) * (_CHAIN - _CHAIN // 2)
    found: list[dict[str, object]] = []
    with session(2, "local-cluster[2,1,4096]") as spark:
        parts = _Parts()
        chosen = {"partners": 2, "driver_facts": 0, "resident": True, "silence_seconds": _SILENCE_SECONDS}
        with tidelog.open(
            _PROGRAM, engine="spark", spark=spark, facts={"edge": edges}, spark_options=chosen
        ) as db:
            is_exact = len(db["path"]) == size
            for number in range((options.kills or 3) + 1):
                parts.seconds.clear()
                kind = _KINDS[(number - 1) % len(_KINDS)] if number else ""
                killer = threading.Timer(0.3 * (number % 20), harm, [kind, number // len(_KINDS)])
                killer.start()
                begun = time.perf_counter()
                db.apply(delete={"edge": middle})
                is_exact &= len(db["path"]) == size - cut
                db.apply(insert={"edge": middle})
                is_exact &= len(db["path"]) == size
                seconds = {"two epochs": time.perf_counter() - begun, **parts.seconds}
                killer.join()
                each = {"lost": kind, "load": round(os.getloadavg()[0], 1), "is exact": is_exact}
                found.append({**each, **{name: round(part, 2) for name, part in seconds.items()}})
                print(json.dumps(found[-1]), flush=True)
    print(f"{size:,} facts, {'exact' if is_exact else 'WRONG SIZES'}")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    return 0 if is_exact else 1


class _Parts:
    """The seconds of each part of a recovery."""

    def __init__(self) -> None:
        from tidelog.engine.spark import resident  # noqa: PLC0415 - only with Spark
        from tidelog.maintain.partners import pool  # noqa: PLC0415 - as above

        self.seconds: dict[str, float] = {}
        module: Any = pool
        module.wait_for_slots = self._timing("slots", module.wait_for_slots)
        kind: Any = resident.ResidentJob
        kind.__init__ = self._timing("stage", kind.__init__)
        kind.stop = self._timing("stop", kind.stop)
        kind.call = self._timing("requests", kind.call)
        kind.replace = self._timing("replacing", kind.replace)

    def _timing(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

        return run


def harm(kind: str, number: int) -> bool:
    """Kill an executor or a worker, or stop a worker, and say whether there was one.

    The number says which of several.
    """
    if kind == "executor":
        found = _processes("CoarseGrainedExecutorBackend")
    else:
        # Workers are forked by daemons, and have the same command line.
        daemons = _processes("pyspark.daemon")
        found = [each for each in daemons if each.parent() in daemons]
    if not kind or not found:
        return False
    chosen = sorted(found, key=lambda process: process.create_time())[number % len(found)]
    chosen.send_signal(signal.SIGSTOP if kind == "frozen worker" else signal.SIGKILL)
    return True


def _processes(word: str) -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if word in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue  # one that was killed before
    return found
