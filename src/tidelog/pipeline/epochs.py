"""One epoch after the other: sources to changes, changes to outputs, all under one manifest.

An epoch goes through these points; the state of the engine is never more than one epoch ahead:

    order      the last orders of facts are in files that no manifest names yet
    begin      `pending.json` tells how far sources will have been read
    derive     the engine's state is at the new epoch, on the disk
    write      feed and facts of outputs are in files that no manifest names yet
    commit     the manifest is there: the epoch has happened
    publish    folders and tables that others read follow

A process that ends before `derive` leaves an epoch that never began. One that ends between `derive`
and `commit` leaves an epoch that the next run finishes: what it changed is the difference between
the engine's state and the outputs of the last manifest.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.bookmarks import Bookmark
from tidelog.pipeline.changes import (
    States,
    check_deletions,
    compare_loads,
    find_changes,
    keep_loads,
    keep_orders,
    merge_changes,
)
from tidelog.pipeline.checking import CheckedRows, check_rows
from tidelog.pipeline.derive import Derived, FrameChange, JobEngine
from tidelog.pipeline.describing import described
from tidelog.pipeline.facts import sync_files
from tidelog.pipeline.few_rows import Rows
from tidelog.pipeline.file_batches import FileBatches, NewFile
from tidelog.pipeline.folder import JobFolder, JobManifest, SourceState
from tidelog.pipeline.job import BadRows, JobSource
from tidelog.pipeline.order_files import OrderFiles
from tidelog.pipeline.orders import LastOrders, last_orders
from tidelog.pipeline.past import PastFiles
from tidelog.pipeline.publish import Publisher
from tidelog.pipeline.report import EpochRow, RelationRows, Report, SourceRows
from tidelog.pipeline.sources import read_batch
from tidelog.pipeline.writing import Writer
from tidelog.progress import activity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.pipeline.mirror import Mirror

_SAMPLES: Final = 5


@dataclass(slots=True)
class _EpochInProgress:
    """An epoch on its way; `seconds` by stage."""

    epoch: int
    cause: str
    batch: int | None = None
    sources: tuple[SourceRows, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    describe: Callable[[str], AbstractContextManager[object]] = nullcontext

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the stage; Spark's jobs of it are shown with its name."""
        begun = time.perf_counter()
        words = f"epoch {self.epoch}: {name}"
        try:
            with activity(words), self.describe(f"{words} ({self.cause})"):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun


