"""Job files: what they say, and every mistake in them with its line. None of this needs Spark."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from support.pipelines import JOB, PROGRAM, write_job
from tidelog.cli.app import app
from tidelog.errors import TidelogError
from tidelog.pipeline import (
    Changes,
    JobSource,
    Output,
    Pipeline,
    SourceFormat,
    TriggerKind,
    parse_job,
    read_job,
)
from tidelog.pipeline.toml_places import read_toml
from tidelog.source import Source as Text

HEAD = '[job]\nprogram = "access.dl"\nstate = "state"\n'


def mistakes(text: str) -> list[tuple[str, int]]:
    """Return the code and the line of every mistake in a job."""
    with pytest.raises(TidelogError) as caught:
        parse_job(text)
    found = caught.value.diagnostics
    assert all(each.span is not None and each.hint for each in found)
    return [(each.code, each.span.line) for each in found if each.span is not None]


def bound_mistakes(folder: Path, text: str) -> list[tuple[str, int]]:
    """Return the code and the line of every mistake that shows with the program."""
    path = write_job(folder, text)
    with pytest.raises(TidelogError) as caught:
        Pipeline.read(path)
    return [(each.code, 0 if each.span is None else each.span.line) for each in caught.value.diagnostics]


def test_a_job_is_read():
    """Every key of a job arrives where it belongs."""
    job = parse_job(
        HEAD
        + """
