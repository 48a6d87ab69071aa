"""Changes of input facts that workers apply: they encode frames, and write the facts of the next epoch."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.engine.code_rows import as_columns
from tidelog.engine.epoch import StratumReport
from tidelog.engine.protocol import Codes
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.frames import read_codes
from tidelog.engine.spark.ingest import CodeFiles, FrameFacts, write_code_files, write_frames
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import read_state
from tidelog.maintain.partners.state_frames import changed_frame, frame_of_rows
from tidelog.program.nodes import Relation
from tidelog.values import Codec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Why strata are evaluated again.
LARGE_CHANGE: Final = "a change as large as this one, which workers have, is not followed"


@dataclass(frozen=True, slots=True)
class FramedChange:
    """Frames with the facts of a relation to insert and to delete; what is in both is inserted.

    Requires columns c0, c1, ... of types that the relation's columns take, and plain texts for records.
    """

    insert: "DataFrame | None" = None
    delete: "DataFrame | None" = None


@dataclass(frozen=True, slots=True)
class FramedEpoch:
    """What an epoch did whose changes came as frames.

    `inputs` has for every relation that changed how many facts became input, and ceased to be.
    """

    strata: tuple[StratumReport, ...]
    inputs: Mapping[str, tuple[int, int]]


def _encode_changes(
    changes: Mapping[str, FramedChange], relations: Mapping[str, Relation], codec: Codec, folder: Folder
) -> dict[str, CodeFiles]:
    """Return files with the codes of frames, which workers find; `+edge` is what is inserted into `edge`."""
    sides = {
        f"{sign}{name}": [FrameFacts(frame)]
        for name, change in changes.items()
        for sign, frame in (("+", change.insert), ("-", change.delete))
        if frame is not None
    }
    return write_frames(sides, {side: relations[side[1:]] for side in sides}, codec, folder)


def _change_inputs(
    written: Mapping[str, CodeFiles],
    inputs: Mapping[str, SessionInput],
    relations: Mapping[str, Relation],
    spark: "SparkSession",
    folder: Folder,
) -> tuple[dict[str, CodeFiles], dict[str, tuple[int, int]]]:
    """Return files with the input facts after encoded changes, and how many of each came and went."""
    found: dict[str, CodeFiles] = {}
    counts: dict[str, tuple[int, int]] = {}
    for name in dict.fromkeys(side[1:] for side in written):
        arity = relations[name].arity
        columns = [f"c{place}" for place in range(arity)]
        inserted, deleted = (
            read_codes(spark, folder, files.files, arity)
            if (files := written.get(f"{sign}{name}")) is not None and files.size
            else None
            for sign in "+-"
        )
        size, filed = len(inputs[name]), inputs[name].filed
        if filed is None:
            before = frame_of_rows(spark, inputs[name].rows())
        else:
            before = changed_frame(read_codes(spark, folder, filed.files, arity), *inputs[name].changes())
        kept = before if deleted is None else before.join(deleted, columns, "left_anti")
        together = kept if inserted is None else kept.union(inserted)
        after = write_code_files(together, relations[name], folder)
        found[name] = after
        added = 0
        if inserted is not None:
            added = inserted.join(before, columns, "left_anti").count()
        removed = size + added - after.size
        if added or removed:
            counts[name] = added, removed
    return found, counts


def framed_inputs(  # noqa: PLR0913, PLR0917 - where facts are, and what encodes them
    changes: Mapping[str, FramedChange],
    inputs: Mapping[str, SessionInput],
    spark: "SparkSession",
    relations: Mapping[str, Relation],
    codec: Codec,
    folder: Folder,
) -> tuple[dict[str, SessionInput], dict[str, tuple[int, int]]]:
    """Return the input facts of changed relations after changes, and how many of each came and went."""
    written = _encode_changes(changes, relations, codec, folder)
    files, counts = _change_inputs(written, inputs, relations, spark, folder)
    found = {name: SessionInput(name, relations[name].arity, folder) for name in files}
    for name, filed in files.items():
        if filed.files:
            found[name].put_files(filed)
    return found, counts


def encoded_codes(
    changes: Mapping[str, FramedChange], relations: Mapping[str, Relation], codec: Codec, folder: Folder
) -> dict[str, list[Codes]]:
    """Return the codes of changes, which workers find; `+edge` is what is inserted into `edge`."""
    written = _encode_changes(changes, relations, codec, folder)
    return {
        side: as_columns(read_state(folder, found.files, relations[side[1:]].arity).live_rows())
        for side, found in written.items()
    }