class JobEpochs:
    """Makes the epochs of a pipeline; one thread at a time."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a run
        self,
        spark: "SparkSession",
        bound: CheckedJob,
        folder: JobFolder,
        deriver: JobEngine,
        report: Report,
        mirror: "Mirror | None" = None,
    ) -> None:
        self._spark = spark
        self._bound = bound
        self._folder = folder
        self._deriver = deriver
        self._report = report
        self._last = folder.last()
        self._writer = Writer(bound, folder, deriver)
        self._publisher = Publisher(spark, bound, folder)
        self._files: dict[str, FileBatches] = {}
        self._order_files = OrderFiles()
        self._mirror = mirror

    @property
    def last(self) -> JobManifest | None:
        """Return the manifest of the last committed epoch."""
        return self._last

    def recover(self) -> None:
        """Finish or forget the epoch that another run began, and publish what is behind."""
        pending = self._folder.pending()
        committed = -1 if self._last is None else self._last.epoch
        reached = -1 if self._deriver.epoch is None else self._deriver.epoch
        if pending is not None and pending.epoch == reached == committed + 1:
            current = self._begin(pending.epoch, "recovered")
            with current.stage("derive"):
                derived = self._deriver.difference(self._outputs, self._before)
            self._finish(current, pending, derived)
        elif reached != committed:
            raise TidelogError([_apart(self._folder, committed, reached)])
        else:
            self._folder.forget()
            if self._last is not None:
                self._publisher.publish(self._last)

    def load(self) -> bool:
        """Make an epoch of all sources that are not streams, and say whether there was anything to do.

        The first epoch is made in any case: programs may derive facts from scratch. A snapshot that
        differs from its last load in nothing, bad rows included, makes no epoch.
        """
        current = self._begin(self._next, "load")
        sources = [source for source in self._bound.job.sources if not source.is_stream]
        before = self._states()
        checked: list[CheckedRows] = []
        changes: Mapping[str, FrameChange] = {}
        try:
            with current.stage("read"):
                for source in sources:
                    state = before[source.id]
                    rows = read_batch(self._spark, self._bound, source, _bookmark(state))
                    checked.append(check_rows(rows, source, self._bound, self._orders(source, state)))
            self._judge(current, checked)
            with current.stage("compare"):
                after = keep_loads(self._folder, current.epoch, checked, before)
                loaded = compare_loads(self._spark, self._folder, self._bound, before, after)
                changes = loaded
                check_deletions(self._spark, self._folder, self._bound, before, loaded)
                changes = merge_changes(loaded, find_changes(checked))
            if not (changes or _has_new_rows(checked, before)) and self._is_complete():
                return False
            with current.stage("order"):
                after = keep_orders(self._spark, current.epoch, checked, after)
            self._make(current, changes, checked, after)
        finally:
            for each in checked:
                each.release()
            for change in changes.values():
                change.release()
        return True

    def take(self, source: JobSource, rows: "DataFrame", stream: str, batch: int) -> bool:
        """Make an epoch of a micro-batch, and say whether it was new.

        A micro-batch that an earlier run or attempt committed is delivered again and left out.
        """
        states = self._states()
        state = states[source.id]
        if state.stream is not None and state.stream != stream:
            raise TidelogError([_lost_checkpoint(source, self._folder)])
        if state.batch is not None and batch <= state.batch:
            self._report.skipped += 1
            return False
        current = self._begin(self._next, f"stream {source.id}", batch)
        with current.stage("read"):
            checked = self._check(source, rows, state)
        try:
            self._judge(current, [checked])
            states[source.id] = replace(state, stream=stream, batch=batch)
            with current.stage("order"):
                after = keep_orders(self._spark, current.epoch, [checked], states)
            self._make(current, find_changes([checked]), [checked], after)
        finally:
            checked.release()
        return True

    def _check(self, source: JobSource, rows: "DataFrame", state: SourceState) -> Rows:
        """Return the checked rows of a micro-batch, which has rows of a topic, or names of files."""
        orders = self._orders(source, state)
        if not source.format.is_files:
            return check_rows(rows, source, self._bound, orders)
        if source.id not in self._files:
            self._files[source.id] = FileBatches(self._spark, self._bound, source)
        # Spark lists a file twice if another one has a name that looks like a pattern.
        lengths = {row["path"]: row["length"] for row in rows.collect()}
        files = [NewFile(path, length) for path, length in lengths.items()]
        return self._files[source.id].read(files, orders, is_first=state.batch is None)

    def _orders(self, source: JobSource, state: SourceState) -> LastOrders | None:
        return last_orders(self._folder, self._bound, source, state, self._order_files)

    def _judge(self, current: _EpochInProgress, checked: Sequence[Rows]) -> None:
        """Take note of the rows; raise if there are bad ones and the job says that there must not be."""
        current.sources = tuple(
            SourceRows(each.source.id, each.source.relation, each.good, each.bad, each.late)
            for each in checked
        )
        bad = [each for each in checked if each.bad]
        if bad and self._bound.job.bad_rows is BadRows.FAIL:
            raise TidelogError([_bad_rows(each) for each in bad])

    def _make(
        self,
        current: _EpochInProgress,
        changes: Mapping[str, FrameChange],
        checked: Sequence[Rows],
        states: States,
    ) -> None:
        """Apply an epoch: when this returns it is committed and published."""
        with current.stage("quarantine"):
            for each in checked:
                if each.bad:
                    place = self._folder.fresh(self._folder.quarantine(each.source.id, current.epoch))
                    each.write_bad(place)
                    sync_files(place)
        pending = JobManifest(
            current.epoch,
            self._bound.job.name,
            self._bound.job.engine,
            program_id(self._bound),
            datetime.now(UTC).isoformat(timespec="seconds"),
            states,
            {} if self._last is None else self._last.outputs,
            {each.source.id: dict(each.bad) for each in checked if each.bad},
        )
        self._folder.begin(pending)
        with current.stage("derive"):
            derived = self._deriver.apply(changes, self._outputs, self._before)
        assert derived.epoch == current.epoch, "an engine that counts epochs otherwise"
        self._finish(current, pending, derived)

    def _finish(self, current: _EpochInProgress, pending: JobManifest, derived: Derived) -> None:
        """Write, commit and publish an epoch that the engine's state has reached."""
        with current.stage("write"):
            outputs = {
                output.relation: self._writer.write(output, derived, self._last)
                for output in self._bound.job.outputs
            }
        with current.stage("commit"):
            manifest = replace(pending, outputs=outputs)
            self._folder.commit(manifest)
            if self._mirror is not None:
                self._mirror.commit(manifest.epoch)
            self._last = manifest
        with current.stage("publish"):
            self._publisher.publish(manifest)
            self._writer.drop_old(manifest)
        row = EpochRow(
            current.epoch,
            current.cause,
            current.batch,
            current.sources,
            derived.strata,
            tuple(RelationRows(name, *counts) for name, counts in derived.inputs.items()),
            tuple(
                RelationRows(name, state.inserted, state.deleted, state.rows)
                for name, state in outputs.items()
            ),
            current.seconds,
        )
        self._report.add(row)

    def _begin(self, epoch: int, cause: str, batch: int | None = None) -> _EpochInProgress:
        """Return a new epoch, whose jobs Spark's pages show by the job's name."""
        return _EpochInProgress(
            epoch, cause, batch, describe=partial(described, self._spark, self._bound.job.name)
        )

    def _before(self, relation: str) -> PastFiles:
        """Return where the facts of an output at the last committed epoch are."""
        return self._writer.before(relation, self._last)

    @property
    def _outputs(self) -> tuple[str, ...]:
        return tuple(output.relation for output in self._bound.job.outputs)

    @property
    def _next(self) -> int:
        return 0 if self._last is None else self._last.epoch + 1

    def _is_complete(self) -> bool:
        """Say whether the last epoch has all outputs of the job."""
        return self._last is not None and set(self._outputs) <= self._last.outputs.keys()

    def _states(self) -> dict[str, SourceState]:
        """Return how far every source of the job was read."""
        known = {} if self._last is None else self._last.sources
        return {source.id: known.get(source.id, SourceState()) for source in self._bound.job.sources}