name = "nightly"
engine = "local"
bad_rows = "fail"
defines = { LIMIT = 3 }
[trigger]
kind = "interval"
every = "1.5 minutes"
[spark]
master = "local[2]"
conf = { spark.sql.shuffle.partitions = 4, "spark.ui.enabled" = false }
[[source]]
name = "grants"
relation = "grant"
format = "csv"
path = "grants"
changes = "op"
op = "kind"
inserts = ["I", "U"]
deletes = ["D"]
order = "at"
columns = { level = "rights" }
options = { sep = ";" }
[[output]]
relation = "can"
path = "out/can"
every = 5
"""
    )

    assert (job.name, job.bad_rows, job.defines) == ("nightly", "fail", {"LIMIT": "3"})
    assert (job.trigger.kind, job.trigger.every_seconds) == (TriggerKind.INTERVAL, 90.0)
    assert job.conf == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    assert job.sources == (
        JobSource(
            "grant", SourceFormat.CSV, "grants", "grants", changes=Changes.OP, columns={"level": "rights"},
            op="kind", inserts=("I", "U"), deletes=("D",), order="at", options={"sep": ";"},
        ),
    )  # fmt: skip
    assert job.outputs == (Output("can", "out/can", every=5),)


WRONG = {
    "no TOML": ("[job\n", [("job-syntax", 1)]),
    "an open list": (HEAD + "include = [1,", [("job-syntax", 4)]),
    "deep lists": ("x = " + "[" * 2000, [("job-syntax", 1)]),
    "a number of thousands of digits": ("x = " + "9" * 5000, [("job-syntax", 1)]),
    "empty": ("", [("missing-job-key", 1)]),
    "unknown part": (HEAD + "[sources]\n", [("unknown-job-key", 4)]),
    "threads in words": (HEAD + 'jobs = "many"\n', [("bad-jobs", 4)]),
    "a strategy that is not there": (
        HEAD + 'iteration_limit = 5\nstrategy = "fast"\n',
        [("unknown-strategy", 5)],
    ),
    "unknown key": (HEAD + 'enigne = "local"\n', [("unknown-job-key", 4)]),
    "no program": ('[job]\nstate = "s"\n', [("missing-job-key", 1)]),
    "no text": ('[job]\nprogram = 3\nstate = "s"\n', [("wrong-job-value", 2)]),
    "work elsewhere": (HEAD + 'work = "s3://a/b"\n', [("wrong-job-value", 4)]),
    "options as text": (HEAD + '[spark]\nengine = "local"\n', [("wrong-job-value", 5)]),
    "no list": (HEAD + 'include = "a"\n', [("wrong-job-value", 4)]),
    "no table": (HEAD + 'defines = "a"\n', [("wrong-job-value", 4)]),
    "no text in a table": (HEAD + "defines = { a = [1] }\n", [("wrong-job-value", 4)]),
    "unknown engine": (HEAD + 'engine = "sprak"\n', [("wrong-job-value", 4)]),
    "one bracket": (HEAD + '[source]\nrelation = "a"\n', [("wrong-job-value", 4)]),
    "job as text": ('job = "a"\n', [("wrong-job-value", 1)]),
    "no interval": (HEAD + '[trigger]\nkind = "interval"\n', [("missing-job-key", 4)]),
    "bad interval": (HEAD + '[trigger]\nkind = "interval"\nevery = "soon"\n', [("wrong-job-value", 6)]),
    "once every": (HEAD + '[trigger]\nkind = "once"\nevery = "1 day"\n', [("wrong-job-value", 6)]),
    "no format": (HEAD + '[[source]]\nrelation = "a"\n', [("missing-job-key", 4)]),
    "bad format": (HEAD + '[[source]]\nrelation = "a"\nformat = "xml"\n', [("wrong-job-value", 6)]),
    "no path": (HEAD + '[[source]]\nrelation = "a"\nformat = "csv"\n', [("missing-job-key", 4)]),
    "path of a table": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "table"\ntable = "t"\npath = "p"\n',
        [("wrong-job-value", 8)],
    ),
    "table of files": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "orc"\ntable = "t"\npath = "p"\n',
        [("wrong-job-value", 7)],
    ),
    "no table's name": (HEAD + '[[source]]\nrelation = "a"\nformat = "table"\n', [("missing-job-key", 4)]),
    "JDBC without a place": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "jdbc"\n',
        [("missing-job-key", 4), ("missing-job-key", 4)],
    ),
    "Kafka as a snapshot": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "kafka"\nchanges = "snapshot"\n'
        'options = { kafka.bootstrap.servers = "h:1" }\n',
        [("wrong-job-value", 7)],
    ),
    "no bookmark": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "table"\ntable = "t"\nchanges = "insert"\n',
        [("missing-job-key", 4)],
    ),
    "needless bookmark": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "csv"\npath = "p"\nbookmark = "n"\n',
        [("wrong-job-value", 8)],
    ),
    "op of a snapshot": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "csv"\npath = "p"\nop = "o"\n',
        [("wrong-job-value", 8)],
    ),
    "one word for both": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "csv"\npath = "p"\nchanges = "op"\ndeletes = ["+"]\n',
        [("wrong-job-value", 9)],
    ),
    "fields of Parquet": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "parquet"\npath = "p"\nfields = ["a"]\n',
        [("wrong-job-value", 8)],
    ),
    "two of a name": (
        HEAD + '[[source]]\nrelation = "a"\nformat = "csv"\npath = "p"\n'
        '[[source]]\nrelation = "a"\nformat = "csv"\npath = "q"\n',
        [("duplicate-source", 8)],
    ),
    "an output of nothing": (HEAD + "[[output]]\n", [("missing-job-key", 4)]),
    "never": (HEAD + '[[output]]\nrelation = "a"\nevery = 0\n', [("wrong-job-value", 6)]),
    "format of files": (HEAD + '[[output]]\nrelation = "a"\nformat = "csv"\n', [("wrong-job-value", 6)]),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_a_job_has_its_line(name):
    """Every mistake is a diagnostic with a hint at the line that is wrong, and they come all at once."""
    text, expected = WRONG[name]

    assert mistakes(text) == expected


BOUND = {
    "relation of a source": ('relation = "member"', 'relation = "membre"', [("undeclared-relation", 7)]),
    "relation of an output": ('relation = "can"', 'relation = "cna"', [("undeclared-relation", 19)]),
    "column": ("level =", "levle =", [("unknown-column", 16)]),
    "no output": (JOB[JOB.index("[[output]]") :], "", [("missing-job-key", 2)]),
    "twice": ("[[output]]", '[[output]]\nrelation = "can"\n[[output]]', [("duplicate-output", 21)]),
    "one place for two": ("published/can_feed", "published/can", [("duplicate-output", 21)]),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUND)
def test_a_job_that_does_not_fit_its_program(name, tmp_path):
    """Relations, columns and places are checked before anything is read."""
    old, new, expected = BOUND[name]
    assert old in JOB

    assert bound_mistakes(tmp_path, JOB.replace(old, new, 1)) == expected


def test_a_job_has_the_options_of_a_session(tmp_path):
    """Options of `tidelog.open` that a job has are those of its session."""
    text = JOB.replace("[job]\n", '[job]\njobs = 2\nmemory_limit = "4G"\nstrategy = "recompute"\n', 1)

    pipeline = Pipeline.read(write_job(tmp_path, text))

    assert pipeline.job.options == {"jobs": 2, "memory_limit": "4G", "strategy": "recompute"}
    assert (pipeline._bound.options.jobs, pipeline._bound.options.memory_limit) == (2, "4G")


def test_mistakes_in_the_program_are_told(tmp_path):
    """A job whose program is wrong is answered with the program's diagnostics."""
    path = write_job(tmp_path, JOB, PROGRAM + "can(u, x) :- member(u, _).\n")

    with pytest.raises(TidelogError) as caught:
        Pipeline.read(path)

    assert [each.code for each in caught.value.diagnostics] == ["unbound-variable"]


