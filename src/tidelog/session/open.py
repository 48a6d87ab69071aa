"""From a request to a session: new, or where a store left off."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast, overload

from tidelog.engine.epoch import MaintainedEngine
from tidelog.engine.recorder import SessionRecorder
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.explain.proofs.provenance import HEIGHT
from tidelog.options import Named, OpenOptions, combine_options, show_options
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.session.deltas import make_delta, rule_delta
from tidelog.session.engines import EngineHandle, EngineKind, find_engine
from tidelog.session.epochs import Epochs, fingerprint
from tidelog.session.kept_epochs import recall_epochs
from tidelog.session.load import load_facts
from tidelog.session.mistakes import BY_NAME, NO_PROGRAM
from tidelog.session.prepare import Prepared, Request, prepare, prepare_text, read_text
from tidelog.session.session import Session
from tidelog.session.spark_frames import spark_failures
from tidelog.source import Source
from tidelog.store import Store
from tidelog.store.log import LoggedEpoch
from tidelog.store.mistakes import damaged
from tidelog.store.store import Loaded
from tidelog.syntax.find_source import find_source
from tidelog.values import Codec
from tidelog.values.memory import give_back_unused
from tidelog.views.delta import NO_RULES
from tidelog.views.history import History

SomeProgram = str | Path | Source


class Opening(Protocol[Named]):
    """What `open_session` is to a type checker, which reads the options from `OpenOptions`."""

    @overload
    def __call__(
        self, program: SomeProgram | None, /, *args: Named.args, **options: Named.kwargs
    ) -> Session: ...

    @overload
    def __call__(self, *args: Named.args, **options: Named.kwargs) -> Session: ...

    @overload
    def __call__(self, program: SomeProgram | None = None, *, options: OpenOptions) -> Session: ...


def _opening(_: Callable[Named, OpenOptions]) -> Callable[[Callable[..., Session]], Opening[Named]]:
    """Return what makes a function one that takes these options by name."""
    return lambda function: cast("Opening[Named]", show_options(function))


@_opening(OpenOptions)
def open_session(
    program: SomeProgram | None = None, *others: object, options: OpenOptions | None = None, **named: Any
) -> Session:
    """Return a session over an evaluated program.

    `program` is a file (a `Path`, or a string that ends in `.dl`) or the text of a program; it may be left
    out for a store. The other arguments are the fields of `tidelog.OpenOptions`, which explains them;
    `options` holds several of them, and an argument passed by name takes precedence over it.

    Raises `TidelogError` with all mistakes found.

        db = tidelog.open("pointsto.dl", facts="facts/")
        db["alias"].to_pandas()
        db.query("alias('a', x)")
        delta = db.apply(insert={"assign": [("a", "b")]})
    """
    if others:
        raise TidelogError([BY_NAME])
    chosen = combine_options(options, named)
    request = Request(None if program is None else find_source(program), chosen)
    recorder = SessionRecorder(chosen.observer, profiles=chosen.profile)
    with spark_failures(chosen.engine):
        return start_session(with_spark(request), recorder)


def with_spark(request: Request, *, once: bool = False) -> Request:
    """Return the request with what Spark needs, if it is the engine.

    Only one that follows changes continues from what is on shared storage.
    """
    options = request.options
    if options.engine != "spark":
        return request
    from tidelog.engine.spark.opening import choose_options, name_stored_facts  # noqa: PLC0415 - only for Spark

    spark = choose_options(options.spark, options.spark_options)
    if once:
        return replace(request, spark=spark)
    return replace(request.changed(facts=name_stored_facts(options.facts, spark)), spark=spark)


def start_session(request: Request, recorder: SessionRecorder) -> Session:
    """Return the session of a request; the recorder knows how far it got if this raises."""
    is_new = request.source is not None and not request.options.read_only
    store = request.options.store_folder
    if store is not None and not (is_new and not Store.exists(store)):
        return _reopen(request, store, recorder)
    if request.source is None:
        raise TidelogError([NO_PROGRAM])
    return evaluate(prepare(request, recorder), recorder)


def evaluate(prepared: Prepared, recorder: SessionRecorder) -> Session:
    """Return an evaluated session, whose store is new if the request names one."""
    request, program = prepared.request, prepared.program
    options = request.options
    if options.evaluate != "all":
        prepared = replace(prepared, warnings=(*prepared.warnings, *_not_on_demand(prepared)))
    with recorder.phase("start"):
        kind = _engine_kind(prepared)
    codec = Codec(program.types)
    store = None
    if options.store_folder is not None:
        store = Store.create(options.store_folder, prepared.text.sources, codec, inputs=prepared.inputs)
        store.keep_epochs = options.keep_epochs
    try:
        with recorder.phase("load"):
            engine = kind.maintain(kind.passes(program), codec, options.settings, prepared.functions)
            kind.profile(engine, recorder)
            # On Spark an engine continues from its storage, if there is something.
            resumed = getattr(engine, "resume", lambda: None)() if request.spark is not None else None
            if resumed is None:
                load_facts(program, options.facts, codec, engine, jobs=options.settings.jobs)
        with recorder.phase("evaluate"):
            if resumed is None:
                engine.evaluate(recorder)
        handle = EngineHandle(kind, codec, engine, options.settings, recorder.observer)
        epochs = Epochs(prepared, handle, store, resumed or 0)
        epochs.save()
    except BaseException:
        if store is not None:
            store.close()
        raise
    return Session(epochs, recorder)


def _engine_kind(prepared: Prepared) -> EngineKind:
    """Return the sort of engine that a request asks for."""
    request = prepared.request
    kind = find_engine(request.options.engine, request.spark)
    if request.options.provenance == HEIGHT:
        kind = kind.with_heights(prepared.inputs)
    return kind.on_demand(request.options.evaluate)


def _reopen(request: Request, path: Path, recorder: SessionRecorder) -> Session:
    store = Store.open(path, read_only=request.options.read_only)
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
        plain = request.changed(include_path=(), defines=None, facts=None)
        prepared = prepare_text(plain, ProgramText.read(store.snapshot_sources), store.inputs)
    with recorder.phase("start"):
        kind = _engine_kind(prepared)
    with recorder.phase("load"):
        codec = Codec(prepared.program.types)
        loaded = store.load(codec)
        program = kind.passes(prepared.program)
        engine = kind.maintain(program, codec, request.options.settings, prepared.functions)
        kind.profile(engine, recorder)
        if loaded.fingerprint == fingerprint(program, kind):
            if not _import_image(engine, loaded):
                engine.import_state(loaded.state)
        else:
            engine.numbering.take(loaded.state.numbers)
            for name, relation in loaded.state.relations.items():
                if relation.is_input.any():
                    engine.insert(name, [column[relation.is_input] for column in relation.columns])
            engine.evaluate(recorder)
        store.release_files()
        give_back_unused()
    handle = EngineHandle(kind, codec, engine, request.options.settings, recorder.observer)
    if request.options.keep_epochs is not None:
        store.keep_epochs = request.options.keep_epochs
    history = History(store.keep_epochs)
    history.note_text(0, prepared.text)
    recall_epochs(loaded.past, history, prepared, codec)
    with recorder.phase("evaluate"):
        for epoch in loaded.epochs:
            _check_inputs(epoch, prepared, handle, store.path)
            prepared = _apply_again(epoch, prepared, handle, history)
    if request.options.facts is not None:
        prepared = replace(prepared, warnings=(*prepared.warnings, _facts_not_read(store.path)))
    # Rules that are added later may include files.
    prepared = replace(prepared, request=request.changed(facts=None))
    return Session(Epochs(prepared, handle, store, store.epoch, history), recorder)


def _import_image(engine: MaintainedEngine, loaded: Loaded) -> bool:
    """Let an engine have the state as it was in memory; say whether there is such an image that it takes."""
    take = getattr(engine, "import_image", None)
    if loaded.image is None or take is None:
        return False
    return bool(take(loaded.state, loaded.image.about["engine"], loaded.image.array))


def _check_inputs(epoch: LoggedEpoch, prepared: Prepared, handle: EngineHandle, path: Path) -> None:
    """Raise if an epoch inserts what is there or deletes what is not; engines rely on changes that fit."""
    for name, change in epoch.change.changes.items():
        if name not in prepared.program.relations:
            continue
        if handle.engine.is_input(name, change.inserted).any():
            found = f"it inserts facts of `{name}` that are there"
        elif not handle.engine.is_input(name, change.deleted).all():
            found = f"it deletes facts of `{name}` that are not there"
        else:
            continue
        raise damaged(path, f"epoch {epoch.change.epoch}", found)


def _apply_again(epoch: LoggedEpoch, prepared: Prepared, handle: EngineHandle, history: History) -> Prepared:
    """Bring the engine to an epoch of the log; return the program that it has from there on."""
    change, engine, maintenance = epoch.change, handle.engine, prepared.request.options.maintenance
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
    text = read_text(request)
    if text.sources[0].text != store.sources[0].text:
        raise TidelogError(
            [
                Diagnostic(
                    code="store-differs",
                    message=f"the store `{store.path}` was created with another program",
                    hint="open it without a program, and change its rules with add_rules and remove_rules",
                )
            ]
        )


def _not_on_demand(prepared: Prepared) -> Iterator[Diagnostic]:
    """Yield the relations that questions cannot derive, with the reasons."""
    from tidelog.plan.demand import split_by_demand  # noqa: PLC0415 - few ask for it

    split = split_by_demand(prepared.program, prepared.request.options.evaluate)
    for name, reason in split.whole.items():
        yield Diagnostic(
            code="not-on-demand",
            message=f"`{name}` is evaluated in full: {reason}",
            span=prepared.program.relations[name].span,
            hint="its facts, and those that it reads, are derived when the session is opened",
            severity=Severity.WARNING,
        )


def _facts_not_read(path: Path) -> Diagnostic:
    return Diagnostic(
        code="facts-not-read",
        message=f"the store `{path}` has its facts already, so the facts you passed were not read",
        hint="change facts with db.apply, or make a new store",
        severity=Severity.WARNING,
    )
