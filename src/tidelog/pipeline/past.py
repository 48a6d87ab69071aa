"""An output at any committed epoch, from the files of a pipeline; needs no Spark."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.facts import add_up, arrow_schema, feed_names, parquet_files, read_facts
from tidelog.pipeline.folder import JobFolder, JobManifest, OutputState
from tidelog.program.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class PastFiles:
    """Where an output at an epoch is: files that hold all facts of some epoch, and feeds to apply to these.

    Each feed is the folder of an epoch and its number of changes, with 1 to apply it and -1 to take it back.
    """

    columns: tuple[tuple[str, str], ...]
    files: tuple[Path, ...] = ()
    feeds: tuple[tuple[Path, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Past:
    """An output at an epoch: files that hold all facts of some epoch, and what to add and take away.

    `add` are facts that the files do not have, `drop` facts that they have too many.
    """

    columns: tuple[tuple[str, str], ...]
    files: tuple[Path, ...]
    add: pa.Table
    drop: pa.Table

    def read_file(self, file: Path) -> pa.Table:
        """Return the facts of one of the files that belong to the epoch."""
        schema = arrow_schema(self.columns)
        found = pq.read_table(file, columns=schema.names).cast(schema)
        if not self.drop.num_rows:
            return found
        kept, _ = add_up([(found, 1), (self.drop, -1)])
        return kept


def files_at(folder: JobFolder, relation: str, epoch: int | None = None) -> PastFiles:
    """Return where an output at a committed epoch is, the last one by default; no fact is read.

    The epoch's facts are those of the nearest epoch whose facts were all written, with the feed
    between the two applied forward or taken back.
    """
    last = last_manifest(folder)
    epoch = last.epoch if epoch is None else epoch
    state = find_output(folder, folder.read(epoch), relation)
    columns = state.columns
    base = state.base
    if not folder.base(relation, base).exists():
        # Older files are dropped when newer ones are there: the epoch is reached by going back.
        base = find_output(folder, last, relation).base
    low, high, sign = (base, epoch, 1) if base <= epoch else (epoch, base, -1)
    feeds = tuple(
        (folder.feed(relation, number), count, sign)
        for number in range(low + 1, high + 1)
        if (count := _change_count(folder, relation, number))
    )
    return PastFiles(columns, tuple(parquet_files(folder.base(relation, base))), feeds)


def output_at(folder: JobFolder, relation: str, epoch: int | None = None) -> Past:
    """Return an output at a committed epoch, the last one by default, with what its files do not have."""
    return read_feeds(files_at(folder, relation, epoch))


def read_feeds(past: PastFiles) -> Past:
    """Return an output with what its files do not have."""
    parts = [(arrow_schema(past.columns).empty_table(), 1)]
    for feed, count, sign in past.feeds:
        for op, table in _sides(_rows_of(feed, count, past.columns), past.columns).items():
            parts.append((table, sign if op == "+" else -sign))
    add, drop = add_up(parts)
    return Past(past.columns, past.files, add, drop)


def read_output(folder: JobFolder, relation: str, epoch: int | None = None) -> pa.Table:
    """Return all facts of an output at a committed epoch."""
    return read_all(files_at(folder, relation, epoch))


def read_all(files: PastFiles) -> pa.Table:
    """Return all facts of an output."""
    past = read_feeds(files)
    return pa.concat_tables([*(past.read_file(file) for file in past.files), past.add])


def read_feed(
    folder: JobFolder, relation: str, epoch: int, columns: Sequence[tuple[str, str]]
) -> dict[str, pa.Table]:
    """Return the facts that an epoch inserted, under `+`, and deleted, under `-`."""
    return _sides(feed_rows(folder, relation, epoch, columns), columns)


def feed_rows(folder: JobFolder, relation: str, epoch: int, columns: Sequence[tuple[str, str]]) -> pa.Table:
    """Return the changes of an epoch, the op before the columns.

    Raises `TidelogError` if there are not as many as the manifest says.
    """
    return _rows_of(folder.feed(relation, epoch), _change_count(folder, relation, epoch), columns)


def _change_count(folder: JobFolder, relation: str, epoch: int) -> int:
    state = folder.read(epoch).outputs.get(relation)
    return 0 if state is None else state.inserted + state.deleted


def _rows_of(feed: Path, count: int, columns: Sequence[tuple[str, str]]) -> pa.Table:
    op, _ = feed_names(columns)
    rows = read_facts(feed, [(op, "symbol"), *columns])
    if rows.num_rows != count:
        raise TidelogError([lost_changes(feed)])
    return rows


def _sides(rows: pa.Table, columns: Sequence[tuple[str, str]]) -> dict[str, pa.Table]:
    op, _ = feed_names(columns)
    names = [name for name, _ in columns]
    return {sign: rows.filter(pc.equal(rows[op], sign)).select(names) for sign in ("-", "+") if rows.num_rows}


def last_manifest(folder: JobFolder) -> JobManifest:
    """Return the manifest of the last committed epoch."""
    last = folder.last()
    if last is None:
        raise TidelogError([_no_pipeline(folder.path)])
    return last


def find_output(folder: JobFolder, manifest: JobManifest, relation: str) -> OutputState:
    """Return the state of an output; raises if the pipeline does not publish the relation."""
    if relation not in manifest.outputs:
        known = list(manifest.outputs)
        raise TidelogError(
            [
                Diagnostic(
                    code="no-such-output",
                    message=f"the pipeline `{folder.path}` has no output `{relation}`",
                    hint=did_you_mean(relation, known, f"it has {', '.join(known) or 'none'}"),
                )
            ]
        )
    return manifest.outputs[relation]


def lost_changes(feed: Path) -> Diagnostic:
    """Return the diagnostic for a feed that has not all changes of its epoch, or others."""
    return Diagnostic(
        code="damaged-pipeline",
        message=f"{feed} does not have the changes that were written there",
        hint="restore the folder",
    )


def _no_pipeline(path: Path) -> Diagnostic:
    return Diagnostic(
        code="no-pipeline",
        message=f"the folder `{path}` holds no epoch of a pipeline",
        hint="name the `state` folder of a job that was run, or the folder of a store",
    )
