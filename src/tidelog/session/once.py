"""A program evaluated once, without what following changes and keeping states takes."""

from tidelog.engine.recorder import SessionRecorder
from tidelog.session.engines import find_engine
from tidelog.session.load import load_facts
from tidelog.session.prepare import Prepared
from tidelog.values import Codec
from tidelog.views import Snapshot


def evaluate_once(prepared: Prepared, recorder: SessionRecorder) -> Snapshot:
    """Return what a program derives, from an engine that will not follow changes."""
    options, program, functions = prepared.request.options, prepared.program, prepared.functions
    with recorder.phase("start"):
        kind = find_engine(options.engine, prepared.request.spark)
    with recorder.phase("load"):
        codec = Codec(program.types)
        engine = kind.evaluate(kind.passes(program), codec, options.settings, functions)
        load_facts(program, options.facts, codec, engine)
    with recorder.phase("evaluate"):
        engine.evaluate(recorder)
    return Snapshot(
        program,
        codec,
        engine,
        lambda other: kind.evaluate(kind.passes(other), codec, options.settings, functions),
    )
