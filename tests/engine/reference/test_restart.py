"""The engine that follows changes by evaluating everything again."""

import numpy as np

from support.programs import build, insert, read
from tidelog.engine.epoch import MaintenanceSettings, RelationChange
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.reference import ReferenceEngine
from tidelog.engine.reference.restart import RestartingEngine
from tidelog.maintain import LocalMaintainedEngine
from tidelog.values import Codec

LEAST = """
.decl cost(k: number, x: number)
.input cost
cost(k, x) <= cost(k, y) :- y < x.
"""


def test_an_exported_state_has_input_facts_that_a_law_leaves_out():
    """An input fact that another one subsumes is back when that one is deleted in another engine."""
    program = build(LEAST)
    codec = Codec(program.types)
    engine = RestartingEngine(
        program, lambda other, numbering: ReferenceEngine(other, codec, Settings(), {}, numbering)
    )
    insert(engine, program.relations["cost"], codec, [(0, 1), (0, 3)])
    engine.evaluate(SilentObserver())
    other = LocalMaintainedEngine(program, codec, Settings(jobs=1), {})

    other.import_state(engine.export_state())
    nothing = [np.zeros(0, np.int64)] * 2
    change = RelationChange(nothing, [np.array([0]), np.array([1])])
    other.apply({"cost": change}, MaintenanceSettings(), SilentObserver())

    assert read(other, program.relations["cost"], codec) == {(0, 3)}
