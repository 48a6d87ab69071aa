"""From the checked rows of sources to the changes of an epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from tidelog.pipeline.checking import CheckedRows
from tidelog.pipeline.derive import FrameChange
from tidelog.pipeline.facts import sync_files
from tidelog.pipeline.folder import Folder, SourceState
from tidelog.pipeline.job import Changes, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

States = Mapping[str, SourceState]


def keep_loads(folder: Folder, epoch: int, checked: Sequence[CheckedRows], states: States) -> States:
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
            after[source.id] = SourceState(load=epoch)
        elif source.bookmark is not None and each.bookmark is not None:
            after[source.id] = replace(states[source.id], bookmark=each.bookmark)
    return after


def find_changes(checked: Sequence[CheckedRows]) -> dict[str, FrameChange]:
    """Return what sources of changes ask for, by relation."""
    pieces: dict[str, list[FrameChange]] = {}
    for each in checked:
        if each.source.changes is not Changes.SNAPSHOT and each.good:
            deleted = each.facts(is_insert=False) if each.source.changes is Changes.OP else None
            pieces.setdefault(each.source.relation, []).append(FrameChange(each.facts(), deleted))
    return {name: _merge(changes) for name, changes in pieces.items()}


def compare_loads(
    spark: "SparkSession", folder: Folder, sources: Sequence[Source], before: States, after: States
) -> dict[str, FrameChange]:
    """Return the difference between the last loads of snapshot sources and the present ones, by relation.

    A relation's facts are those of all its snapshot sources: a fact that one of them no longer has
    stays as long as another has it.
    """

    def loaded(relation: str, states: States) -> "DataFrame | None":
        frames = [
            spark.read.parquet(str(folder.load(source.id, load)))
            for source in sources
            if source.relation == relation and (load := states[source.id].load) is not None
        ]
        return reduce(lambda left, right: left.union(right), frames) if frames else None

    found = {}
    relations = [source.relation for source in sources if source.changes is Changes.SNAPSHOT]
    for relation in dict.fromkeys(relations):
        old, new = loaded(relation, before), loaded(relation, after)
        if new is None:
            continue
        change = FrameChange(new) if old is None else FrameChange(new.subtract(old), old.subtract(new))
        if not all(side is None or side.isEmpty() for side in (change.insert, change.delete)):
            found[relation] = change
    return found


def merge_changes(one: Mapping[str, FrameChange], other: Mapping[str, FrameChange]) -> dict[str, FrameChange]:
    """Return both changes together; a fact that is inserted and deleted is inserted."""
    names = dict.fromkeys([*one, *other])
    return {name: _merge([side[name] for side in (one, other) if name in side]) for name in names}


def _merge(changes: Sequence[FrameChange]) -> FrameChange:
    return FrameChange(
        _union([change.insert for change in changes]), _union([change.delete for change in changes])
    )


def _union(frames: Sequence["DataFrame | None"]) -> "DataFrame | None":
    some = [frame for frame in frames if frame is not None]
    return reduce(lambda left, right: left.union(right), some) if some else None
