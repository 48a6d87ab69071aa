"""The one Spark session of a test run.

A test that asks for the fixture `spark` is skipped where Java is missing, and runs in the same process as
all others that do: starting a session takes seconds, and there can be only one in a process.
"""

import os
import shutil
import sys
from collections.abc import Iterator

import pytest

GROUP = "spark"


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
    """Keep all tests with a Spark session in one worker."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(GROUP))


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
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
