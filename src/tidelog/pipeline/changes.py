"""From the checked rows of sources to the changes of an epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructField, StructType

from tidelog.errors import Diagnostic, TidelogError
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.checking import CheckedRows
from tidelog.pipeline.derive import Facts, FrameChange
from tidelog.pipeline.facts import published_columns, sync_files
from tidelog.pipeline.few_rows import Rows
from tidelog.pipeline.folder import JobFolder, SourceState
from tidelog.pipeline.job import Changes, JobSource
from tidelog.pipeline.spark_types import column_type
from tidelog.program.suggest import counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

States = Mapping[str, SourceState]

_SIDE: Final = "_tidelog_side"
_OLD: Final = "_tidelog_old"
_NEW: Final = "_tidelog_new"


def keep_loads(folder: JobFolder, epoch: int, checked: Sequence[CheckedRows], states: States) -> States:
    """Return how far sources were read after an epoch.

    What snapshot sources hold now is written to files, for the difference to the next load;
    bookmarks move on.
    """
    after = dict(states)
    for each in checked:
        source = each.source
        if source.changes is Changes.SNAPSHOT:
            place = folder.fresh(folder.load(source.id, epoch))
            each.facts().write.parquet(str(place))
            sync_files(place)
            after[source.id] = SourceState(load=epoch, bad=dict(each.bad), bad_digest=each.bad_digest)
        elif source.bookmark is not None and each.bookmark is not None:
            mark = each.bookmark
            after[source.id] = replace(states[source.id], bookmark=mark.text, bookmark_type=mark.type)
    return after


def keep_orders(spark: "SparkSession", epoch: int, checked: Sequence[Rows], states: States) -> States:
    """Return how far sources were read after an epoch, with the last orders of their facts.

    When this returns what is new of them is on the disk.
    """
    after = dict(states)
    for each in checked:
        orders = each.orders
        if orders is not None and each.most_news:
            orders = orders.keep(each.news(), each.most_news, epoch, spark)
        if orders is not None:
            after[each.source.id] = orders.noted(after[each.source.id])
        elif each.source.changes is Changes.OP:
            # What was known of orders no longer is when rows count without one.
            after[each.source.id] = replace(after[each.source.id], order=None, order_type=None, orders=())
    return after


def find_changes(checked: Sequence[Rows]) -> dict[str, FrameChange]:
    """Return what sources of changes ask for, by relation."""
    pieces: dict[str, list[FrameChange]] = {}
    for each in checked:
        if each.source.changes is not Changes.SNAPSHOT and each.good:
            deleted = each.facts(is_insert=False) if each.source.changes is Changes.OP else None
            pieces.setdefault(each.source.relation, []).append(FrameChange(each.facts(), deleted))
    return {name: _merge(changes) for name, changes in pieces.items()}


def compare_loads(
    spark: "SparkSession", folder: JobFolder, bound: CheckedJob, before: States, after: States
) -> dict[str, FrameChange]:
    """Return the difference between the last loads of snapshot sources and the present ones, by relation.

    A relation's facts are those of all its snapshot sources: a fact that one of them no longer has
    stays as long as another has it. Spark keeps what it found until `release`.
    """
    snapshots = [source for source in bound.job.sources if source.changes is Changes.SNAPSHOT]
    found = {}
    for relation in dict.fromkeys(source.relation for source in snapshots):
        sources = [source for source in snapshots if source.relation == relation]
        schema = _schema(bound, relation)
        sides = [
            spark.read.schema(schema)
            .parquet(str(folder.load(source.id, load)))
            .withColumn(_SIDE, F.lit(side))
            for side, states in ((-1, before), (1, after))
            for source in sources
            if (load := states[source.id].load) is not None
        ]
        if not sides:
            continue
        # One shuffle tells for each fact whether it was there, and whether it is.
        facts = reduce(lambda left, right: left.union(right), sides).groupBy(*map(_column, schema.names))
        frame = facts.agg(F.min(_SIDE).alias(_OLD), F.max(_SIDE).alias(_NEW))
        frame = frame.where(f"{_OLD} = {_NEW}").persist()
        change = FrameChange(_side(frame, 1, schema), _side(frame, -1, schema), frame)
        if frame.isEmpty():
            change.release()
        else:
            found[relation] = change
    return found


def check_deletions(
    spark: "SparkSession",
    folder: JobFolder,
    bound: CheckedJob,
    before: States,
    loaded: Mapping[str, FrameChange],
) -> None:
    """Raise `TidelogError` if a load deletes a larger part of a relation than its sources allow.

    An empty file is more often a failed export than the end of all facts. Facts that others take the
    place of are not lost.
    """
    mistakes = []
    for relation, change in loaded.items():
        own = [each for each in bound.job.sources if each.relation == relation]
        loads = {each.id: load for each in own if (load := before[each.id].load) is not None}
        share = max((each.max_deleted_share for each in own), default=1.0)
        if share >= 1 or not loads or not bound.relation(relation).arity or change.delete is None:
            continue
        inserted = 0 if change.insert is None else change.insert.count()
        lost = change.delete.count() - inserted
        if lost > 0:
            places = [str(folder.load(name, load)) for name, load in loads.items()]
            held = spark.read.parquet(*places).distinct().count()
            if lost > share * held:
                mistakes.append(_too_many_deleted(own[0], lost, held, share))
    if mistakes:
        raise TidelogError(mistakes)


def _too_many_deleted(source: JobSource, lost: int, held: int, share: float) -> Diagnostic:
    facts = f"{lost:,} of the {counted(held, 'fact')} of `{source.relation}`"
    return Diagnostic(
        code="too-many-deleted",
        message=f"this load would delete {facts}, more than {share:.0%}; nothing was changed",
        span=source.at("max_deleted_share"),
        hint=f"if the source `{source.id}` is right, give it max_deleted_share = 1.0 for this run",
    )


def _side(frame: "DataFrame", side: int, schema: StructType) -> "DataFrame":
    return frame.where(f"{_NEW} = {side}").select(*map(_column, schema.names))


def _column(name: str) -> "Column":
    return F.col("`" + name.replace("`", "``") + "`")


def _schema(bound: CheckedJob, relation: str) -> StructType:
    columns = published_columns(bound.relation(relation), bound.program)
    return StructType([StructField(name, column_type(kind)) for name, kind in columns])


def merge_changes(one: Mapping[str, FrameChange], other: Mapping[str, FrameChange]) -> dict[str, FrameChange]:
    """Return both changes together; a fact that is inserted and deleted is inserted."""
    names = dict.fromkeys([*one, *other])
    return {name: _merge([side[name] for side in (one, other) if name in side]) for name in names}


def _merge(changes: Sequence[FrameChange]) -> FrameChange:
    kept = next((change.kept for change in changes if change.kept is not None), None)
    return FrameChange(
        _union([change.insert for change in changes]), _union([change.delete for change in changes]), kept
    )


def _union(parts: Sequence["Facts | None"]) -> "Facts | None":
    some = [part for part in parts if part is not None]
    if not some or isinstance(some[0], pa.Table):
        # Facts in the driver are those of one micro-batch, which stands alone.
        assert len(some) <= 1
        return some[0] if some else None
    return reduce(lambda left, right: left.union(right), some)
