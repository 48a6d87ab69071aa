"""From sources through a program to published tables, epoch by epoch, on Spark.

pipeline = tidelog.pipeline.Pipeline.read("job.toml")
report = pipeline.run()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.pipeline.datasource import register
    from tidelog.pipeline.job import (
        BadRows,
        Changes,
        Job,
        JobSource,
        Output,
        SourceFormat,
        Trigger,
        TriggerKind,
    )
    from tidelog.pipeline.job_read import parse_job, read_job
    from tidelog.pipeline.pipeline import Pipeline
    from tidelog.pipeline.report import Report

__all__ = [
    "BadRows",
    "Changes",
    "Job",
    "JobSource",
    "Output",
    "Pipeline",
    "Report",
    "SourceFormat",
    "Trigger",
    "TriggerKind",
    "parse_job",
    "read_job",
    "register",
]

# Imported when first asked for: a job can be checked where there is no Spark.
_HOMES: Final = {
    **dict.fromkeys(
        ("BadRows", "Changes", "SourceFormat", "Job", "Output", "JobSource", "Trigger", "TriggerKind"), "job"
    ),
    "Pipeline": "pipeline",
    "Report": "report",
    "parse_job": "job_read",
    "read_job": "job_read",
    "register": "datasource",
}


def __getattr__(name: str) -> object:
    """Return a public name from the file that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog.pipeline' has no attribute {name!r}")
    return getattr(import_module(f"tidelog.pipeline.{_HOMES[name]}"), name)
