"""Processes with real executors, and what they should have derived."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.programs import build
from support.spark_cluster import CSPA
from support.spark_session import why_not
from tidelog.engine.local import LocalEngine
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.values import Codec

SIZED = ("ValueFlow", "ValueAlias", "MemoryAlias")


def run_cluster(*what):
    """Return what a process with real executors told of each scenario."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    script = Path(__file__).with_name("spark_cluster.py")
    done = subprocess.run(
        [sys.executable, str(script), *what], capture_output=True, text=True, timeout=800, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) > 1, done.stderr[-3000:]
    return {line["scenario"]: line for line in lines}


def sizes_of(assign, dereference):
    """Return what the local engine derives."""
    program = build(CSPA)
    codec = Codec(program.types)
    engine = LocalEngine(program, codec, Settings(jobs=1), {})
    for name, rows in (("Assign", assign), ("Dereference", dereference)):
        columns = [codec.encode_column(list(column), "number") for column in zip(*rows, strict=True)]
        engine.insert(name, columns)
    engine.evaluate(SilentObserver())
    return {name: engine.size(name) for name in SIZED}
