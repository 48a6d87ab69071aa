"""Jobs whose program calls functors of C libraries."""

from pathlib import Path

import pytest

from support.compiled import library, needs_compiler
from tidelog.engine.libraries import LibraryFunctor
from tidelog.errors import TidelogError
from tidelog.pipeline.bind import bind_job
from tidelog.pipeline.job_read import read_job
from tidelog.session.prepare import Request, prepare_text, read_text

JOB = """
[job]
program = "prog.dl"
state = "state"
libraries = ["libfunctors.so"]
library_bits = 64

[[source]]
relation = "n"
format = "csv"
path = "n.csv"

[[output]]
relation = "a"
path = "a"
"""
PROGRAM = """
.functor twice(x: number): number
.decl n(x: number)
.decl a(x: number)
a(@twice(x)) :- n(x).
"""


@needs_compiler
def test_a_job_names_its_libraries(tmp_path: Path):
    """Libraries are files beside the job; without one that has the function, the job is refused."""
    (tmp_path / "prog.dl").write_text(PROGRAM, "utf-8")
    (tmp_path / "job.toml").write_text(JOB, "utf-8")
    job = read_job(tmp_path / "job.toml")
    with pytest.raises(TidelogError) as error:
        bind_job(job)
    (tmp_path / "libfunctors.so").write_bytes(library("functors").read_bytes())

    bound = bind_job(job)

    request = Request(bound.text, bound.options)
    functions = prepare_text(request, read_text(request), ("n",)).functions
    assert [each.code for each in error.value.diagnostics] == ["library-not-found"]
    assert isinstance(functions["twice"], LibraryFunctor)
    assert functions["twice"].interface.bits == 64
