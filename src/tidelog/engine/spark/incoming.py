"""Facts as they come to an engine: columns that the driver has, data frames, and files that workers read.

Workers turn frames and files into files of codes before anything is evaluated. A relation with facts of
several kinds has all of them in these files, each fact once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tidelog.engine.code_rows import as_rows
from tidelog.engine.protocol import Columns
from tidelog.engine.spark.cluster import reason_against_barrier
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.frames import read_columns
from tidelog.engine.spark.ingest import CodeFiles, FrameFacts, facts_of_columns, write_frames
from tidelog.engine.spark.job import BarrierJob, run_apart, run_job
from tidelog.engine.spark.options import SparkOptions
from tidelog.program.nodes import Relation
from tidelog.storage import StoredRelation
from tidelog.storage.kernel import CodeArray
from tidelog.values import Codec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# A large file is cut into so many shares for each partner: they do not take equally long.
_SHARES_PER_PARTNER: Final = 4


class IncomingFacts:
    """Takes the input facts of an engine, which inherits this, until `write_incoming` is called."""

    def __init__(self, codec: Codec, options: SparkOptions, folder: Folder, partners: int) -> None:
        self._codec = codec
        self._options = options
        self._folder = folder
        self._partners = partners
        self._most_shares = _SHARES_PER_PARTNER * partners
        self._columns: dict[str, list[Columns]] = {}
        self._frames: dict[str, list[FrameFacts]] = {}
        # Files that workers wrote of what they read, whose texts have no codes yet.
        self._read_files: dict[str, list[str]] = {}

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts."""
        self._columns.setdefault(relation, []).append(columns)

    def insert_frame(self, relation: str, frame: "DataFrame") -> None:
        """Insert the rows of a data frame with columns c0, c1, ...; workers encode them, see `ingest`."""
        self._frames.setdefault(relation, []).append(FrameFacts(frame))

    def insert_files(self, relation: str, files: Sequence[str]) -> None:
        """Insert the facts in files of the folder, with columns c0, c1, ...: codes of numbers, and texts."""
        self._read_files.setdefault(relation, []).extend(files)

    @property
    def most_driver_facts(self) -> int:
        """Return how many rows of a frame or a file are better read by the driver."""
        return max(0, self._options.driver_facts)

    @property
    def most_shares(self) -> int:
        """Return into how many shares a file is worth cutting."""
        return self._most_shares

    @property
    def folder_uri(self) -> str:
        """Return the folder that driver and workers share."""
        return self._folder.uri

    def work_apart(self, module: str, function: str, payload: object, parts: int) -> list[str]:
        """Return what workers reply, each of which does one part of some work."""
        job = BarrierJob(module, function, payload, parts, self._options.attempts, self._options.safety)
        return [reply.text for reply in run_apart(self._options.spark, job)]

    def _work_together(self, module: str, function: str, payload: Callable[[int], object]) -> list[str]:
        """Return what connected workers reply, or one worker if there cannot be several."""
        options, partners = self._options, self._partners
        if partners > 1 and reason_against_barrier(options, partners) is not None:
            partners = 1
        work = module, function, payload(partners), partners, options.attempts, options.safety
        if partners == 1:
            replies = run_apart(options.spark, BarrierJob(*work))
        else:
            replies = run_job(options.spark, BarrierJob(*work, options.rendezvous))
        return [reply.text for reply in replies]

    def write_incoming(
        self, relations: Mapping[str, Relation]
    ) -> tuple[dict[str, CodeArray], dict[str, CodeFiles]]:
        """Return the facts that the driver has, by relation, and the files of those that workers wrote."""
        spark = self._options.spark
        for name, files in self._read_files.items():
            if files:
                frame = read_columns(spark, self._folder, files, relations[name].arity)
                self._frames.setdefault(name, []).append(FrameFacts(frame, are_codes=True))
        for name, facts in self._frames.items():
            # Several files can have facts of a relation, some of which were small.
            for columns in self._columns.pop(name, ()):
                facts.append(facts_of_columns(columns, relations[name], self._codec, spark))
        written = {}
        if self._frames:
            written = write_frames(self._frames, relations, self._codec, self._folder, self._work_together)
        for files in self._read_files.values():
            for file in files:
                self._folder.delete(file)
        rows = {name: _distinct(parts, relations[name].arity) for name, parts in self._columns.items()}
        self._columns, self._frames, self._read_files = {}, {}, {}
        return rows, {name: found for name, found in written.items() if found.files}


def _distinct(parts: Sequence[Columns], arity: int) -> CodeArray:
    facts = StoredRelation(arity, np.int64)
    for columns in parts:
        facts.insert(as_rows(columns, len(columns[0]) if columns else 1))
    return facts.live_rows()
