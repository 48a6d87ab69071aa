"""The one Spark session of a test run.

A test that asks for the fixture `spark` is skipped where Java is missing, and runs in the same process as
all others that do: starting a session takes seconds, and there can be only one in a process. These tests
come first: they take longer than all others together, which other processes run meanwhile.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from support.postgres import DRIVER

# Asked for by a test or by one of its fixtures.
_ASKS = re.compile(r"def \w+\([^)]*\bspark\b|usefixtures\(\"spark\"\)")
# These tests start a cluster of their own and kill it; it is started once.
_CLUSTER = "test_spark_failure.py"
_GROUPS = ("spark", "spark cluster")


def why_not() -> str | None:
    """Return why there can be no Spark session here; None if there can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - an optional package
    except ImportError:
        return "pyspark is not installed"
    if shutil.which("java") is None:
        return "Spark needs Java 17 or newer, and there is no `java` on PATH"
    return None


@cache
def _group_of_file(path: str) -> str | None:
    file = Path(__file__).parents[2] / path
    if file.name == _CLUSTER:
        return "spark cluster"
    return "spark" if _ASKS.search(file.read_text(encoding="utf-8")) else None


def group_of(test: str) -> str:
    """Return which tests run in one process with the test of this id: itself alone, or a group by file."""
    return _group_of_file(test.partition("::")[0]) or test


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take long."""
    items.sort(key=lambda item: (*_GROUPS, item.nodeid).index(group_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep groups together; the mark `xdist_group` does nothing where pytest is newer than xdist knows."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - an optional package

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return ByGroup(config, log)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Return a session with four slots: partners that stay between epochs take two of them."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional package

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        # Tests are short: compiling everything well takes longer than it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    if DRIVER.exists():
        settings["spark.driver.extraClassPath"] = str(DRIVER)
    # Workers run the Python of the tests; a session started from Python asks the environment alone.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[4]").appName("tidelog tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    interrupt = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    # Spark handles Ctrl-C its own way, which is not for tests that come later in this process.
    signal.signal(signal.SIGINT, interrupt)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
