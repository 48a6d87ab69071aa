"""What a user is told when Spark does not start, before Java is asked."""

import logging
import os
import signal

import pytest
from typer.testing import CliRunner

from tidelog import TidelogError
from tidelog.cli.app import app
from tidelog.engine.spark.starting import interruptible, start_session

pyspark = pytest.importorskip("pyspark")


@pytest.fixture(autouse=True)
def _no_session(monkeypatch):
    """Do as if this process had no Spark session yet, and make none."""
    builder = pyspark.sql.SparkSession.Builder
    monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", classmethod(lambda _: None))
    monkeypatch.setattr(builder, "getOrCreate", lambda _: pytest.fail("Spark was started"))


def _codes(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    return [each.code for each in error.value.diagnostics]


@pytest.mark.parametrize("master", ["lokal[2]", "local[two]", "spark:/host", "local-cluster[2,1]", ""])
def test_a_wrong_master_is_told(master):
    """A master that Spark would refuse with a Java stack trace is a diagnostic."""
    with pytest.raises(TidelogError) as error:
        start_session("test", master, {})

    assert "spark-bad-master" in _codes(error)


def test_a_machine_without_java_is_told(monkeypatch, tmp_path):
    """Without any Java the message says what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(TidelogError) as error:
        start_session("test", "local[2]", {})

    assert _codes(error) == ["spark-no-java"]
    assert "openjdk-17" in (error.value.diagnostics[0].hint or "")


def test_a_java_home_without_java_is_told(monkeypatch, tmp_path):
    """JAVA_HOME comes before PATH, as for Spark, also when it is wrong."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(TidelogError, match=f"JAVA_HOME is `{tmp_path}`"):
        start_session("test", "local[2]", {})


@pytest.mark.parametrize(("said", "number"), [("1.8.0_392", 8), ("11.0.21", 11)])
def test_a_java_that_is_too_old_is_told(monkeypatch, tmp_path, said, number):
    """The Java that Spark would take is asked for its number."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{said}\"' >&2\n", "utf-8")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(TidelogError, match=f"is Java {number}"):
        start_session("test", None, {})


def test_a_mistake_in_the_program_is_told_before_spark_starts(tmp_path):
    """`tidelog run --engine spark` reads the program first, for Spark takes seconds to start."""
    program = tmp_path / "bad.dl"
    program.write_text(".decl p(x: number)\np(x) :- q(x).\n", "utf-8")

    result = CliRunner().invoke(app, ["run", str(program), "--engine", "spark", "--master", "lokal"])

    assert result.exit_code == 1
    assert "undeclared-relation" in result.output
    assert "spark-bad-master" not in result.output


def test_ctrl_c_ends_the_start_once_java_can_be_ended(monkeypatch):
    """A first Ctrl-C while Java starts is held back until there is a session to stop."""
    done = []

    class Made:
        def stop(self) -> None:
            done.append("stopped")

    def start(_: object) -> Made:
        os.kill(os.getpid(), signal.SIGINT)
        done.append("started")
        session = classmethod(lambda _: Made())
        monkeypatch.setattr(pyspark.sql.SparkSession, "getActiveSession", session)
        return Made()

    monkeypatch.setattr(pyspark.sql.SparkSession.Builder, "getOrCreate", start)
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        start_session("test", "local[2]", {})

    assert done == ["started", "stopped"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_in_the_background_goes_on_ignoring_ctrl_c(monkeypatch):
    """Where Ctrl-C is ignored it stays so, while Spark starts, while it is asked and afterwards."""
    started = object()

    def start(_: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        # As Spark does.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return started

    monkeypatch.setattr(pyspark.sql.SparkSession.Builder, "getOrCreate", start)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        found = start_session("test", "local[2]", {})
        with interruptible():
            os.kill(os.getpid(), signal.SIGINT)
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert found is started
    assert after is signal.SIG_IGN


def test_ctrl_c_writes_no_traceback_of_the_bridge(caplog):
    """What py4j logs about broken questions is left out, what others log is not."""
    root = logging.getLogger()

    def log(path: str, text: str) -> None:
        root.handle(root.makeRecord("root", logging.ERROR, path, 1, text, (), None))

    with interruptible():
        log("/site-packages/py4j/clientserver.py", "while sending")
        log("/elsewhere/py4j_user.py", "heard")
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    log("/site-packages/py4j/clientserver.py", "heard again")

    assert [record.message for record in caplog.records] == ["heard", "heard again"]


def test_a_wrong_master_of_a_job_is_shown_where_it_stands(tmp_path):
    """The job's line is shown, unless the command line names the master."""
    job = tmp_path / "job.toml"
    lines = ["[job]", 'program = "p.dl"', 'state = "state"', "[spark]", 'master = "lokal"', "[[source]]"]
    lines += ['name = "e"', 'relation = "e"', 'format = "csv"', 'path = "e"', "[[output]]"]
    lines += ['relation = "p"', 'path = "out"']
    job.write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "p.dl").write_text(".decl e(x: number)\n.decl p(x: number)\np(x) :- e(x).\n", "utf-8")
    (tmp_path / "e").mkdir()

    own = CliRunner().invoke(app, ["pipeline", "run", str(job)])
    given = CliRunner().invoke(app, ["pipeline", "run", str(job), "--master", "lokal[2]"])

    assert "job.toml:5:10: error[spark-bad-master]: `lokal`" in own.output
    assert "\nerror[spark-bad-master]: `lokal[2]`" in f"\n{given.output}"
