"""Spark's engines with partners in threads in place of workers: no Java, no stage, the same work."""

import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from support.programs import insert, read
from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark import engine as spark_engine
from tidelog.engine.spark.engine import Placement, SparkEngine
from tidelog.engine.spark.failures import failure_text
from tidelog.engine.spark.job import BarrierJob, raise_failures
from tidelog.engine.spark.message import Message
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.wire import PartnerLostError, Wire, between_threads
from tidelog.program.nodes import Program
from tidelog.values import Codec

LIMIT = Settings(jobs=1, iteration_limit=500)


def run_in_threads(spark: object, job: BarrierJob, resume: object = None) -> list[Message]:
    """Return what each partner's work returned; every partner has a copy of its payload, as in a worker."""
    del spark, resume
    content = pickle.dumps(job.payload)
    function: Callable[[Any, Wire], Message] = getattr(import_module(job.module), job.function)
    replies = [Message(text="gave up")] * job.partners

    def work(wire: Wire) -> None:
        try:
            replies[wire.me] = function(pickle.loads(content), wire)  # noqa: S301 - written above
        except PartnerLostError:
            return
        except Exception as error:  # noqa: BLE001 - as in a worker
            replies[wire.me] = Message(text=failure_text(error))
            wire.give_up(replies[wire.me].text)

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(job.partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    raise_failures(replies)
    return replies


@contextmanager
def threads_for_workers() -> Iterator[None]:
    """Let jobs of Spark's engines run in threads of this process; nothing runs as a data frame."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_engine, "run_job", run_in_threads)
        patch.setattr(spark_engine, "run_apart", run_in_threads)
        patch.setattr(spark_engine, "reason_against_frames", lambda *_: "there is no Spark")
        yield


def options(storage: str, partners: int, **others: Any) -> SparkOptions:
    """Return options for a session that is not there."""
    conf = SimpleNamespace(get=lambda _, default="": default)
    spark: Any = SimpleNamespace(conf=conf, sparkContext=SimpleNamespace(master="local[4]"))
    chosen = {"driver_facts": -1, "exchange": "sockets", **others}
    return SparkOptions(spark, partners=partners, storage=storage, **chosen)


def evaluate(
    program: Program,
    inputs: Any,
    functions: Any = None,
    *,
    partners: int = 3,
    limit: int | None = 500,
    **others: Any,
) -> tuple[dict[str, Any], tuple[Placement, ...]]:
    """Return every relation after an evaluation by partners in threads, and where each stratum ran."""
    codec = Codec(program.types)
    with tempfile.TemporaryDirectory() as folder, threads_for_workers():
        chosen = options(folder, partners, **others)
        settings = replace(LIMIT, iteration_limit=limit)
        engine = SparkEngine(program, codec, settings, with_tables(program, functions or {}), chosen)
        for name, facts in inputs.items():
            insert(engine, program.relations[name], codec, facts)
        engine.evaluate(SilentObserver())
        found = {name: read(engine, relation, codec) for name, relation in program.relations.items()}
        return found, engine.placements
