"""Settings that all tests share."""

import os
import signal
import threading
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from tidelog.engine import functions

# A slow machine must not fail a test: no test asserts time, neither its own nor Hypothesis'.
# Continuous integration tries the same cases every time, so that red means that something changed; random
# cases are for whoever works on the code.
settings.register_profile("tidelog", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("tidelog"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "tidelog")

# A shell starts a background job with Ctrl-C ignored, and whatever the job starts inherits that. Tests that
# send an interrupt, to themselves or to a process they started, would wait for ever.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Proofs and tables are as wide as the terminal; texts in tests and documentation are as wide as this.
os.environ["COLUMNS"] = "100"

pytest_plugins = ["support.spark_session"]


@pytest.fixture(autouse=True)
def _registered_functions_are_forgotten() -> Iterator[None]:
    """Keep a functor that one test or page of the documentation registers from the next one."""
    with patch.dict(functions._REGISTERED):
        yield
