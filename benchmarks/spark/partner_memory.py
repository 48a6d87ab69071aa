"""The memory of partners above that of an idle worker, for one workload and several numbers of partners."""

import argparse
import json
import threading
from collections.abc import Iterator
from typing import Any, Final

import psutil

from benchmarks.data import facts_folder

_PARTNERS: Final = (1, 2, 4, 8)


def run_partner_memory(options: argparse.Namespace) -> int:
    """Print the peaks of partners; return 1 if a size was wrong."""
    from benchmarks.spark.subject import SUBJECTS, Subject, session  # noqa: PLC0415 - only with Spark

    is_exact, found = True, []
    for name in options.names or ("cspa100k",):
        folder = facts_folder(SUBJECTS[name], options.data, options.cache)
        if folder is None:
            print(f"{name}: skipped: its data set was not found; see benchmarks/README.md")
            continue
        subject = Subject.read(name, folder)
        for partners in options.rows or _PARTNERS:
            with session(partners, options.master) as spark:
                # Workers import and compile before they are measured.
                subject.spark(spark, partners)
                with WorkerMemory() as idle:
                    spark.range(0, partners, 1, partners).mapInArrow(_pass, "id long").collect()
                with WorkerMemory() as busy:
                    seconds, sizes, where = subject.spark(spark, partners)
            is_exact &= dict(sizes) == dict(SUBJECTS[name].expected)
            base = min(idle.peaks(), default=0)
            above = sorted((peak - base for peak in busy.peaks()[:partners]), reverse=True)
            found.append(
                {
                    "workload": name,
                    "partners": partners,
                    "where": where,
                    "seconds": round(seconds, 2),
                    "idle MiB": base >> 20,
                    "MiB above": [each >> 20 for each in above],
                    "sum": sum(above) >> 20,
                    "is exact": is_exact,
                }
            )
            print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")
    return 0 if is_exact else 1


def _pass(batches: Iterator[Any]) -> Iterator[Any]:
    return batches


class WorkerMemory:
    """Notes the most memory that each Python worker has had while it is open."""

    def __init__(self) -> None:
        self._most: dict[int, int] = {}
        self._done = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)

    def peaks(self) -> list[int]:
        """Return the peaks in bytes, the largest first."""
        return sorted(self._most.values(), reverse=True)

    def __enter__(self) -> "WorkerMemory":  # noqa: PYI034 - one class
        self._look()
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watching.join()
        self._look()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self._look()

    def _look(self) -> None:
        for process in psutil.Process().children(recursive=True):
            try:
                # Workers are forked from a daemon that is a Python process itself.
                parent = process.parent()
                if parent is None or "pyspark.daemon" not in " ".join(parent.cmdline()):
                    continue
                # Pages that workers share with the daemon are not theirs.
                used = process.memory_full_info().uss
            except psutil.Error:
                continue
            self._most[process.pid] = max(used, self._most.get(process.pid, 0))
