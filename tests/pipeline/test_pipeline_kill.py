"""A driver that is killed in the middle of an epoch."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.pipelines import feed_of, published, sum_of_feed, write_grants, write_job, write_members
from tidelog.pipeline import Pipeline

# The process ends, as by `kill -9`, when outputs are written and the manifest of epoch 1 is not.
DRIVER = """
import os, signal, sys
from tidelog.pipeline import Pipeline
from tidelog.pipeline.folder import JobFolder

commit = JobFolder.commit

def kill_or_commit(self, manifest):
    if manifest.epoch == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, manifest)

JobFolder.commit = kill_or_commit
Pipeline.read(sys.argv[1]).run()
"""


def test_a_killed_driver_is_continued(spark, tmp_path: Path):
    """After `kill -9` between the outputs and the commit, the next run finishes the epoch, exactly once."""
    path = write_job(tmp_path)
    write_members(tmp_path, [("ann", "staff"), ("staff", "all")])
    write_grants(tmp_path, "1", ["+,all,wiki,1", "+,staff,payroll,2"])

    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(path)],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    after_kill = (Pipeline.read(path).epoch, published(tmp_path), feed_of(tmp_path))
    report = Pipeline.read(path, spark=spark).run()

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert after_kill == (0, set(), [])
    assert [row.cause for row in report.epochs] == ["recovered"]
    assert report.skipped == 1
    assert published(tmp_path) == {("ann", "wiki"), ("ann", "payroll"), ("staff", "wiki")}
    assert sum_of_feed(tmp_path) == published(tmp_path)
    assert {epoch for epoch, *_ in feed_of(tmp_path)} == {1}
