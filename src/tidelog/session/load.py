"""Input facts, from a folder or from Python, into an engine."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tidelog import io
from tidelog.engine.protocol import Codes, Engine
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Directive, Program
from tidelog.program.suggest import did_you_mean
from tidelog.values import Codec

Facts = Path | str | Mapping[str, object] | None


def name_inputs(program: Program, given: Sequence[str]) -> Program:
    """Return the program with every relation that is given facts named as an input.

    Engines may leave out what no rule and no input can fill, so they are told first.
    """
    unknown = [name for name in given if name not in program.relations]
    if unknown:
        raise TidelogError(_undeclared(name, program) for name in unknown)
    added = tuple(Directive("input", name, {}) for name in given if not program.is_input(name))
    return replace(program, directives=(*program.directives, *added)) if added else program


def load_facts(program: Program, facts: Facts, codec: Codec, engine: Engine) -> None:
    """Insert the input facts.

    From a folder (a path), each `.input` directive says what to read; from a mapping, each
    relation's facts are what `tidelog.io.columns_from` accepts. Without facts the inputs stay
    empty. All mistakes in all files are reported together, and then nothing was evaluated.
    """
    match facts:
        case None:
            return
        case Mapping():
            readers = _readers_of_mapping(program, facts, codec)
        case _:
            readers = _readers_of_folder(program, Path(facts), codec)
    diagnostics: list[Diagnostic] = []
    for name, read in readers:
        try:
            columns = read()
        except TidelogError as error:
            diagnostics += error.diagnostics
            continue
        if columns is not None and not diagnostics:
            engine.insert(name, columns)
    if diagnostics:
        raise TidelogError(diagnostics)


# None where a relation without columns does not hold.
Reader = Callable[[], list[Codes] | None]


def _readers_of_mapping(
    program: Program, facts: Mapping[str, object], codec: Codec
) -> Iterator[tuple[str, Reader]]:
    for name, data in facts.items():
        yield name, partial(io.columns_from, data, program.relations[name], codec)


def _readers_of_folder(program: Program, folder: Path, codec: Codec) -> Iterator[tuple[str, Reader]]:
    for directive in program.directives:
        if directive.kind == "input":
            relation = program.relations[directive.relation]
            yield relation.name, partial(io.read_relation, relation, directive, codec, folder)


def _undeclared(name: str, program: Program) -> Diagnostic:
    return Diagnostic(
        code="undeclared-relation",
        message=f"facts are given for `{name}`, which the program does not declare",
        hint=did_you_mean(name, program.relations, f"declare it: .decl {name}(...)"),
    )
