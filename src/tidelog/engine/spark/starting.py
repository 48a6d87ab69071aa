"""Starts a Spark session, or raises a diagnostic that says clearly why it cannot."""

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from tidelog.engine.spark.java_errors import java_reason
from tidelog.engine.spark.masters import against_unreachable
from tidelog.engine.spark.versions import OLDEST_JAVA, against_spark, java_remark
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.progress import activity
from tidelog.source import Span

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASK_JAVA_SECONDS: Final = 30.0
_MASTER: Final = re.compile(
    r"yarn|k8s://.+|spark://.+|"
    r"local(\[\s*(\*|\d+)\s*(,\s*\d+\s*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
)
_INSTALL_JAVA: Final = "on Debian: apt install openjdk-17-jre-headless; JAVA_HOME says where it is"
_QUIET: Final = Path(__file__).with_name("log4j2.properties")


def start_session(
    name: str, master: str | None, settings: Mapping[str, str], span: Span | None = None
) -> "SparkSession":
    """Return the Spark session of this process, or a new one with these settings.

    Without a master it is what Spark's own configuration says, or all cores of this machine. `span` is
    where a file names the master.
    """
    try:
        import pyspark  # noqa: PLC0415 - an optional package
        from pyspark.errors import PySparkException  # noqa: PLC0415 - as above
        from pyspark.sql import SparkSession  # noqa: PLC0415 - as above
    except ImportError as error:
        raise TidelogError([_missing()]) from error
    builder = SparkSession.builder.appName(name)
    if SparkSession.getActiveSession() is None:
        raise_if_any([*_against_master(master, span), *against_spark(pyspark.__version__), *_against_java()])
        raise_if_any(against_unreachable(master, span))
        settings = {**_quiet(), **settings}
        # Workers on this machine run the same Python as the driver, unless the user says otherwise.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is not None:
        builder = builder.master(master)
    for key, value in {"spark.ui.showConsoleProgress": "false", **settings}.items():
        builder = builder.config(key, value)
    try:
        with activity("starting Spark"), _without_words_of_bridge(), _interrupted_later():
            return builder.getOrCreate()
    except KeyboardInterrupt:
        if (made := SparkSession.getActiveSession()) is not None:
            made.stop()
        raise
    except Exception as error:
        # Settings are passed to Java unchecked, which rejects them with exceptions of many kinds.
        if not isinstance(error, (PySparkException, OSError, RuntimeError)) and not _is_from_java(error):
            raise
        raise TidelogError([_failed(error, span)]) from error


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Delay the first Ctrl-C until Java is up and can be ended; the second one acts at once.

    A job in the background ignores Ctrl-C, as before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = _handle_interrupts(note)
    try:
        yield
    finally:
        # Spark has installed a handler of its own; the previous one is restored.
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise a plain KeyboardInterrupt in the main thread, unless it is ignored.

    Spark's own handler would call Java in the middle of another call.
    """
    in_main = threading.current_thread() is threading.main_thread()
    before = _handle_interrupts(signal.default_int_handler) if in_main else None
    try:
        with _without_words_of_bridge():
            yield
    finally:
        if in_main:
            signal.signal(signal.SIGINT, before)


def _handle_interrupts(handler: Callable[[int, FrameType | None], object]) -> Any:
    """Install a handler for Ctrl-C unless it is ignored; return the previous one."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before if before is signal.SIG_IGN else handler)
    return before


@contextmanager
def _without_words_of_bridge() -> Iterator[None]:
    """Suppress the traceback that the bridge to Java logs for each call that was interrupted."""

    def is_of_others(record: logging.LogRecord) -> bool:
        return "py4j" not in Path(record.pathname).parts

    root = logging.getLogger()
    root.addFilter(is_of_others)
    try:
        yield
    finally:
        root.removeFilter(is_of_others)


def _against_master(master: str | None, span: Span | None) -> Iterator[Diagnostic]:
    if master is not None and _MASTER.fullmatch(master) is None:
        yield Diagnostic(
            code="spark-bad-master",
            message=f"`{master}` is not a valid master of Spark",
            span=span,
            hint="write for example local[4], local[*], spark://host:7077, yarn, or k8s://https://host:443",
        )


def _against_java() -> Iterator[Diagnostic]:
    """Yield why Spark cannot use the Java that it would start."""
    java = _own_java()
    if java is None:
        home = os.environ.get("JAVA_HOME")
        place = f"JAVA_HOME is `{home}`, which has none" if home else "there is no `java` on PATH"
        message = f"Spark needs Java {OLDEST_JAVA} or newer, and {place}"
        yield Diagnostic(code="spark-no-java", message=message, hint=_INSTALL_JAVA)
        return
    version = _java_version(java)
    if version is not None and version < OLDEST_JAVA:
        message = f"Spark needs Java {OLDEST_JAVA} or newer, and `{java}` is Java {version}"
        yield Diagnostic(code="spark-no-java", message=message, hint=_INSTALL_JAVA)


def _own_java() -> str | None:
    """Return the Java that Spark would start."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")


def _java_version(java: str) -> int | None:
    """Return the version of a Java, or None if it does not print one."""
    try:
        output = subprocess.run(  # noqa: S603 - the user's own Java
            [java, "-version"], capture_output=True, text=True, timeout=_ASK_JAVA_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    return None if found is None else int(found[1])


def _quiet() -> dict[str, str]:
    """Return the setting that keeps Spark's log out of a command's output, unless users configure Spark."""
    if "SPARK_CONF_DIR" in os.environ or "SPARK_HOME" in os.environ:
        return {}
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_QUIET.as_uri()}"}


def _is_from_java(error: Exception) -> bool:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark

    return isinstance(error, Py4JError)


def _missing() -> Diagnostic:
    return Diagnostic(
        code="spark-missing",
        message="Spark needs the package pyspark, which is not installed",
        hint="pip install 'tidelog[spark]'",
    )


def _failed(error: Exception, span: Span | None) -> Diagnostic:
    java = _own_java()
    remark = java_remark(None if java is None else _java_version(java))
    return Diagnostic(
        code="spark-no-session",
        message=f"Spark does not start: {java_reason(error)}{remark}",
        span=span,
        hint="check the master, Spark's settings, SPARK_HOME and JAVA_HOME",
    )
