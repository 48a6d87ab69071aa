"""A session's engine on Spark whose partners run a job for each request, in threads."""

from contextlib import contextmanager

import pytest

from support.resident_session import Resident
from support.resident_threads import no_spark, tasks_in_threads
from support.threaded_spark import run_in_threads
from tidelog.engine.spark.options import SparkOptions
from tidelog.maintain.partners import pool
from tidelog.maintain.spark import SparkMaintainedEngine


class InJobs(Resident):
    """The same session with a job for each request."""

    storage = None

    def _new_engine(self):
        chosen = SparkOptions(
            no_spark(self.partners),
            partners=self.partners,
            driver_facts=self.driver_facts,
            storage=self.storage,
        )
        self.engine = SparkMaintainedEngine(self.program, self.codec, self.settings, self.functions, chosen)


@contextmanager
def partners_in_threads(on_executor: int = 2):
    """Let residents and jobs run in threads; yield what kills residents."""
    with tasks_in_threads(on_executor) as tasks, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "run_job", run_in_threads)
        yield tasks
