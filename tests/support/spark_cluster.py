# ruff: noqa: PLC0415 - modules are imported after the path is set, in the process that is killed
"""Run by test_spark_failure.py in a process of its own: real executors, which are killed.

Prints one JSON object per scenario, and at last kills its own process in the middle of a commit.
"""

import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import psutil
import pyspark

CSPA = """
.decl Assign(x: number, y: number)
.decl Dereference(x: number, y: number)
.input Assign, Dereference
.decl ValueFlow(x: number, y: number)
.decl ValueAlias(x: number, y: number)
.decl MemoryAlias(x: number, y: number)
ValueFlow(y, x) :- Assign(y, x).
ValueFlow(x, x) :- Assign(x, _).
ValueFlow(x, x) :- Assign(_, x).
ValueFlow(x, y) :- Assign(x, z), MemoryAlias(z, y).
ValueFlow(x, y) :- ValueFlow(x, z), ValueFlow(z, y).
MemoryAlias(x, x) :- Assign(_, x).
MemoryAlias(x, x) :- Assign(x, _).
MemoryAlias(x, w) :- Dereference(y, x), ValueAlias(y, z), Dereference(z, w).
ValueAlias(x, y) :- ValueFlow(z, x), ValueFlow(z, y).
ValueAlias(x, y) :- ValueFlow(z, x), MemoryAlias(z, w), ValueFlow(w, y).
"""


def facts(size: int = 600) -> dict[str, list[tuple[int, int]]]:
    """Return assignments in short chains, and dereferences that lead from chain to chain."""
    assign = [(n, n + 1) for n in range(size) if n % 6]
    return {"Assign": assign, "Dereference": [(n, n + 9) for n in range(0, size, 4)]}


def start(**more: str):
    """Return a session with two executors of one core each; more settings, with `_` for `.`."""
    from pyspark.sql import SparkSession

    from tidelog.engine.spark.slots import slots

    os.environ["SPARK_WORKER_DIR"] = os.environ["SPARK_LOCAL_DIRS"] = tempfile.mkdtemp()
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("tidelog failures")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    until = time.monotonic() + 240
    while slots(spark) < 2 and time.monotonic() < until and not more:
        time.sleep(0.2)
    tell(scenario="started", slots=slots(spark))
    return spark


def executors() -> list[psutil.Process]:
    """Return the executors of this process' cluster."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def has_workers() -> bool:
    """Say whether an executor has started the Python of a task."""
    return any(process.children() for process in executors())


def kill_one() -> int:
    """Kill an executor with its workers and return how many were killed."""
    for process in executors()[:1]:
        for child in process.children(recursive=True):
            child.kill()
        process.kill()
        return 1
    return 0


def tell(**what: object) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class _Warnings(logging.Handler):
    """Counts how often partners were lost."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count the record if it tells of a loss."""
        self.lost += "were lost" in record.getMessage()


def recursion(spark, folder: Path, at: int, counter: _Warnings) -> None:
    """Evaluate, and kill an executor at a checkpoint of iteration `at` (0: as soon as a worker starts)."""
    import numpy as np

    from support.programs import build
    from tidelog.engine.protocol import Settings, SilentObserver
    from tidelog.engine.spark.engine import SparkEngine
    from tidelog.engine.spark.options import SparkOptions
    from tidelog.values import Codec

    program = build(CSPA)
    options = SparkOptions(
        spark,
        partners=2,
        driver_facts=0,
        storage=str(folder),
        checkpoint_seconds=0,
        attempts=4,
        exchange="sockets",
    )
    engine = SparkEngine(program, Codec(program.types), Settings(jobs=1), {}, options)
    for name, rows in facts().items():
        engine.insert(name, list(np.array(rows, np.int64).T))
    killed = []

    def watch() -> None:
        pattern = "checkpoints/*/*/0.json"
        until = time.monotonic() + 300
        while time.monotonic() < until and not killed:
            if len(list(folder.glob(pattern))) >= at if at else has_workers():
                killed.append(kill_one())
            time.sleep(0.002)

    counter.lost = 0
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    engine.evaluate(SilentObserver())
    watcher.join()
    sizes = {name: engine.size(name) for name in ("ValueFlow", "ValueAlias", "MemoryAlias")}
    tell(scenario=f"recursion {at}", sizes=sizes, killed=sum(killed), lost=counter.lost)


