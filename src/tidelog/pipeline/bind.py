"""A job and its program, found to fit each other."""

from collections.abc import Callable, Iterator, Mapping

from tidelog.dataclass import dataclass
from tidelog.engine.function_files import load_functions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.options import OpenOptions, combine_options
from tidelog.pipeline.job import Job
from tidelog.program.inputs import name_inputs
from tidelog.program.nodes import Program, Relation
from tidelog.program.suggest import did_you_mean, undeclared_relation
from tidelog.session.prepare import Request, prepare_text, read_text
from tidelog.source import Source as Text
from tidelog.syntax.find_source import read_source
from tidelog.values import Kind, Value


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """A job whose program was built and has the relations that the job speaks of.

    `options` are those of its session, without facts and state.
    """

    job: Job
    text: Text
    program: Program
    options: OpenOptions
    warnings: tuple[Diagnostic, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the relations that sources fill."""
        return tuple(dict.fromkeys(source.relation for source in self.job.sources))

    def relation(self, name: str) -> Relation:
        """Return a relation that the job names."""
        return self.program.relations[name]

    def kinds(self, name: str) -> tuple[Kind, ...]:
        """Return how the values of each column of a relation are read."""
        return tuple(self.program.kind_of(column.type) for column in self.relation(name).columns)


def bind_job(job: Job, own_functions: Mapping[str, Callable[..., Value]] | None = None) -> CheckedJob:
    """Return the job with its program; raises `TidelogError` with every mistake in either.

    Nothing is read but the program and the files with functions.
    """
    text = read_source(job.place(job.program))
    functions = {**load_functions([job.place(file) for file in job.functions]), **(own_functions or {})}
    inputs = tuple(dict.fromkeys(source.relation for source in job.sources))
    is_spark = job.engine == "spark"
    options = OpenOptions(
        engine="spark" if is_spark else "local",
        functions=functions,
        libraries=[job.place(file) for file in job.libraries],
        include_path=[job.place(folder) for folder in job.include],
        defines=job.defines,
        spark_options=job.spark_options if is_spark else None,
    )
    options = combine_options(options, job.options)
    request = Request(text, options)
    # Sources that name no relation of the program are told below, with their lines.
    prepared = prepare_text(request, read_text(request), ())
    known = [name for name in inputs if name in prepared.program.relations]
    program = name_inputs(prepared.program, known)
    mistakes = [*_check_relations(job, program), *_check_outputs(job)]
    if mistakes:
        raise TidelogError(mistakes)
    spans = {program.relations[name].span for name in inputs}
    warnings = tuple(
        each for each in prepared.warnings if not (each.code == "no-source" and each.span in spans)
    )
    return CheckedJob(job, text, program, options, warnings)


def _check_relations(job: Job, program: Program) -> Iterator[Diagnostic]:
    for source in job.sources:
        if source.relation not in program.relations:
            yield undeclared_relation(source.relation, program.relations, source.at("relation"))
            continue
        columns = [column.name for column in program.relations[source.relation].columns]
        for name in source.columns:
            if name not in columns:
                yield Diagnostic(
                    code="unknown-column",
                    message=f"`{source.relation}` has no column `{name}`",
                    span=source.at(f"columns.{name}"),
                    hint=did_you_mean(name, columns, f"its columns are {', '.join(columns) or 'none'}"),
                )
    for output in job.outputs:
        if output.relation not in program.relations:
            yield undeclared_relation(output.relation, program.relations, output.at("relation"))


def _check_outputs(job: Job) -> Iterator[Diagnostic]:
    if not job.outputs:
        yield Diagnostic(
            code="missing-job-key",
            message="the job publishes nothing",
            span=job.at(""),
            hint='write `[[output]]` with relation = "..."',
        )
    taken: dict[str, str] = {}
    for output in job.outputs:
        if output.relation in taken.values():
            yield Diagnostic(
                code="duplicate-output",
                message=f"`{output.relation}` is published twice",
                span=output.at("relation"),
                hint="one `[[output]]` may have `path`, `table`, `feed` and `feed_table`",
            )
            continue
        taken[f"relation {output.relation}"] = output.relation
        for key in ("path", "table", "feed", "feed_table"):
            place = getattr(output, key)
            if place is None:
                continue
            if place in taken:
                yield Diagnostic(
                    code="duplicate-output",
                    message=f"`{place}` is where `{taken[place]}` goes already",
                    span=output.at(key),
                    hint="give each its own place",
                )
            taken.setdefault(place, output.relation)
