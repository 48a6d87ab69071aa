"""The one Spark session of a test run.

A test that asks for the fixture `spark` is skipped where Java is missing, and runs in the same process as
all others that do: starting a session takes seconds, and there can be only one in a process. These tests
come first: they take longer than all others together, which other processes run meanwhile.
"""

import os
import shutil
import signal
import sys
from collections.abc import Iterator

import pytest

# By fixture, tests that run in one process: those with a session, and those about a cluster that is killed,
# which is started once.
GROUPS = {"told": "spark cluster", "spark": "spark"}


def why_not() -> str | None:
    """Return why there can be no Spark session here; None if there can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - an optional package
    except ImportError:
        return "pyspark is not installed"
    if shutil.which("java") is None:
        return "Spark needs Java 17 or newer, and there is no `java` on PATH"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep tests with a Spark session in one worker, and begin with them."""
    others = []
    grouped: dict[str, list[pytest.Item]] = {group: [] for group in ("spark", "spark cluster")}
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        group = next((group for fixture, group in GROUPS.items() if fixture in fixtures), None)
        if group is None:
            others.append(item)
        else:
            item.add_marker(pytest.mark.xdist_group(group))
            grouped[group].append(item)
    items[:] = [*grouped["spark"], *grouped["spark cluster"], *others]


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
