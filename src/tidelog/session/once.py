"""A program evaluated once, without what following changes and keeping states takes."""

from collections.abc import Container

from tidelog.engine.patterns import run_warnings
from tidelog.engine.recorder import SessionRecorder
from tidelog.errors import Diagnostic
from tidelog.session.engines import find_engine
from tidelog.session.load import load_facts
from tidelog.session.prepare import Prepared
from tidelog.values import Codec
from tidelog.views import Snapshot


def evaluate_once(
    prepared: Prepared, recorder: SessionRecorder, needed: Container[str] | None = None
) -> tuple[Snapshot, list[Diagnostic]]:
    """Return what a program derives, and warnings about its facts; the engine will not follow changes.

    Files of relations that are not `needed` may be missing.
    """
    options, program, functions = prepared.request.options, prepared.program, prepared.functions
    with recorder.phase("start"):
        kind = find_engine(options.engine, prepared.request.spark)
    with recorder.phase("load"):
        codec = Codec(program.types)
        engine = kind.evaluate(kind.passes(program), codec, options.settings, functions)
        kind.profile(engine, recorder)
        warnings = load_facts(program, options.facts, codec, engine, needed, jobs=options.settings.jobs)
    with recorder.phase("evaluate"):
        engine.evaluate(recorder)
    warnings += run_warnings(codec.warnings)
    snapshot = Snapshot(
        program,
        codec,
        engine,
        lambda other: kind.evaluate(kind.passes(other), codec, options.settings, functions),
    )
    return snapshot, warnings
