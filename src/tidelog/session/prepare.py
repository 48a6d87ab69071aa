"""From a request to a checked program and the functions it needs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidelog.dataclass import dataclass
from tidelog.engine.functions import bind_functions
from tidelog.engine.recorder import SessionRecorder
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.options import OpenOptions
from tidelog.program import build_program
from tidelog.program.inputs import name_inputs
from tidelog.program.nodes import Program
from tidelog.program.text import ProgramText
from tidelog.session.load import relations_with_facts
from tidelog.source import Source
from tidelog.syntax.find_source import find_source, missing_folders
from tidelog.values import Value


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be opened: a program, or None for that of a store, and how.

    `spark` are the `SparkOptions` of a session on Spark, which is not imported for others.
    """

    source: Source | None
    options: OpenOptions = OpenOptions()
    spark: object = None

    def changed(self, **options: Any) -> "Request":
        """Return the request with other options."""
        return replace(self, options=replace(self.options, **options))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request whose program was found right, before any fact is read.

    `inputs` are the relations that have input facts though no directive may say so.
    """

    request: Request
    text: ProgramText
    program: Program
    warnings: tuple[Diagnostic, ...]
    functions: dict[str, Callable[..., Value]]
    inputs: tuple[str, ...] = ()


def read_program(
    program: str | Path | Source,
    *,
    include_path: Sequence[Path | str] = (),
    defines: Mapping[str, str] | None = None,
) -> Program:
    """Return a checked program without evaluating it; pass a file or a text, as to `tidelog.open`.

    Raises `TidelogError` with all mistakes found.
    """
    options = OpenOptions(include_path=include_path, defines=defines)
    return build_program(read_text(Request(find_source(program), options)).tree)[0]


def prepare(request: Request, recorder: SessionRecorder) -> Prepared:
    """Return the checked program of a request and the functions it needs."""
    with recorder.phase("parse"):
        text = read_text(request)
        return prepare_text(request, text, relations_with_facts(request.options.facts))


def read_text(request: Request) -> ProgramText:
    """Return the program of a request as it is written."""
    assert request.source is not None, "a program is needed"
    options = request.options
    return ProgramText.read([request.source], options.include_folders, options.defines)


def prepare_text(request: Request, text: ProgramText, inputs: Sequence[str]) -> Prepared:
    """Return another text, checked in the place of the request's program."""
    try:
        program, warnings = build_program(text.tree)
    except TidelogError as error:
        # Without a program nobody can tell which relations the facts belong to.
        raise TidelogError(
            each for each in error.diagnostics if not (inputs and _lacks_source(each))
        ) from None
    program = name_inputs(program, inputs)
    functions = dict(bind_functions(program, request.options.functions, request.options.shared_libraries))
    others = (*_about_store(request), *missing_folders(request.options.include_folders))
    all_warnings = (*_without_inputs(warnings, program, inputs), *others)
    return Prepared(request, text, program, all_warnings, functions, tuple(inputs))


def with_inputs(prepared: Prepared, names: Sequence[str]) -> Prepared:
    """Return the program with more relations that are given facts, also if rules derive them later."""
    if set(names) <= set(prepared.inputs):
        return prepared
    inputs = tuple(dict.fromkeys([*prepared.inputs, *names]))
    program = name_inputs(prepared.program, inputs)
    warnings = _without_inputs(prepared.warnings, program, inputs)
    return replace(prepared, program=program, inputs=inputs, warnings=warnings)


def _without_inputs(
    warnings: Sequence[Diagnostic], program: Program, inputs: Sequence[str]
) -> tuple[Diagnostic, ...]:
    """Leave out the warnings that a relation has no source when facts are given for it."""
    spans = {program.relations[name].span for name in inputs}
    return tuple(each for each in warnings if not (_lacks_source(each) and each.span in spans))


def _about_store(request: Request) -> Iterator[Diagnostic]:
    if request.options.store is not None and request.spark is not None:
        yield Diagnostic(
            code="spark-store",
            message="the driver writes a store and reads it: all facts must fit into its memory",
            hint="spark_options={'storage': ...} keeps the workers' state in files of their own",
            severity=Severity.WARNING,
        )


def _lacks_source(diagnostic: Diagnostic) -> bool:
    return diagnostic.severity is Severity.WARNING and diagnostic.code == "no-source"
