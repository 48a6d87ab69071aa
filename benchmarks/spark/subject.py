"""What is measured: a workload on the local engine, on Spark's workers, and as a loop of data frames."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.workload import WORKLOADS, Published, Workload
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Columns, Engine, Settings, SilentObserver
from tidelog.engine.spark.cluster import open_storage
from tidelog.engine.spark.dataframes import FrameStratum
from tidelog.engine.spark.engine import SparkEngine
from tidelog.engine.spark.frames import read_codes
from tidelog.engine.spark.options import SparkOptions
from tidelog.engine.spark.relation_facts import RelationFacts
from tidelog.plan.passes import run_passes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.session.load import load_facts
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The tree of the graphs has pairs of the same depth alone in this relation, so its size has a formula.
SG_TREE9: Final = Workload(
    "sg_tree9",
    "same_generation.dl",
    Published("bigdatalog_graphs", {"tree11.facts": "arc.facts"}),
    "same generation, the first nine levels below the root of a tree",
    {"sg": 11_431_270},
)
# Its closure takes 7 GB in files, and on the local engine 13.6 GB of memory.
TC_USROADS: Final = Workload(
    "tc_usroads",
    "tc.dl",
    Published("graphs", {"usroads.facts": "arc.facts"}),
    "transitive closure of the roads of the United States",
    {"tc": 871_365_688},
    is_heavy=True,
)
SUBJECTS: Final = {workload.name: workload for workload in (*WORKLOADS, SG_TREE9, TC_USROADS)}


class _Kept:
    """Takes facts in the place of an engine, to give them to several."""

    def __init__(self) -> None:
        self.facts: list[tuple[str, Columns]] = []

    def insert(self, relation: str, columns: Columns) -> None:
        self.facts.append((relation, columns))


@dataclass(frozen=True)
class Subject:
    """A workload with its facts in memory."""

    workload: Workload
    program: Program
    codec: Codec
    facts: list[tuple[str, Columns]]

    @classmethod
    def read(cls, name: str, folder: Path) -> "Subject":
        """Return a workload over the facts of a folder."""
        workload = SUBJECTS[name]
        source = Source(workload.program, workload.path.read_text("utf-8"))
        program = run_passes(build_program(parse(source))[0])
        codec, kept = Codec(program.types), _Kept()
        load_facts(program, folder, codec, kept)  # type: ignore[arg-type]
        facts = kept.facts
        if workload is SG_TREE9:
            facts = [(relation, _first_levels(columns, 9)) for relation, columns in facts]
        return cls(workload, program, codec, facts)

    def local(self, jobs: int) -> tuple[float, Mapping[str, int]]:
        """Return the wall seconds of an evaluation on the local engine, and the sizes."""
        engine = LocalEngine(self.program, self.codec, Settings(jobs=jobs), {})
        return self._timed(engine)

    def spark(self, spark: "SparkSession", partners: int) -> tuple[float, Mapping[str, int], str]:
        """Return the wall seconds of an evaluation on workers, the sizes, and where the recursion ran."""
        options = SparkOptions(spark, partners=partners, driver_facts=0)
        engine = SparkEngine(self.program, self.codec, Settings(jobs=1), {}, options)
        seconds, sizes = self._timed(engine)
        wanted = set(self.workload.expected)
        where = [each.where.value for each in engine.placements if wanted & set(each.relations)]
        return seconds, sizes, ", ".join(dict.fromkeys(where))

    def loop(self, spark: "SparkSession", limit_seconds: float) -> tuple[float, Mapping[str, int] | None]:
        """Return the wall seconds of a semi-naive loop of data frames; no sizes if it was given up."""
        begun = time.perf_counter()
        options = SparkOptions(spark)
        folder = open_storage(options)
        frames = {}
        for name, relation in self.program.relations.items():
            holding = RelationFacts(name, relation.arity, folder)
            for filled, columns in self.facts:
                if filled == name:
                    holding.put_rows(np.stack(list(columns), axis=1))
            frames[name] = read_codes(spark, folder, holding.files("in"), relation.arity)
        sizes: dict[str, int] = {}
        try:
            for stratum in self.program.strata:
                if not stratum.rules:
                    continue
                rules = FrameStratum(spark, stratum, self.program, self.codec, Settings())
                if stratum.is_recursive:
                    found, _ = rules.loop(frames, lambda *_: _check(begun, limit_seconds))
                else:
                    found = rules.once(frames)
                frames.update(found)
                sizes.update({name: frame.count() for name, frame in found.items()})
        except TimeoutError:
            return time.perf_counter() - begun, None
        return time.perf_counter() - begun, sizes

    def _timed(self, engine: Engine) -> tuple[float, Mapping[str, int]]:
        for name, columns in self.facts:
            engine.insert(name, columns)
        begun = time.perf_counter()
        engine.evaluate(SilentObserver())
        seconds = time.perf_counter() - begun
        return seconds, {name: engine.size(name) for name in self.workload.expected}


def _first_levels(arcs: Columns, levels: int) -> Columns:
    """Return the arcs of a tree down to a depth."""
    parents, children = arcs
    reached = np.setdiff1d(parents, children)
    kept = np.zeros(len(parents), np.bool_)
    for _ in range(levels):
        below = np.isin(parents, reached)
        kept |= below
        reached = children[below]
    return [parents[kept], children[kept]]


def _check(begun: float, limit_seconds: float) -> None:
    if time.perf_counter() - begun > limit_seconds:
        raise TimeoutError


@contextmanager
def session(slots: int, master: str | None = None) -> Iterator["SparkSession"]:
    """Yield a Spark session in this process, or of another master, and stop it at the end."""
    import os  # noqa: PLC0415 - needed only here
    import sys  # noqa: PLC0415 - as above

    from pyspark.sql import SparkSession  # noqa: PLC0415 - only with Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(slots),
    }
    builder = SparkSession.builder.master(master or f"local[{slots}]").appName("tidelog benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()
