"""What a run did: epochs with their sources, strata, outputs and seconds."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.pipeline.derive import StratumWork
from tidelog.pipeline.metrics import metrics_json, metrics_text
from tidelog.store.sync import replace_file

# A job that runs for weeks has epochs by the million; totals count them all, details show the last.
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class SourceRows:
    """What a source gave to an epoch: rows that are facts, bad ones by reason, and those that came late."""

    source: str
    relation: str
    rows: int
    quarantined: Mapping[str, int]
    late: int = 0


@dataclass(frozen=True, slots=True)
class RelationRows:
    """What an epoch did to an output, or to the input facts of a relation."""

    relation: str
    inserted: int
    deleted: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class EpochRow:
    """One epoch of a run.

    `cause` is `load`, the `stream` that gave the micro-batch `batch`, or `recovered` for an epoch
    that an earlier run left unpublished. `seconds` has a number for each stage.
    """

    epoch: int
    cause: str
    batch: int | None
    sources: tuple[SourceRows, ...]
    strata: tuple[StratumWork, ...]
    inputs: tuple[RelationRows, ...]
    outputs: tuple[RelationRows, ...]
    seconds: Mapping[str, float]


@dataclass(slots=True)
class Report:
    """A run of a job, as far as it got; `skipped` counts micro-batches that were delivered again.

    `changed` has for every output how many facts were inserted and deleted; `last_epoch_seconds` is when the
    last epoch was published, in seconds since 1970. `late` has for every source how many rows had no effect
    because earlier epochs know a newer change of the same fact.
    """

    job: str
    engine: str
    started: str
    ended: str = ""
    epochs: list[EpochRow] = field(default_factory=list)
    epoch_count: int = 0
    rows: int = 0
    quarantined: dict[str, dict[str, int]] = field(default_factory=dict)
    skipped: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    failure: str | None = None
    on_epoch: Callable[[EpochRow], None] | None = None
    rows_by_source: dict[str, int] = field(default_factory=dict)
    changed: dict[str, tuple[int, int]] = field(default_factory=dict)
    last_epoch_seconds: float | None = None
    late: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, row: EpochRow) -> None:
        """Add an epoch to the totals and the details."""
        self.epoch_count += 1
        self.epochs = [*self.epochs[-_SHOWN + 1 :], row]
        for source in row.sources:
            self.rows += source.rows
            self.rows_by_source[source.source] = self.rows_by_source.get(source.source, 0) + source.rows
            self.late[source.source] = self.late.get(source.source, 0) + source.late
            by_reason = self.quarantined.setdefault(source.source, {})
            for reason, count in source.quarantined.items():
                by_reason[reason] = by_reason.get(reason, 0) + count
        for stage, seconds in row.seconds.items():
            self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        for output in row.outputs:
            inserted, deleted = self.changed.get(output.relation, (0, 0))
            self.changed[output.relation] = (inserted + output.inserted, deleted + output.deleted)
        self.last_epoch_seconds = round(time.time(), 3)
        if self.on_epoch is not None:
            self.on_epoch(row)

    @property
    def quarantined_count(self) -> int:
        """Return the number of bad rows."""
        return sum(sum(by_reason.values()) for by_reason in self.quarantined.values())

    @property
    def late_count(self) -> int:
        """Return the number of late rows."""
        return sum(self.late.values())

    def to_json(self) -> str:
        """Return the report as JSON."""
        content = asdict(replace(self, on_epoch=None))
        del content["on_epoch"]
        return json.dumps({**content, "quarantined_count": self.quarantined_count}, indent=1)

    def write(self, folder: Path) -> None:
        """Write `report.json`, `report.html`, `metrics.json` and `metrics.prom`, replacing those before."""
        from tidelog.pipeline.report_page import report_page  # noqa: PLC0415 - it needs this module

        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / "report.json", self.to_json().encode())
        replace_file(folder / "report.html", report_page(self).encode())
        replace_file(folder / "metrics.json", metrics_json(self).encode())
        replace_file(folder / "metrics.prom", metrics_text(self).encode())
