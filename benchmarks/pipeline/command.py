"""`python -m benchmarks pipeline`: a nightly load, changes during the day, the next night.

The access-control graph of docs/pipeline.md with users by the ten thousand. Seconds are wall time by
stage; CPU seconds are those of this process and of Spark's.
"""

import argparse
import json
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline import Job
    from tidelog.pipeline.report import EpochRow

EXAMPLE: Final = Path(__file__).parent.parent.parent / "examples" / "pipeline"
_GROUPS: Final = 200
_BAD_SHARE: Final = 0.001


@dataclass(frozen=True)
class Measured:
    """What one sort of epoch took: medians over `epochs`, in seconds."""

    what: str
    epochs: int
    rows: int
    facts: int
    changed: int
    wall: float
    cpu: float
    stages: dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--users", type=int, default=50_000, help="members of groups; four rows for each")
    parser.add_argument("--epochs", type=int, default=10, help="micro-batches of ten changes")
    parser.add_argument("--seed", type=int, default=1, help="of the graph and its changes")
    parser.add_argument("--json", type=Path, help="keep the measurements here")


def run_pipeline(options: argparse.Namespace) -> int:
    """Measure, print and keep what was asked for; return 1 if a feed does not add up."""
    measured: list[Measured] = []
    with spark_session() as spark, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for each in _measure(spark, folder, options):
            measured.append(each)
            print(row(each), flush=True)
        is_exact = _adds_up(folder)
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(each) for each in measured], indent=1), "utf-8")
    if not is_exact:
        print("the feed does not add up to the published facts")
    return 0 if is_exact else 1


def row(measured: Measured) -> str:
    """Return a line of a table."""
    stages = ", ".join(
        f"{name} {seconds:.2f}" for name, seconds in measured.stages.items() if seconds >= 0.01
    )
    return (
        f"| {measured.what} | {measured.rows:,} | {measured.changed:,} of {measured.facts:,} |"
        f" {measured.wall:.2f} | {measured.cpu:.2f} | {stages} |"
    )


