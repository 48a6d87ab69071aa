"""Input facts, from a folder or from Python, into an engine."""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tidelog import io
from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Codes, Engine
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io.mistakes import not_needed
from tidelog.io.take_ahead import TakeAhead, nothing_ahead
from tidelog.program.nodes import Directive, Program, Relation
from tidelog.session.spark_frames import WorkerFacts, WorkerFiles, is_spark_frame, read_frame
from tidelog.source import Span
from tidelog.values import Codec
from tidelog.views import FactSet

if TYPE_CHECKING:
    from tidelog.io.csv_read import CsvReading
    from tidelog.io.places import Place
    from tidelog.io.read_ahead import Begin

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


def load_facts(  # noqa: PLR0913 - what facts are read from, and into what
    program: Program,
    facts: Facts,
    codec: Codec,
    engine: Engine,
    needed: Container[str] | None = None,
    *,
    jobs: int = 1,
) -> list[Diagnostic]:
    """Insert the input facts, and return warnings: files of relations that are not `needed` may be missing.

    From a folder (a path), each `.input` directive says what to read; from a mapping, each
    relation's facts are what `tidelog.io.columns_from` accepts. Without facts the inputs stay
    empty. All mistakes in all files are reported together, and then nothing was evaluated.

    Large files are read by `jobs` threads; neither codes nor mistakes depend on them.
    """
    match facts:
        case None:
            return []
        case Mapping():
            sources = _sources_in_mapping(program, facts, codec, engine)
            if isinstance(facts, FactsAndFolder):
                others = _sources_in_folder(program, facts.folder, codec, engine, facts.others)
                sources = chain(sources, others)
        case _:
            sources = _sources_in_folder(program, Path(facts), codec, engine, program.relations)
    known = list(sources)
    if jobs < 2 or all(source.begin is nothing_ahead for source in known):
        return _insert(((source.relation, source.read) for source in known), engine, needed)
    from tidelog.io.read_ahead import ReadAhead  # noqa: PLC0415 - facts that are no files need none
    from tidelog.io.threads import LoadThreads  # noqa: PLC0415 - as above

    with closing(ReadAhead(LoadThreads(jobs), [source.begin for source in known])) as ahead:
        readers = (
            (source.relation, partial(source.read, partial(ahead.columns, number)))
            for number, source in enumerate(known)
        )
        return _insert(readers, engine, needed)


def _insert(
    readers: Iterable[tuple[str, "Reader"]], engine: Engine, needed: Container[str] | None
) -> list[Diagnostic]:
    """Insert what readers read, each the facts of a relation; see `load_facts`."""
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
        if isinstance(columns, WorkerFiles):
            columns.engine.insert_files(name, columns.files)
        elif isinstance(columns, WorkerFacts):
            columns.engine.insert_frame(name, columns.frame)
        elif columns is not None and not diagnostics:
            engine.insert(name, columns)
    if diagnostics:
        raise TidelogError([*diagnostics, *warnings])
    return warnings


def columns_of(
    data: object,
    relation: Relation,
    program: Program,
    codec: Codec,
    take_ahead: TakeAhead = nothing_ahead,
) -> list[Codes] | None:
    """Return the codes of facts in any form a user has them; None if a flag does not hold.

    Relations, answers and deltas are sets of tuples, so they are taken by position. Files are read
    as the relation's `.input` directives say, everything else as `tidelog.io.columns_from` says.
    """
    if not isinstance(data, FactSet):
        directives: tuple[Directive, ...] = ()
        if isinstance(data, (str, PathLike)):
            directives = _directives_of(relation.name, program)
        return io.columns_from(data, relation, codec, directives, take_ahead)
    types = tuple(column.type for column in relation.columns)
    if data.codec.symbols is codec.symbols and data.types == types and types:
        return data.codes()
    # Values and not Arrow, which has no rows without columns and only texts for records.
    return io.columns_from(list(data), relation, codec)


# None where a relation without columns does not hold.
Reader = Callable[..., "list[Codes] | WorkerFacts | WorkerFiles | None"]


@dataclass(frozen=True, slots=True)
class _Source:
    """Facts of a relation: `read` takes what was read ahead, which `begin` makes possible for some files."""

    relation: str
    read: Reader
    begin: "Begin" = nothing_ahead


def _sources_in_mapping(
    program: Program, facts: Mapping[str, object], codec: Codec, engine: Engine
) -> Iterator[_Source]:
    for name, data in facts.items():
        relation = program.relations[name]
        if is_spark_frame(data) and hasattr(engine, "insert_frame"):
            read = partial(_read_frame, cast("Any", data), relation, codec, cast("Any", engine))
            yield _Source(name, read)
            continue
        source = _Source(name, partial(columns_of, data, relation, program, codec))
        if isinstance(data, (str, PathLike)):
            path, directives = Path(data), _directives_of(name, program)
            begin = partial(io.begin_file, relation, path, codec, directives)
            find_place = partial(_place_of_file, relation, path, directives)
            source = _on_workers(replace(source, begin=begin), relation, find_place, codec, engine)
        yield source


def _read_frame(
    data: Any, relation: Relation, codec: Codec, engine: Any, take_ahead: TakeAhead = nothing_ahead
) -> "list[Codes] | WorkerFacts | None":
    del take_ahead
    return read_frame(data, relation, codec, engine)


def _sources_in_folder(
    program: Program, folder: Path, codec: Codec, engine: Engine, names: Collection[str]
) -> Iterator[_Source]:
    for directive in program.directives:
        if directive.kind == "input" and directive.relation in names:
            relation = program.relations[directive.relation]
            where = relation, directive, codec, folder
            read, begin = partial(io.read_relation, *where), partial(io.begin_relation, *where)
            source = _Source(relation.name, read, begin)
            find_place = partial(_place_of, relation, directive, folder)
            yield _on_workers(source, relation, find_place, codec, engine, directive.span)


def _on_workers(  # noqa: PLR0913, PLR0917 - a file, and what reads it
    source: _Source,
    relation: Relation,
    find_place: "Callable[[], Place]",
    codec: Codec,
    engine: Engine,
    span: Span | None = None,
) -> _Source:
    """Return a source whose file workers read if it is large and the engine's workers read files."""
    if not hasattr(engine, "insert_files"):
        return source
    from tidelog.session.worker_files import FileOnWorkers  # noqa: PLC0415 - only with Spark

    shared = FileOnWorkers(relation, find_place, codec, cast("Any", engine), span)

    def begin() -> "CsvReading | None":
        return None if shared.file is not None else source.begin()

    def read(take_ahead: TakeAhead = nothing_ahead) -> "list[Codes] | WorkerFacts | WorkerFiles | None":
        return source.read(take_ahead) if shared.file is None else shared.read()

    return _Source(source.relation, read, begin)


def _place_of(relation: Relation, directive: Directive, folder: Path) -> "Place":
    from tidelog.io.places import place_of  # noqa: PLC0415 - only with Spark

    return place_of(relation, directive, folder)


def _place_of_file(relation: Relation, path: Path, directives: tuple[Directive, ...]) -> "Place":
    from tidelog.io.guess import place_of_file  # noqa: PLC0415 - only with Spark

    return place_of_file(relation, path, directives)


def _directives_of(relation: str, program: Program) -> tuple[Directive, ...]:
    """Return the directives that say how files of a relation are read."""
    return tuple(each for each in program.directives if (each.kind, each.relation) == ("input", relation))


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
