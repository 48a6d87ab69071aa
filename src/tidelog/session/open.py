"""From a request to a session: new, or where a store left off."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.engine.epoch import MaintenanceSettings
from tidelog.engine.protocol import Observer
from tidelog.engine.recorder import SessionRecorder
from tidelog.engine.settings import make_settings
from tidelog.engine.strategy import choose_strategy
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.errors.arguments import Arguments, paths
from tidelog.explain.proofs.provenance import HEIGHT, check_provenance
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.session.deltas import make_delta, rule_delta
from tidelog.session.engines import EngineHandle, EngineName, find_engine
from tidelog.session.epochs import Epochs, fingerprint
from tidelog.session.load import load_facts
from tidelog.session.prepare import Prepared, Request, prepare, prepare_text
from tidelog.session.session import Session
from tidelog.source import Source
from tidelog.store import Store
from tidelog.store.log import LoggedEpoch
from tidelog.syntax.find_source import find_source
from tidelog.values import Codec, Value
from tidelog.views.delta import NO_RULES
from tidelog.views.history import History

if TYPE_CHECKING:
    from tidelog.explain.proofs.metric import Metric


def open_session(  # noqa: PLR0913 - each is a choice of its own, all have a default
    program: str | Path | Source | None = None,
    *,
    facts: Path | str | Mapping[str, object] | None = None,
    engine: EngineName = "local",
    jobs: int | None = None,
    memory_limit: int | str | None = None,
    iteration_limit: int | None = None,
    functions: Mapping[str, Callable[..., Value]] | None = None,
    include_path: Sequence[Path | str] = (),
    defines: Mapping[str, str] | None = None,
    observer: Observer | None = None,
    strategy: str = "auto",
    max_update_share: float = 0.2,
    store: Path | str | None = None,
    read_only: bool = False,
    provenance: "str | Metric | None" = None,
    spark: object = None,
    spark_options: Mapping[str, object] | None = None,
) -> Session:
    """Return a session over an evaluated program.

    `program` is a file (a `Path`, or a string that ends in `.dl`) or the text of a program. `facts`
    is a folder, read as the program's `.input` directives say, or a mapping from relations to facts:
    tuples, a pandas or polars frame, anything that speaks Arrow, a mapping of columns, or the path
    of a CSV, TSV, Parquet or JSON file. Without facts the inputs are empty. `jobs` is the number of
    threads (all cores by default), `memory_limit` an amount such as `"4G"` beyond which the
    evaluation stops, `iteration_limit` the iterations a stratum may take, `functions` Python
    callables for `.functor` declarations (before those registered with `@tidelog.functor` and
    `@tidelog.aggregate`), `include_path` folders for `#include`, `defines` macros,
    `observer` receives progress. `strategy` says how epochs are applied, and
    `max_update_share` what share of a recompute's work an update may take before it is given up for one.

    `store` is a folder that keeps the program and its state. Where it holds a store already the
    session goes on from there: the program may be left out, and `facts` are not read again.
    `read_only` sees its last epoch while another process writes to it.

    `provenance="height"` lets `why` give proofs of minimal height: iterations are counted through
    strata, and kept so by every epoch. Another metric, `"nodes"` or a `Metric`, is minimised when a
    proof is asked for.

    With `engine="spark"`, `spark` is the Spark session whose workers take part, `facts` may be its
    DataFrames, and `spark_options` are the fields of `tidelog.spark.SparkOptions`.

    Raises `TidelogError` with all mistakes found.

        db = tidelog.open("pointsto.dl", facts="facts/")
        db["alias"].to_pandas()
        db.query("alias('a', x)")
        delta = db.apply(insert={"assign": [("a", "b")]})
    """
    with Arguments() as arguments:
        _check_arguments(arguments, functions, defines, store, read_only, provenance, observer)
        arguments.text("engine", engine)
        if engine != "spark":
            only = "only the engine `spark` needs it"
            arguments.refuse(
                if_any={"spark": spark is not None, "spark_options": spark_options is not None}, because=only
            )
        arguments.refuse(if_any={"read_only": read_only and store is None}, because="there is no store")
    options = None
    if engine == "spark":
        from tidelog.engine.spark.opening import choose_options, gather_frames  # noqa: PLC0415 - only for Spark

        options = choose_options(spark, spark_options)
        facts = gather_frames(facts)
    request = Request(
        None if program is None else find_source(program),
        facts,
        engine,
        make_settings(jobs, memory_limit, iteration_limit),
        functions,
        paths("include_path", include_path),
        defines,
        choose_strategy(MaintenanceSettings(), strategy, max_update_share, engine),
        None if store is None else Path(store),
        read_only,
        options,
        provenance,
    )
    check_provenance(provenance)
    return start_session(request, SessionRecorder(observer))


def _check_arguments(  # noqa: PLR0913, PLR0917 - those of `open_session` that nothing else checks
    arguments: Arguments,
    functions: object,
    defines: object,
    store: object,
    read_only: object,
    provenance: object,
    observer: object,
) -> None:
    wanted = "a mapping from names to functions"
    arguments.mapping("functions", functions, wanted, of=callable, is_optional=True)
    wanted = "a mapping from names to texts"
    arguments.mapping("defines", defines, wanted, of=lambda each: isinstance(each, str), is_optional=True)
    arguments.path("store", store, is_optional=True)
    arguments.flag("read_only", read_only)
    is_metric = provenance is None or isinstance(provenance, str) or hasattr(provenance, "combine")
    arguments.expect("provenance", provenance, "the name of a metric or a Metric", is_right=is_metric)
    needed = ("stratum_started", "iteration_finished", "stratum_finished")
    is_observer = observer is None or all(callable(getattr(observer, name, None)) for name in needed)
    arguments.expect("observer", observer, f"an object with {', '.join(needed)}", is_right=is_observer)


def start_session(request: Request, recorder: SessionRecorder) -> Session:
    """Return the session of a request; the recorder knows how far it got if this raises."""
    is_new = request.source is not None and not request.is_read_only
    if request.store is not None and not (is_new and not Store.exists(request.store)):
        return _reopen(request, request.store, recorder)
    if request.source is None:
        raise TidelogError([_no_program()])
    return evaluate(prepare(request, recorder), recorder)


def evaluate(prepared: Prepared, recorder: SessionRecorder) -> Session:
    """Return an evaluated session, whose store is new if the request names one."""
    request, program = prepared.request, prepared.program
    with recorder.phase("start"):
        kind = find_engine(request.engine, request.spark)
        if request.provenance == HEIGHT:
            kind = kind.with_heights(prepared.inputs)
    codec = Codec(program.types)
    store = None
    if request.store is not None:
        store = Store.create(request.store, prepared.text.sources, codec, inputs=prepared.inputs)
    try:
        with recorder.phase("load"):
            engine = kind.maintain(kind.passes(program), codec, request.settings, prepared.functions)
            resumed = _resume(engine) if request.spark is not None else None
            if resumed is None:
                load_facts(program, request.facts, codec, engine)
        with recorder.phase("evaluate"):
            if resumed is None:
                engine.evaluate(recorder)
        handle = EngineHandle(kind, codec, engine, request.settings, recorder.observer)
        epochs = Epochs(prepared, handle, store, resumed or 0)
        epochs.save()
    except BaseException:
        if store is not None:
            store.close()
        raise
    return Session(epochs, recorder)


def _reopen(request: Request, path: Path, recorder: SessionRecorder) -> Session:
    store = Store.open(path, read_only=request.is_read_only)
    try:
        return _replay(request, store, recorder)
    except BaseException:
        store.close()
        raise


def _replay(request: Request, store: Store, recorder: SessionRecorder) -> Session:
    """Return the session of a store: its snapshot, and the epochs since applied again."""
    with recorder.phase("parse"):
        if request.source is not None:
            _check_same_program(request, store)
        # A stored text needs no files and no macros.
        plain = replace(request, include_path=(), defines=None, facts=None)
        prepared = prepare_text(plain, ProgramText.read(store.snapshot_sources), store.inputs)
    with recorder.phase("start"):
        kind = find_engine(request.engine, request.spark)
        if request.provenance == HEIGHT:
            kind = kind.with_heights(prepared.inputs)
    with recorder.phase("load"):
        codec = Codec(prepared.program.types)
        loaded = store.load(codec)
        program = kind.passes(prepared.program)
        engine = kind.maintain(program, codec, request.settings, prepared.functions)
        if loaded.fingerprint == fingerprint(program, kind):
            engine.import_state(loaded.state)
        else:
            engine.numbering.take(loaded.state.numbers)
            for name, relation in loaded.state.relations.items():
                if relation.is_input.any():
                    engine.insert(name, [column[relation.is_input] for column in relation.columns])
            engine.evaluate(recorder)
    handle = EngineHandle(kind, codec, engine, request.settings, recorder.observer)
    history = History()
    history.note_text(0, prepared.text)
    with recorder.phase("evaluate"):
        for epoch in loaded.epochs:
            prepared = _apply_again(epoch, prepared, handle, history)
    if request.facts is not None:
        prepared = replace(prepared, warnings=(*prepared.warnings, _facts_not_read(store.path)))
    # Rules that are added later may include files.
    prepared = replace(prepared, request=replace(request, facts=None))
    return Session(Epochs(prepared, handle, store, store.epoch, history), recorder)


def _apply_again(epoch: LoggedEpoch, prepared: Prepared, handle: EngineHandle, history: History) -> Prepared:
    """Bring the engine to an epoch of the log; return the program that it has from there on."""
    change, engine, maintenance = epoch.change, handle.engine, prepared.request.maintenance
    changes, rules = dict(change.changes), NO_RULES
    inputs = tuple(dict.fromkeys([*prepared.inputs, *changes]))
    if change.sources is None:
        prepared = replace(prepared, inputs=inputs)
        result = engine.apply(changes, maintenance, handle.observer)
    else:
        text = ProgramText.read(change.sources)
        rules = rule_delta(prepared.text, text)
        after = prepare_text(prepared.request, text, inputs)
        prepared.functions.update(after.functions)
        handle.codec.types = {**handle.codec.types, **after.program.types}
        prepared = replace(after, functions=prepared.functions)
        history.note_text(change.epoch, text)
        program = handle.kind.passes(after.program)
        result = engine.change_rules(program, maintenance, handle.observer, changes)
    derived = frozenset(rule.head.relation for rule in prepared.program.rules)
    net = NetChange(changes, {})
    history.add(
        make_delta(
            prepared.program, handle.codec, derived, change.epoch, result, epoch.commit.seconds, net, rules
        )
    )
    return prepared


def _check_same_program(request: Request, store: Store) -> None:
    assert request.source is not None
    text = ProgramText.read([request.source], request.include_path, request.defines)
    if text.sources[0].text != store.sources[0].text:
        raise TidelogError(
            [
                Diagnostic(
                    code="store-differs",
                    message=f"the store `{store.path}` was made with another program than this one",
                    hint="open it without a program, and change its rules with add_rules and remove_rules",
                )
            ]
        )


def _facts_not_read(path: Path) -> Diagnostic:
    return Diagnostic(
        code="facts-not-read",
        message=f"the store `{path}` has its facts already, so the facts you gave were not read",
        hint="change facts with db.apply, or make a new store",
        severity=Severity.WARNING,
    )


def _no_program() -> Diagnostic:
    return Diagnostic(
        code="no-program",
        message="there is neither a program nor a store to open",
        hint="tidelog.open('prog.dl'), or tidelog.open(store='folder')",
    )


def _resume(engine: object) -> int | None:
    """Return the epoch an engine can go on from, None for one that has to evaluate."""
    found = getattr(engine, "resume", None)
    return None if found is None else found()
