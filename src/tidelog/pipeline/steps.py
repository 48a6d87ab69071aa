"""The steps of a job before it runs: what each reads, and where it runs."""

from collections.abc import Iterator

from tidelog.dataclass import dataclass
from tidelog.pipeline.bind import CheckedJob
from tidelog.pipeline.job import Changes, JobSource, Output, SourceFormat
from tidelog.pipeline.merging import MERGED
from tidelog.program.nodes import Atom, Stratum
from tidelog.program.suggest import counted
from tidelog.program.walk_nodes import walk


@dataclass(frozen=True, slots=True)
class JobStep:
    """One step: `makes` names what it makes, `reads` what it reads, `runs` where it runs."""

    kind: str
    makes: str
    reads: str
    runs: str


def job_steps(bound: CheckedJob) -> tuple[JobStep, ...]:
    """Return the steps of a job in their order: sources, strata, outputs."""
    return (
        *(_of_source(source) for source in bound.job.sources),
        *(_of_stratum(bound, stratum) for stratum in bound.program.strata if stratum.rules),
        *(step for output in bound.job.outputs for step in _of_output(bound, output)),
    )


def _of_source(source: JobSource) -> JobStep:
    if source.format.is_files:
        assert source.path is not None
        place = f"{source.format.value} files of {source.path}"
    elif source.format is SourceFormat.TABLE:
        place = f"table {source.table}"
    elif source.format is SourceFormat.KAFKA:
        place = f"topic {source.options.get('subscribe', '')}"
    else:
        place = f"jdbc {source.options.get('dbtable', source.options.get('query', ''))}"
    if source.is_stream:
        news = "new files" if source.format.is_files else "new messages"
        runs = "Spark; the driver settles a few rows" if source.format.is_files else "Spark"
        return JobStep("read", source.relation, f"{place}: {news}", runs)
    if source.changes is Changes.SNAPSHOT:
        return JobStep("read", source.relation, f"{place}: all rows, compared with the last load", "Spark")
    return JobStep("read", source.relation, f"{place}: rows after `{source.bookmark}`", "Spark")


def _of_stratum(bound: CheckedJob, stratum: Stratum) -> JobStep:
    bodies = [part for rule in stratum.rules for part in rule.body]
    atoms = [node.relation for node in walk(bodies) if isinstance(node, Atom)]
    own = "; itself, until nothing is new" if stratum.is_recursive else ""
    reads = ", ".join(dict.fromkeys(name for name in atoms if name not in stratum.relations))
    return JobStep(
        "derive", ", ".join(stratum.relations), f"{reads}{own}".strip("; "), _place(bound, stratum)
    )


def _place(bound: CheckedJob, stratum: Stratum) -> str:
    if bound.job.engine != "spark":
        return "the driver, on the local engine"
    from tidelog.engine.spark.equivalences import closed_for_partners  # noqa: PLC0415 - only for that engine
    from tidelog.engine.spark.law_columns import law_columns  # noqa: PLC0415 - as above
    from tidelog.engine.spark.placement import (  # noqa: PLC0415 - as above
        functions_of,
        reason_for_numbering,
        reason_for_one_place,
    )

    reason = reason_for_numbering(stratum)
    for name in sorted(functions_of(stratum, bound.program)):
        if bound.program.functors[name].is_stateful:
            reason = reason or f"the functor `{name}` is stateful"
        elif name not in (bound.options.functions or {}):
            reason = reason or f"the function `{name}` is in a C library"
    if reason is not None:
        return f"the driver: {reason}"
    law = reason_for_one_place(stratum, bound.program)
    if law is None:
        return "partners in Spark's workers"
    closed = closed_for_partners(stratum, bound.program)
    undivided = law_columns(closed.stratum, closed.program).refusal
    if undivided is not None:
        return f"one of Spark's workers: {undivided}"
    return f"partners in Spark's workers, or one of them if few facts are read: {law}"


def _of_output(bound: CheckedJob, output: Output) -> Iterator[JobStep]:
    writer = _writer(bound, output)
    by = {"parquet": writer, **dict.fromkeys(MERGED, "Spark, by MERGE")}.get(output.format, "Spark")
    names = {"path": "all facts", "table": "all facts", "feed": "its changes", "feed_table": "its changes"}
    for key, what in names.items():
        place = getattr(output, key)
        if place is not None:
            runs = writer if key in ("path", "feed") else ("Spark" if key == "feed_table" else by)
            yield JobStep("publish", place, f"{output.relation}: {what}", runs)
    if not any(getattr(output, key) for key in names):
        yield JobStep("publish", f"{bound.job.state}/relations", f"{output.relation}: all facts", writer)


def _writer(bound: CheckedJob, output: Output) -> str:
    """Return who writes the facts of an output."""
    if bound.job.engine != "spark":
        return "the driver"
    from tidelog.engine.spark.options import SparkOptions  # noqa: PLC0415 - only for that engine

    home = next(each for each in bound.program.strata if output.relation in each.relations)
    if home.rules and (place := _place(bound, home)).startswith("the driver"):
        return place
    most = int(str(bound.job.spark_options.get("driver_facts", SparkOptions.driver_facts)))
    return f"Spark's workers; the driver if there are at most {counted(max(0, most), 'fact')}"
