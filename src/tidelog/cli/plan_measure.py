"""`tidelog plan --measure`: what ran, and what it was expected to do."""

from dataclasses import replace
from pathlib import Path

from tidelog.cli.parameters import OutputFormat
from tidelog.cli.plan import write_plan
from tidelog.cli.programs import read_program, with_facts
from tidelog.cli.start import spare_pandas
from tidelog.engine.local import LocalEngine
from tidelog.engine.profile.recorder import ProfileRecorder
from tidelog.engine.recorder import SessionRecorder
from tidelog.options import OpenOptions
from tidelog.plan.passes import keep_wanted
from tidelog.plan.statistics import KnownSizes
from tidelog.session.load import load_facts
from tidelog.session.prepare import Request, prepare
from tidelog.values import Codec


def measure_plan(path: Path, options: OpenOptions, form: OutputFormat) -> None:
    """Evaluate the program on one thread and print the plans that ran, with what their operators yielded."""
    spare_pandas()
    options = replace(with_facts(options, path), jobs=1)
    request = Request(read_program(path), options)
    recorder = SessionRecorder()
    prepared = prepare(request, recorder)
    program = keep_wanted(prepared.program)
    codec = Codec(program.types)
    engine = LocalEngine(program, codec, options.settings, prepared.functions)
    engine.profile = ProfileRecorder()
    load_facts(program, options.facts, codec, engine)
    engine.evaluate(recorder)
    sizes = KnownSizes({name: float(engine.size(name)) for name in program.relations})
    write_plan(program, sizes, form, engine.profile.measurements.gather())
