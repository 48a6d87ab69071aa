"""A job that can be run, from Python as from the command line."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments
from tidelog.pipeline.bind import bind_job
from tidelog.pipeline.folder import JobFolder
from tidelog.pipeline.job import Job, SourceFormat, TriggerKind, is_remote
from tidelog.pipeline.job_read import read_job
from tidelog.pipeline.starting import start_spark
from tidelog.pipeline.steps import JobStep, job_steps
from tidelog.store.lock import Lock
from tidelog.values import Value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.derive import JobEngine
    from tidelog.pipeline.mirror import Mirror
    from tidelog.pipeline.report import EpochRow, Report


class Pipeline:
    """A checked job: sources, a program and outputs.

        pipeline = Pipeline.read("job.toml")
        report = pipeline.run()

    Creating one reads the job and its program and reports every mistake in them. `spark` is the session
    to work with; without it one is started as the job says. `functions` are Python callables for functors,
    in addition to those of the job's files.
    """

    def __init__(
        self,
        job: Job,
        *,
        spark: "SparkSession | None" = None,
        functions: Mapping[str, Callable[..., Value]] | None = None,
    ) -> None:
        with Arguments() as arguments:
            arguments.expect("job", job, "a Job", is_right=isinstance(job, Job))
            wanted = "a mapping from names to functions"
            arguments.mapping("functions", functions, wanted, of=callable, is_optional=True)
        self._bound = bind_job(job, functions)
        self._spark = spark
        # Absolute, for Java may have another working folder than Python.
        self._folder = JobFolder(_work_place(job).resolve())
        self._storage_warnings: tuple[Diagnostic, ...] = ()
        self._stop = threading.Event()

    @classmethod
    def read(cls, path: Path | str, *, spark: "SparkSession | None" = None) -> Self:
        """Return the pipeline of a job file."""
        with Arguments() as arguments:
            arguments.path("path", path)
        return cls(read_job(Path(path)), spark=spark)

    @property
    def job(self) -> Job:
        """Return the job."""
        return self._bound.job

    @property
    def spark(self) -> "SparkSession":
        """Return the Spark session, which is started on first use."""
        if self._spark is None:
            self._spark = start_spark(self.job)
        return self._spark

    @property
    def folder(self) -> JobFolder:
        """Return the state folder."""
        return self._folder

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return what looks suspicious but is not an error: in the program, and after a run in its state."""
        return (*self._bound.warnings, *self._storage_warnings)

    @property
    def epoch(self) -> int | None:
        """Return the last committed epoch; None before the first."""
        last = self._folder.last()
        return None if last is None else last.epoch

    def steps(self) -> tuple[JobStep, ...]:
        """Return what the job will do: what each step reads, and where it runs."""
        return job_steps(self._bound)

    def check_sources(self) -> None:
        """Read the columns of every source and raise `TidelogError` if they do not fit the relations."""
        from tidelog.pipeline.checking import check_types  # noqa: PLC0415 - it needs Spark
        from tidelog.pipeline.sources import has_files, read_batch, read_stream  # noqa: PLC0415 - as above

        spark = self.spark
        mistakes: list[Diagnostic] = []
        for source in self.job.sources:
            try:
                if source.format is SourceFormat.KAFKA:
                    read_stream(spark, self._bound, source)
                elif not source.is_stream or has_files(self._bound, source):
                    rows = read_batch(spark, self._bound, source, None)
                    check_types(rows.schema, source, self._bound)
            except TidelogError as error:
                mistakes += error.diagnostics
        if mistakes:
            raise TidelogError(mistakes)

    def run(
        self, *, rounds: int | None = None, on_epoch: "Callable[[EpochRow], None] | None" = None
    ) -> "Report":
        """Run the job as its trigger says and return the report, which is also written to the state folder.

        An earlier run that was killed is continued: its last epoch is finished or dropped. With the
        trigger `interval` the run continues until `stop`, or for this many rounds; with `streaming` until
        `stop`. `on_epoch` is called with each epoch once it is published. Raises `TidelogError` with every
        mistake; epochs that were committed stay.
        """
        from tidelog.pipeline.report import Report  # noqa: PLC0415 - it needs the engines

        with Arguments() as arguments:
            arguments.whole("rounds", rounds, least=1, is_optional=True)
            arguments.function("on_epoch", on_epoch, is_optional=True)
            is_interval = self.job.trigger.kind is TriggerKind.INTERVAL
            arguments.refuse(
                if_any={"rounds": rounds is not None and not is_interval},
                because="the job's trigger is not `interval`",
            )
        self._stop.clear()
        mirror = self._mirror()
        self._folder.make()
        lock = Lock.take(self._folder.path, self._folder.path / "lock")
        report = Report(self.job.name, self.job.engine, _now(), on_epoch=on_epoch)
        try:
            spark = self.spark
            with self._reported(report), _plain_failures():
                self._run(spark, report, rounds, mirror)
            if mirror is not None:
                mirror.publish_reports()
        finally:
            lock.release()
        return report

    def stop(self) -> None:
        """Let a run in another thread end after its current epoch."""
        self._stop.set()

    def _mirror(self) -> "Mirror | None":
        """Return what copies the state to where the job has it, if that is elsewhere."""
        if not is_remote(self.job.state):
            return None
        from tidelog.pipeline.mirror import Mirror  # noqa: PLC0415 - only for such a state
        from tidelog.pipeline.object_store import ObjectFolder  # noqa: PLC0415 - as above

        return Mirror(self._folder, ObjectFolder(self.job.state))

    def _run(
        self, spark: "SparkSession", report: "Report", rounds: int | None, mirror: "Mirror | None"
    ) -> None:
        from tidelog.pipeline.epochs import JobEpochs, check_state  # noqa: PLC0415 - it needs Spark
        from tidelog.pipeline.streams import Streams  # noqa: PLC0415 - as above

        if mirror is not None:
            mirror.open()
            if (warning := mirror.lease_warning) is not None:
                self._storage_warnings = (warning,)
                report.warnings = [str(warning)]
        check_state(self._bound, self._folder)
        deriver = self._deriver(spark)
        try:
            epochs = JobEpochs(spark, self._bound, self._folder, deriver, report, mirror)
            streams = Streams(
                spark, self._bound, self._folder, epochs, lambda: report.write(self._folder.reports)
            )
            epochs.recover()
            trigger = self.job.trigger
            done = 0
            while True:
                epochs.load()
                if trigger.kind is TriggerKind.STREAMING:
                    streams.run_forever(trigger.every_seconds, self._stop)
                    return
                streams.run_available(self._stop)
                done += 1
                if trigger.kind is TriggerKind.ONCE or done == rounds or self._stop.is_set():
                    return
                report.write(self._folder.reports)
                if self._stop.wait(trigger.every_seconds):
                    return
        finally:
            deriver.close()

    def _deriver(self, spark: "SparkSession") -> "JobEngine":
        if self.job.engine == "spark":
            from tidelog.pipeline.derive_on_workers import WorkerDeriver  # noqa: PLC0415 - it brings the engine

            return WorkerDeriver(self._bound, self._folder.engine, spark)
        from tidelog.pipeline.derive import SessionDeriver  # noqa: PLC0415 - as above

        return SessionDeriver(self._bound, self._folder.engine, spark)

    @contextmanager
    def _reported(self, report: "Report") -> Iterator[None]:
        """Write the report, however the run ends."""
        try:
            yield
        except BaseException as failure:
            report.failure = f"{type(failure).__name__}: {failure}"
            raise
        finally:
            report.ended = _now()
            report.write(self._folder.reports)


def _work_place(job: Job) -> Path:
    """Return the folder of this machine that a job works in: its state, unless that is elsewhere."""
    if not is_remote(job.state):
        return job.place(job.state)
    if job.work is not None:
        return job.place(job.work)
    from tidelog.pipeline.mirror import work_folder  # noqa: PLC0415 - only for such a state

    return work_folder(job.state, Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")))


def _plain_failures() -> AbstractContextManager[None]:
    from tidelog.engine.spark.java_errors import plain_failures  # noqa: PLC0415 - it needs Spark

    return plain_failures()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
