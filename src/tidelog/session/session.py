"""The object a user holds: a program, its facts, and everything derived from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tidelog.engine.protocol import Observer, Settings, UserFunctions
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.program.suggest import did_you_mean
from tidelog.session.engines import EngineName, find_engine
from tidelog.session.functions import bind_functions
from tidelog.session.load import Facts, load_facts, name_inputs
from tidelog.session.memory import parse_memory_size
from tidelog.session.recorder import Recorder, Statistics
from tidelog.session.text import find_source
from tidelog.session.write import write_outputs
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec, Value
from tidelog.views import Answer, RelationView, Snapshot, answer_query


@dataclass(frozen=True, slots=True)
class Request:
    """Everything `open` was asked for; its docstring says what each part means."""

    source: Source
    facts: Facts = None
    engine: str = "local"
    settings: Settings = Settings()  # noqa: RUF009 - frozen, and the same for every request
    functions: Mapping[str, Callable[..., Value]] | None = None
    include_path: tuple[Path, ...] = ()
    defines: Mapping[str, str] | None = None


def open_session(  # noqa: PLR0913 - each is a choice of its own, all but the program have a default
    program: str | Path,
    *,
    facts: Path | str | Mapping[str, object] | None = None,
    engine: EngineName = "local",
    jobs: int | None = None,
    memory_limit: int | str | None = None,
    functions: Mapping[str, Callable[..., Value]] | None = None,
    include_path: Sequence[Path | str] = (),
    defines: Mapping[str, str] | None = None,
    observer: Observer | None = None,
) -> "Session":
    """Return a session over an evaluated program.

    `program` is a file (a `Path`, or a string that ends in `.dl`) or the text of a program. `facts`
    is a folder, read as the program's `.input` directives say, or a mapping from relations to facts:
    tuples, a pandas or polars frame, anything that speaks Arrow, a mapping of columns, or the path
    of a CSV, TSV, Parquet or JSON file. Without facts the inputs are empty. `jobs` is the number of
    threads (all cores unless told), `memory_limit` an amount such as `"4G"` beyond which the
    evaluation stops, `functions` Python callables for `.functor` declarations (before those
    registered with `@tidelog.functor`), `include_path` folders for `#include`, `defines` macros,
    `observer` receives progress. Raises `TidelogError` with all mistakes found.

        db = tidelog.open("pointsto.dl", facts="facts/")
        db["alias"].to_pandas()
        db.query("alias('a', x)")
    """
    settings = make_settings(jobs, memory_limit)
    request = Request(
        find_source(program),
        facts,
        engine,
        settings,
        functions,
        tuple(Path(folder) for folder in include_path),
        defines,
    )
    recorder = Recorder(observer)
    return start_session(prepare(request, recorder), recorder)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request whose program was found right, before any fact is read."""

    request: Request
    program: Program
    warnings: tuple[Diagnostic, ...]
    functions: UserFunctions


def prepare(request: Request, recorder: Recorder) -> Prepared:
    """Return the checked program of a request and the functions it needs."""
    with recorder.phase("parse"):
        tree = parse(request.source, include_path=request.include_path, defines=request.defines)
        program, warnings = build_program(tree)
        program = name_inputs(program, request.facts)
        functions = bind_functions(program, request.functions)
    return Prepared(request, program, _without_given(warnings, program, request.facts), functions)


def start_session(prepared: Prepared, recorder: Recorder) -> "Session":
    """Return an evaluated session; the recorder knows how far it got if this raises."""
    request, program, functions = prepared.request, prepared.program, prepared.functions
    with recorder.phase("start"):
        engine_class = find_engine(request.engine)
    with recorder.phase("load"):
        codec = Codec(program.types)
        engine = engine_class(program, codec, request.settings, functions)
        load_facts(program, request.facts, codec, engine)
    with recorder.phase("evaluate"):
        engine.evaluate(recorder)
    snapshot = Snapshot(
        program,
        codec,
        engine,
        lambda other: engine_class(other, codec, request.settings, functions),
    )
    return Session(snapshot, recorder, prepared.warnings)


class Session:
    """An evaluated program: `db[name]` is a relation, `db.query(...)` an answer.

    Made by `tidelog.open`; usable as a context manager, after which it holds nothing.
    """

    def __init__(self, snapshot: Snapshot, recorder: Recorder, warnings: tuple[Diagnostic, ...]) -> None:
        self._program = snapshot.program
        self._snapshot: Snapshot | None = snapshot
        self._recorder = recorder
        self._warnings = warnings

    @property
    def program(self) -> Program:
        """Return the checked program."""
        return self._program

    @property
    def snapshot(self) -> Snapshot:
        """Return what is known, for tools that work on codes."""
        if self._snapshot is None:
            raise TidelogError([Diagnostic(code="session-closed", message="the session is closed")])
        return self._snapshot

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the names of all relations."""
        return tuple(self._program.relations)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return what the checks found strange but not wrong."""
        return self._warnings

    @property
    def statistics(self) -> Statistics:
        """Return what the session took: seconds per phase, and every stratum's numbers."""
        return self._recorder.statistics()

    def __getitem__(self, name: str) -> RelationView:
        snapshot = self.snapshot
        if name not in self._program.relations:
            raise TidelogError([self._unknown(name)])
        return RelationView(self._program.relations[name], snapshot.engine, snapshot.codec)

    def __contains__(self, name: object) -> bool:
        return name in self._program.relations

    def __iter__(self) -> Iterator[str]:
        return iter(self._program.relations)

    def __len__(self) -> int:
        return len(self._program.relations)

    def query(self, text: str) -> Answer:
        """Return the bindings of the query's variables, in the order they first occur.

        A query is one atom or a whole body, with strings in single or double quotes:

            db.query("path(1, x)")
            db.query("edge(x, y), !edge(y, x), x < 10")
        """
        return answer_query(text, self.snapshot)

    def write(self, directory: Path | str) -> None:
        """Write every `.output` relation as its directive says, all of them or none."""
        snapshot = self.snapshot
        with self._recorder.phase("write"):
            write_outputs(snapshot, Path(directory))

    def close(self) -> None:
        """Let go of all facts; only the program and the statistics can be asked afterwards."""
        self._snapshot = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._snapshot is None:
            return "<closed session>"
        sizes = ", ".join(f"{name}: {self._snapshot.engine.size(name):,}" for name in self.relations)
        return f"<session {sizes}>"

    def _unknown(self, name: str) -> Diagnostic:
        return Diagnostic(
            code="undeclared-relation",
            message=f"the program has no relation `{name}`",
            hint=did_you_mean(name, self.relations, f"it has {', '.join(self.relations) or 'none'}"),
        )


def make_settings(jobs: int | None, memory_limit: int | str | None) -> Settings:
    """Return the settings a user chose; None leaves the default."""
    settings = Settings()
    if jobs is not None:
        if jobs < 1:
            raise TidelogError([Diagnostic(code="bad-jobs", message=f"{jobs} is not a number of threads")])
        settings = replace(settings, jobs=jobs)
    if memory_limit is not None:
        settings = replace(settings, memory_limit_bytes=parse_memory_size(memory_limit))
    return settings


def _without_given(warnings: Sequence[Diagnostic], program: Program, facts: Facts) -> tuple[Diagnostic, ...]:
    """Leave out the warnings that a relation has no source when facts are given for it."""
    given = facts if isinstance(facts, Mapping) else {}
    spans = {program.relations[name].span for name in given}
    return tuple(
        warning
        for warning in warnings
        if not (
            warning.severity is Severity.WARNING and warning.code == "no-source" and warning.span in spans
        )
    )