def epochs(spark, folder: Path, counter: _Warnings) -> None:
    """Apply epochs on resident partners; kill an executor before, at the start, and in the middle."""
    import tidelog

    options = {"partners": 2, "driver_facts": 0, "storage": str(folder), "attempts": 4, "exchange": "sockets"}
    options["resident"] = True
    given = facts()
    with tidelog.open(CSPA, engine="spark", spark=spark, facts=given, spark_options=options) as db:
        for number, wait in enumerate((None, 0.0, 0.03)):
            counter.lost = 0
            killer = threading.Timer(0.0 if wait is None else wait, kill_one)
            killer.start()
            if wait is None:
                killer.join()
                time.sleep(1)
            change = given["Assign"][number * 7 : number * 7 + 7]
            delta = db.apply(delete={"Assign": change}, insert={"Assign": [(900 + number, 1)]})
            killer.join()
            counts = {n: (len(delta[n].inserted), len(delta[n].deleted)) for n in ("ValueFlow", "ValueAlias")}
            sizes = {n: len(db[n]) for n in ("ValueFlow", "ValueAlias", "MemoryAlias")}
            tell(scenario=f"epoch {number}", sizes=sizes, counts=counts, lost=counter.lost, epoch=db.epoch)


def allocated_dynamically() -> None:
    """Apply an epoch on residents for which Spark requests executors, and kill one; speculation is on too."""
    import tidelog

    spark = start(
        spark_dynamicAllocation_enabled="true",
        spark_dynamicAllocation_shuffleTracking_enabled="true",
        spark_dynamicAllocation_maxExecutors="2",
        spark_speculation="true",
    )
    given = facts(120)
    options = {"partners": 2, "driver_facts": 0, "attempts": 4, "resident": True}
    with tidelog.open(CSPA, engine="spark", spark=spark, facts=given, spark_options=options) as db:
        places = [each.where.value for each in db.snapshot.engine.placements]
        killed = kill_one()
        db.apply(delete={"Assign": given["Assign"][:7]})
        sizes = {n: len(db[n]) for n in ("ValueFlow", "ValueAlias", "MemoryAlias")}
        tell(scenario="dynamic", sizes=sizes, places=places, killed=killed)
    spark.stop()


def in_an_object_store(place: str, query: str) -> None:
    """Evaluate, and follow epochs, with all files in an object store, which executors read and write."""
    import tidelog
    from tidelog.spark import evaluate

    spark = start()
    given = facts(120)
    options = {"partners": 2, "driver_facts": 0}
    once = {**options, "storage": f"{place}once{query}"}
    found = evaluate(CSPA, given, spark=spark, spark_options=once)
    sizes = {name: found[name].count() for name in ("ValueFlow", "ValueAlias", "MemoryAlias")}
    tell(scenario="once", sizes=sizes)
    text = ".decl edge(x: symbol, y: symbol)\n.input edge\n.decl path(x: symbol, y: symbol)\n.output path\n"
    text += "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n"
    edges = spark.createDataFrame([(f"n{n}", f"n{n + 1}") for n in range(20)], "x string, y string")
    found = evaluate(text, {"edge": edges}, spark=spark, spark_options=once)
    first = min(map(tuple, found["path"].collect()))
    tell(scenario="texts", rows=found["path"].count(), first=first)
    options["storage"] = f"{place}session{query}"
    with tidelog.open(CSPA, engine="spark", spark=spark, facts=given, spark_options=options) as db:
        db.apply(delete={"Assign": given["Assign"][:5]})
    with tidelog.open(CSPA, engine="spark", spark=spark, spark_options=options) as db:
        places = sorted({each.where.value for each in db.snapshot.engine.placements})
        db.apply(delete={"Assign": given["Assign"][5:10]})
        counted = db["ValueFlow"].to_spark(spark).count()
        sizes = {name: len(db[name]) for name in ("ValueFlow", "ValueAlias", "MemoryAlias")}
        tell(scenario="session", epoch=db.epoch, sizes=sizes, places=places, counted=counted)
    spark.stop()


def die_in_a_commit(spark, folder: Path) -> None:
    """Apply an epoch, and be killed in the next one after partners wrote their files."""
    import tidelog
    from tidelog.maintain.partners.manifest import Manifests

    options = {"partners": 2, "driver_facts": 0, "storage": str(folder), "exchange": "sockets"}
    given = facts()
    db = tidelog.open(CSPA, engine="spark", spark=spark, facts=given, spark_options=options)
    db.apply(delete={"Assign": given["Assign"][:5]})

    def commit(*_: object) -> None:
        tell(scenario="driver", epoch=db.epoch)
        os.kill(os.getpid(), signal.SIGKILL)

    Manifests.commit = commit  # type: ignore[method-assign]
    db.apply(delete={"Assign": given["Assign"][5:10]})


def main(folder: Path) -> None:
    """Run all scenarios."""
    warnings.simplefilter("ignore")
    counter = _Warnings()
    logging.getLogger("tidelog").addHandler(counter)
    spark = start()
    for at in (0, 2, 5):
        recursion(spark, folder / f"recursion-{at}", at, counter)
    epochs(spark, folder / "epochs", counter)
    die_in_a_commit(spark, folder / "driver")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    if sys.argv[1] == "dynamic":
        # A process of its own: Spark keeps settings from one session to the next.
        allocated_dynamically()
    elif sys.argv[1] == "objects":
        in_an_object_store(*sys.argv[2:])
    else:
        main(Path(sys.argv[1]))