def check_state(bound: CheckedJob, folder: JobFolder) -> None:
    """Raise `TidelogError` if a state folder was made with another program or engine."""
    last = folder.last()
    if last is not None and last.program != program_id(bound):
        raise TidelogError([_differs(bound, folder, "program")])
    if last is not None and last.engine != bound.job.engine:
        raise TidelogError([_differs(bound, folder, "engine")])


def _bookmark(state: SourceState) -> Bookmark | None:
    return None if state.bookmark is None else Bookmark(state.bookmark, state.bookmark_type)


def _has_new_rows(checked: Sequence[Rows], before: States) -> bool:
    """Say whether there are late rows, or bad ones that the last load of the same source did not have."""
    return any(
        each.late or (each.bad and each.bad_digest != before[each.source.id].bad_digest) for each in checked
    )


def program_id(bound: CheckedJob) -> str:
    """Return a text that tells programs apart."""
    return blake2b(bound.text.text.encode(), digest_size=16).hexdigest()


def _bad_rows(checked: Rows) -> Diagnostic:
    samples = checked.samples(_SAMPLES)
    lines = "".join(f"\n    {reason}: {detail}: {row}" for reason, detail, row in samples)
    count = sum(checked.bad.values())
    rows = "1 row is not a fact" if count == 1 else f"{count:,} rows are not facts"
    return Diagnostic(
        code="bad-rows",
        message=f"{rows} of `{checked.source.relation}` in the source `{checked.source.id}`:{lines}",
        span=checked.source.at(""),
        hint='correct the source, or choose bad_rows = "quarantine"; nothing was committed',
    )


def _apart(folder: JobFolder, committed: int, reached: int) -> Diagnostic:
    return Diagnostic(
        code="damaged-pipeline",
        message=f"in `{folder.path}` the last manifest is of epoch {committed},"
        f" but the engine's state is of epoch {reached}",
        hint="restore the whole folder, or begin with another state folder",
    )


def _differs(bound: CheckedJob, folder: JobFolder, what: str) -> Diagnostic:
    return Diagnostic(
        code="pipeline-differs",
        message=f"the state folder `{folder.path}` was made with another {what}",
        span=bound.job.at(what),
        hint="begin with another state folder: all sources are read again into it",
    )


def _lost_checkpoint(source: JobSource, folder: JobFolder) -> Diagnostic:
    return Diagnostic(
        code="lost-checkpoint",
        message=f"the source `{source.id}` would be read from its beginning again:"
        f" {folder.checkpoint(source.id)} is not the checkpoint that epochs were made with",
        span=source.at("name"),
        hint="restore the checkpoint, or give the source another name to read it again on purpose",
    )
