"""Many texts read by several processes, with the result that reading them one by one has.

Each process reads batches of texts and returns arrays. Values are numbered here, text by text in the order
given, so that trees, pool and ids are the same however many processes there are. What a process cannot read,
for a mistake in the text or because it was killed, is left to the caller, who reads it and reports mistakes.
"""

import os
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from subprocess import Popen
from typing import Final

import numpy as np

from tidelog.kernels.compilers import end, start
from tidelog.progress import activity, detail
from tidelog.source import Source
from tidelog.trees.languages import Language
from tidelog.trees.nodes import make_nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT
from tidelog.trees.read_worker import TravellingTree
from tidelog.trees.tree import Tree, new_tree

# Fewer characters are read sooner than a process is started.
_MANY: Final = 1 << 21
# About how many characters a process gets at a time.
_PER_BATCH: Final = 1 << 18
_MOST_PROCESSES: Final = 8

_Batch = list[tuple[str, str]]
_Answer = list[TravellingTree | None]


def pays(texts: Mapping[str, str], jobs: int | None) -> bool:
    """Say whether processes read these texts sooner than this one; `jobs` is how many there may be."""
    return _processes(jobs) > 1 and sum(map(len, texts.values())) >= _MANY


def read_trees(language: Language, texts: Mapping[str, str], jobs: int | None) -> Iterator[Tree | None]:
    """Yield the tree of each text in order, or None for those that the caller has to read."""
    batches = list(_batches(texts))
    idle: SimpleQueue[Popen[bytes]] = SimpleQueue()
    processes = [_start(language) for _ in range(min(_processes(jobs), len(batches)))]
    for process in processes:
        if process is not None:
            idle.put(process)
    count = idle.qsize()
    if not count:
        yield from (None for _ in texts)
        return
    done = 0
    pool = ThreadPoolExecutor(count, thread_name_prefix="tidelog-read")
    try:
        answers: list[Future[_Answer]] = [pool.submit(_ask, batch, idle) for batch in batches]
        with activity("reading files"):
            for batch, future in zip(batches, answers, strict=True):
                for (name, text), found in zip(batch, future.result(), strict=True):
                    done += 1
                    detail(f"{done:,} of {len(texts):,} files")
                    yield None if found is None else _tree(found, language, name, text)
    finally:
        pool.shutdown(cancel_futures=True)
        for process in processes:
            if process is not None:
                end(process)


def _processes(jobs: int | None) -> int:
    if jobs is not None:
        return jobs
    has_affinity = hasattr(os, "sched_getaffinity")
    return min(len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1, _MOST_PROCESSES)


def _batches(texts: Mapping[str, str]) -> Iterator[_Batch]:
    batch: _Batch = []
    size = 0
    for name, text in texts.items():
        batch.append((name, text))
        size += len(text)
        if size >= _PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _start(language: Language) -> Popen[bytes] | None:
    try:
        return start("tidelog.trees.read_worker", language.name)
    except OSError:
        return None


def _ask(batch: _Batch, idle: "SimpleQueue[Popen[bytes]]") -> _Answer:
    """Let a process read a batch; one that has ended reads nothing."""
    process = idle.get()
    questions, answers = process.stdin, process.stdout
    assert questions is not None, "it was started with pipes"
    assert answers is not None, "it was started with pipes"
    try:
        pickle.dump(batch, questions, protocol=5)
        questions.flush()
        found: _Answer = pickle.load(answers)  # noqa: S301 - our own process wrote it
    except (OSError, EOFError, pickle.UnpicklingError):
        return [None] * len(batch)
    finally:
        idle.put(process)
    return found


def _tree(found: TravellingTree, language: Language, name: str, text: str) -> Tree:
    numbers = np.append(language.pool.numbers(found.distinct), ABSENT)
    schema = language.schema
    values = numbers[found.values]
    nodes = make_nodes(found.types, found.links, found.parents, values, schema.value_counts)
    places = NodePlaces(Source(name, text), found.starts.astype(np.int64), found.ends.astype(np.int64))
    return new_tree(schema, language.pool, nodes, language, places)