@pytest.mark.parametrize("content", [None, b"\xff"])
def test_a_job_that_cannot_be_read(content, tmp_path):
    """A missing file and one that is not text are told as such."""
    if content is not None:
        (tmp_path / "job.toml").write_bytes(content)

    with pytest.raises(TidelogError) as caught:
        read_job(tmp_path / "job.toml")

    assert [each.code for each in caught.value.diagnostics] == ["unreadable-job"]


def test_the_command_checks_a_job(tmp_path):
    """`tidelog pipeline check` needs no Spark, names mistakes with their lines, and exits with 1."""
    good = write_job(tmp_path)
    bad = tmp_path / "bad.toml"
    bad.write_text(JOB.replace('format = "csv"', 'format = "cvs"'), encoding="utf-8")

    done = [
        subprocess.run(
            [sys.executable, "-m", "tidelog", "pipeline", "check", path.name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for path in (good, bad)
    ]

    assert [each.returncode for each in done] == [0, 1]
    assert done[0].stdout.endswith("\njob.toml: sources: 2, outputs: 1, no mistakes\n")
    as_json = CliRunner().invoke(app, ["pipeline", "check", str(bad), "--format", "json"])
    assert as_json.exit_code == 1
    assert [each["code"] for each in json.loads(as_json.stdout)] == ["wrong-job-value"]
    assert done[1].stderr.startswith("bad.toml:13:10: error[wrong-job-value]: there is no format `cvs`\n")


# --- places ----------------------------------------------------------------------------------

KEYS = st.from_regex(r"[a-z]{1,3}", fullmatch=True)
VALUES = st.recursive(
    st.one_of(
        st.booleans().map(lambda value: str(value).lower()),
        st.integers(-99, 99).map(str),
        st.sampled_from(
            ['"a"', "'b#'", '"]\\"}"', '"""x\n"y" ""z"""', "'''[\n]'''", "1979-05-27 07:32:00", "1.5"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: "[ " + ", # a comment ]\n ".join(parts) + "\n]"),
        st.dictionaries(KEYS, inner.filter(lambda text: "\n" not in text), max_size=3).map(
            lambda pairs: "{ " + ", ".join(f"{key} = {value}" for key, value in pairs.items()) + " }"
        ),
    ),
    max_leaves=5,
)


@given(st.lists(st.tuples(KEYS, st.booleans(), st.dictionaries(KEYS, VALUES, max_size=3)), max_size=4))
def test_places_are_those_of_the_values(parts):
    """The text at the place of a value, read by itself, is the value."""
    text = ""
    for name, is_array, pairs in parts:
        text += f"[[{name}]] # many\n" if is_array else f"[ '{name}' ]\n"
        text += "".join(f"{key} = {value}\n" for key, value in pairs.items())
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return

    content, places = read_toml(Text("job.toml", text))

    for way, span in places.values.items():
        value: object = content
        for part in way:
            value = value[part]  # type: ignore[index]
        assert tomllib.loads(f"x = {span.text}")["x"] == value


def test_a_job_with_an_impossible_name_is_unreadable():
    """A path with a null byte in it is told like any other that cannot be read."""
    with pytest.raises(TidelogError, match="unreadable-job"):
        read_job(Path("a\0b.toml"))
