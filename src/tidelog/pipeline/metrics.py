"""The numbers of a run for those who watch it: as JSON, and as the text that Prometheus reads."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass

if TYPE_CHECKING:
    from tidelog.pipeline.report import Report

_HELP: Final = {
    "tidelog_epochs_total": ("counter", "Epochs that this run committed."),
    "tidelog_epoch": ("gauge", "The last committed epoch."),
    "tidelog_rows_total": ("counter", "Rows of a source that were facts or changes of facts."),
    "tidelog_quarantined_total": ("counter", "Rows and files of a source in the quarantine, by reason."),
    "tidelog_late_total": ("counter", "Rows of a source behind a newer change of the same fact."),
    "tidelog_skipped_total": ("counter", "Micro-batches that were delivered again and left out."),
    "tidelog_output_facts": ("gauge", "Facts of an output."),
    "tidelog_output_changes_total": ("counter", "Facts of an output that were inserted or deleted."),
    "tidelog_stage_seconds_total": ("counter", "Seconds that a stage took."),
    "tidelog_failed": ("gauge", "1 if the run ended with a failure."),
    "tidelog_last_epoch_timestamp_seconds": (
        "gauge",
        "When the last epoch was published, in seconds since 1970.",
    ),
}


@dataclass(frozen=True, slots=True)
class RunMetric:
    """A number with a name, and what it is of."""

    name: str
    value: float
    of: Mapping[str, str]


def metrics_of(report: "Report") -> tuple[RunMetric, ...]:
    """Return the numbers of a run, as far as it got."""
    return tuple(_metrics(report))


def metrics_json(report: "Report") -> str:
    """Return the numbers as a JSON list of objects with `name`, `value` and `of`."""
    found = [{"name": each.name, "value": each.value, "of": dict(each.of)} for each in metrics_of(report)]
    return json.dumps({"job": report.job, "metrics": found}, indent=1)


def metrics_text(report: "Report") -> str:
    """Return the numbers in the text format of Prometheus, each with the job it belongs to."""
    lines: list[str] = []
    by_name: dict[str, list[RunMetric]] = {}
    for metric in metrics_of(report):
        by_name.setdefault(metric.name, []).append(metric)
    for name, metrics in by_name.items():
        kind, words = _HELP[name]
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        for metric in metrics:
            of = {"job": report.job, **metric.of}
            inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in of.items())
            lines.append(f"{name}{{{inside}}} {_number(metric.value)}")
    return "\n".join(lines) + "\n"


def _metrics(report: "Report") -> Iterator[RunMetric]:
    yield RunMetric("tidelog_epochs_total", report.epoch_count, {})
    if report.epochs:
        yield RunMetric("tidelog_epoch", report.epochs[-1].epoch, {})
    for source, rows in report.rows_by_source.items():
        yield RunMetric("tidelog_rows_total", rows, {"source": source})
    for source, by_reason in report.quarantined.items():
        for reason, count in by_reason.items():
            yield RunMetric("tidelog_quarantined_total", count, {"source": source, "reason": reason})
    for source, rows in report.late.items():
        yield RunMetric("tidelog_late_total", rows, {"source": source})
    yield RunMetric("tidelog_skipped_total", report.skipped, {})
    for output in report.epochs[-1].outputs if report.epochs else ():
        yield RunMetric("tidelog_output_facts", output.rows or 0, {"relation": output.relation})
    for relation, (inserted, deleted) in report.changed.items():
        yield RunMetric("tidelog_output_changes_total", inserted, {"relation": relation, "op": "insert"})
        yield RunMetric("tidelog_output_changes_total", deleted, {"relation": relation, "op": "delete"})
    for stage, seconds in report.seconds.items():
        yield RunMetric("tidelog_stage_seconds_total", seconds, {"stage": stage})
    yield RunMetric("tidelog_failed", int(report.failure is not None), {})
    if report.last_epoch_seconds is not None:
        yield RunMetric("tidelog_last_epoch_timestamp_seconds", report.last_epoch_seconds, {})


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(round(float(value), 6))
