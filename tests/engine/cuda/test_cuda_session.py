"""The engine `cuda` as people choose it: in a session, on the command line, and where there is no GPU."""

from typing import ClassVar

import numpy as np
import pytest

import tidelog
from support.cuda_engine import gpu, needs_compiler
from support.host_device import HostDevice
from tidelog.engine.cuda import cupy_device
from tidelog.errors import TidelogError

PATH = """
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def _kernels_run_here(monkeypatch):
    """Let the engine take this machine's processor for a GPU."""
    monkeypatch.setattr(cupy_device, "open_device", HostDevice)


@needs_compiler
@pytest.mark.usefixtures("_kernels_run_here")
def test_a_session_follows_changes():
    """A session on the GPU evaluates each epoch from scratch and gives its exact difference and proofs."""
    with tidelog.open(PATH, facts={"edge": [("a", "b"), ("b", "c")]}, engine="cuda") as db:
        delta = db.apply(insert={"edge": [("c", "d")]}, delete={"edge": [("a", "b")]})

        assert sorted(delta["path"].inserted) == [("b", "d"), ("c", "d")]
        assert sorted(delta["path"].deleted) == [("a", "b"), ("a", "c")]
        assert sorted(db.query("path(x, 'd')")) == [("b",), ("c",)]
        assert 'edge("b", "c")  [input]' in str(db.why("path('b', 'd')"))


@needs_compiler
@pytest.mark.usefixtures("_kernels_run_here")
def test_columns_stay_on_the_device():
    """Numbers are given as arrays of the device, with their types; texts are refused."""
    text = """
    .decl e(x: number, y: float, t: symbol)
    .decl f(x: number, y: float)
    f(x, y * 2.0) :- e(x, y, _), x < 0.
    .decl g(t: symbol)
    g(t) :- e(_, _, t).
    """
    with tidelog.open(
        text, facts={"e": [(-1, 1.5, "a"), (-7, 0.25, "b"), (3, 2.0, "c")]}, engine="cuda"
    ) as db:
        arrays = db["f"].to_cupy()

        assert sorted(zip(arrays["x"].tolist(), arrays["y"].tolist(), strict=True)) == [(-7, 0.5), (-1, 3.0)]
        with pytest.raises(TidelogError, match="no-device-array"):
            db["g"].to_cupy()


def test_arrays_of_a_gpu_are_facts():
    """A column that is on a GPU is fetched from there."""

    class Column:
        __cuda_array_interface__: ClassVar[dict[str, object]] = {}

        def __init__(self, values):
            self._values = values

        def get(self):
            return np.array(self._values)

    with tidelog.open(".decl e(x: number, y: number)", facts={"e": {"x": Column([1, 2]), "y": [3, 4]}}) as db:
        assert list(db["e"]) == [(1, 3), (2, 4)]


@pytest.mark.skipif(gpu() is not None, reason="this machine has a GPU")
def test_without_a_gpu_the_engine_says_what_is_missing():
    """Where CuPy or a GPU is missing, the diagnostic says so and what to do."""
    with pytest.raises(TidelogError) as caught:
        tidelog.open(PATH, engine="cuda")

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "no-gpu"
    assert diagnostic.hint