def _measure(spark: object, folder: Path, options: argparse.Namespace) -> Iterator[Measured]:
    from tidelog.pipeline import Pipeline  # noqa: PLC0415 - brings Spark

    for file in ("access.dl", "job.toml"):
        shutil.copy(EXAMPLE / file, folder)
    for name in ("nightly/members", "nightly/grants", "changes/members", "changes/denials"):
        (folder / name).mkdir(parents=True)
    chosen = random.Random(options.seed)  # noqa: S311 - the same graph every time
    members = _write_nights(folder, options.users, chosen)
    pipeline = Pipeline.read(folder / "job.toml", spark=spark)  # type: ignore[arg-type]

    def run(what: str) -> Measured:
        begun = cpu_seconds()
        report = pipeline.run()
        return _summary(what, report.epochs, cpu_seconds() - begun)

    yield run("first night")
    yield _follow(spark, pipeline.job, options.epochs, lambda n: _write_changes(folder, n, members, chosen))
    _write_nights(folder, options.users + options.users // 100, random.Random(options.seed))  # noqa: S311
    yield run("next night, one percent more")
    yield _idle(run("next night again, no news"))


def _follow(spark: object, job: "Job", count: int, write: Callable[[int], None]) -> Measured:
    """Return what micro-batches take while a run follows them; the first compiles what the others use."""
    from tidelog.pipeline import Pipeline, Trigger, TriggerKind  # noqa: PLC0415 - brings Spark

    pipeline = Pipeline(replace(job, trigger=Trigger(TriggerKind.STREAMING)), spark=spark)  # type: ignore[arg-type]
    runs: list[Measured] = []
    begun = [cpu_seconds()]

    def on_epoch(row: "EpochRow") -> None:
        now = cpu_seconds()
        runs.append(_summary("ten changes by JSON, following", [row], now - begun[0]))
        if len(runs) > count:
            pipeline.stop()
        else:
            begun[0] = now
            write(len(runs))

    write(0)
    pipeline.run(on_epoch=on_epoch)
    return _median(runs[1:])


def _summary(what: str, epochs: "Sequence[EpochRow]", cpu: float) -> Measured:
    stages: dict[str, float] = {}
    for epoch in epochs:
        for stage, seconds in epoch.seconds.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    rows = sum(source.rows for epoch in epochs for source in epoch.sources)
    outputs = [output for epoch in epochs for output in epoch.outputs]
    changed = sum(output.inserted + output.deleted for output in outputs)
    facts = (outputs[-1].rows or 0) if outputs else 0
    return Measured(what, len(epochs), rows, facts, changed, sum(stages.values()), cpu, stages)


def _median(runs: Sequence[Measured]) -> Measured:
    stages = {
        stage: statistics.median(run.stages.get(stage, 0.0) for run in runs) for stage in runs[0].stages
    }
    return Measured(
        runs[0].what,
        len(runs),
        runs[0].rows,
        runs[-1].facts,
        int(statistics.median(run.changed for run in runs)),
        statistics.median(run.wall for run in runs),
        statistics.median(run.cpu for run in runs),
        stages,
    )


def _idle(run: Measured) -> Measured:
    assert run.epochs == 0, "a load without news made an epoch"
    return run


def _write_nights(folder: Path, users: int, chosen: random.Random) -> list[tuple[str, str]]:
    """Write memberships and grants, one row in a thousand without a group."""
    import pyarrow as pa  # noqa: PLC0415 - as the engine
    import pyarrow.parquet as pq  # noqa: PLC0415 - as the engine

    members: list[tuple[str, str | None]] = [(f"g{n}", f"g{n // 3}") for n in range(1, _GROUPS)]
    for user in range(users):
        members += [(f"u{user}", f"g{chosen.randrange(_GROUPS)}") for _ in range(4)]
    members = [(person, None if chosen.random() < _BAD_SHARE else group) for person, group in members]
    grants = [(f"g{n}", f"r{n % 50}", "read") for n in range(0, _GROUPS, 4)]
    columns = {"member": [person for person, _ in members], "group_name": [group for _, group in members]}
    pq.write_table(pa.table(columns), folder / "nightly" / "members" / "all.parquet")
    names = ("who", "resource", "right")
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*grants, strict=True)), strict=True))),
        folder / "nightly" / "grants" / "all.parquet",
    )
    return [(person, group) for person, group in members if group is not None]


def _write_changes(
    folder: Path, number: int, members: Sequence[tuple[str, str]], chosen: random.Random
) -> None:
    """Write a file in which five members leave a group and five join one."""
    leaving = chosen.sample(list(members), 5)
    deleted = [{"op": "-", "who": person, "group": group} for person, group in leaving]
    inserted = [{"op": "+", "who": f"n{number}-{n}", "group": f"g{n}"} for n in range(5)]
    lines = [json.dumps({**change, "at": at}) for at, change in enumerate([*deleted, *inserted], 10 * number)]
    (folder / "changes" / "members" / f"{number}.json").write_text("\n".join(lines) + "\n", "utf-8")


def _adds_up(folder: Path) -> bool:
    from tidelog.pipeline.facts import add_up  # noqa: PLC0415 - brings Arrow
    from tidelog.pipeline.folder import JobFolder  # noqa: PLC0415 - as above
    from tidelog.pipeline.past import last_manifest, read_feed, read_output  # noqa: PLC0415 - as above

    state = JobFolder(folder / "state")
    last = last_manifest(state)
    columns = last.outputs["access"].columns
    parts = [(read_output(state, "access"), -1)]
    for epoch in range(last.epoch + 1):
        for op, table in read_feed(state, "access", epoch, columns).items():
            parts.append((table, 1 if op == "+" else -1))
    too_many, too_few = add_up(parts)
    return bool(too_many.num_rows == too_few.num_rows == 0)


@contextmanager
def spark_session() -> "Iterator[SparkSession]":
    """Run a Spark session of two cores while the block lasts."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional package

    builder = SparkSession.builder.master("local[2]").appName("tidelog benchmarks")
    for name, value in (
        ("spark.ui.enabled", "false"),
        ("spark.ui.showConsoleProgress", "false"),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.driver.memory", "2g"),
        ("spark.log.level", "ERROR"),
    ):
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of Spark's."""
    import psutil  # noqa: PLC0415 - as the engine

    me = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (me, *me.children(recursive=True)))
