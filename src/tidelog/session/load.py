"""Input facts, from a folder or from Python, into an engine."""

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, cast

from tidelog import io
from tidelog.engine.protocol import Codes, Engine
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.mistakes import not_needed
from tidelog.program.nodes import Directive, Program, Relation
from tidelog.session.spark_frames import WorkerFacts, is_spark_frame, read_frame
from tidelog.values import Codec
from tidelog.views import FactSet

Facts = Path | str | Mapping[str, object] | None


class FactsAndFolder(dict[str, object]):
    """Facts by relation; those of `others` are read from a folder."""

    def __init__(self, facts: Mapping[str, object], folder: Path, others: Collection[str]) -> None:
        super().__init__(facts)
        self.folder = folder
        self.others = others


def relations_with_facts(facts: object) -> tuple[str, ...]:
    """Return the relations that a mapping gives facts of; what facts cannot be is a diagnostic."""
    if facts is None or isinstance(facts, (str, PathLike)):
        return ()
    if not isinstance(facts, Mapping):
        raise TidelogError([_no_facts(facts)])
    wrong = [name for name in facts if not isinstance(name, str)]
    if wrong:
        raise TidelogError(_no_name(name) for name in wrong[:20])
    return tuple(facts)


def load_facts(
    program: Program,
    facts: Facts,
    codec: Codec,
    engine: Engine,
    needed: Container[str] | None = None,
) -> list[Diagnostic]:
    """Insert the input facts, and return warnings: files of relations that are not `needed` may be missing.

    From a folder (a path), each `.input` directive says what to read; from a mapping, each
    relation's facts are what `tidelog.io.columns_from` accepts. Without facts the inputs stay
    empty. All mistakes in all files are reported together, and then nothing was evaluated.
    """
    match facts:
        case None:
            return []
        case Mapping():
            readers = _readers_of_mapping(program, facts, codec, engine)
            if isinstance(facts, FactsAndFolder):
                readers = chain(readers, _readers_of_folder(program, facts.folder, codec, facts.others))
        case _:
            readers = _readers_of_folder(program, Path(facts), codec, program.relations)
    diagnostics: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    for name, read in readers:
        try:
            columns = read()
        except TidelogError as error:
            if needed is not None and name not in needed and error.diagnostics[0].code == "missing-fact-file":
                warnings.append(not_needed(name, error.diagnostics[0]))
            else:
                diagnostics += error.diagnostics
            continue
        if isinstance(columns, WorkerFacts):
            columns.engine.insert_frame(name, columns.frame)
        elif columns is not None and not diagnostics:
            engine.insert(name, columns)
    if diagnostics:
        raise TidelogError([*diagnostics, *warnings])
    return warnings


def columns_of(data: object, relation: Relation, program: Program, codec: Codec) -> list[Codes] | None:
    """Return the codes of facts in any form a user has them; None if a flag does not hold.

    Relations, answers and deltas are sets of tuples, so they are taken by position. Files are read
    as the relation's `.input` directives say, everything else as `tidelog.io.columns_from` says.
    """
    if not isinstance(data, FactSet):
        directives: tuple[Directive, ...] = ()
        if isinstance(data, (str, PathLike)):
            name = relation.name
            directives = tuple(x for x in program.directives if (x.kind, x.relation) == ("input", name))
        return io.columns_from(data, relation, codec, directives)
    types = tuple(column.type for column in relation.columns)
    if data.codec.symbols is codec.symbols and data.types == types and types:
        return data.codes()
    # Values and not Arrow, which has no rows without columns and only texts for records.
    return io.columns_from(list(data), relation, codec)


# None where a relation without columns does not hold.
Reader = Callable[[], "list[Codes] | WorkerFacts | None"]


def _readers_of_mapping(
    program: Program, facts: Mapping[str, object], codec: Codec, engine: Engine
) -> Iterator[tuple[str, Reader]]:
    for name, data in facts.items():
        relation = program.relations[name]
        if is_spark_frame(data) and hasattr(engine, "insert_frame"):
            yield name, partial(read_frame, cast("Any", data), relation, codec, cast("Any", engine))
        else:
            yield name, partial(columns_of, data, relation, program, codec)


def _readers_of_folder(
    program: Program, folder: Path, codec: Codec, names: Collection[str]
) -> Iterator[tuple[str, Reader]]:
    for directive in program.directives:
        if directive.kind == "input" and directive.relation in names:
            relation = program.relations[directive.relation]
            yield relation.name, partial(io.read_relation, relation, directive, codec, folder)


def _no_facts(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-facts",
        message=f"facts are given as {type(found).__name__}, which does not say of which relation they are",
        hint="give a mapping from relations to facts, facts={'edge': [(1, 2)]}, or the path of a folder",
    )


def _no_name(found: object) -> Diagnostic:
    return Diagnostic(
        code="bad-facts",
        message=f"facts are given for {found!r}, which is not the name of a relation",
        hint="the keys of facts are names: facts={'edge': [(1, 2)]}",
    )
