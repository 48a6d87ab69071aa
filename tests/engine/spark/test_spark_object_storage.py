"""The engine's state in an object store, with real executors that read and write it."""

import pytest

from support.cluster_runs import run_cluster, sizes_of
from support.object_stores import object_store
from support.spark_cluster import facts

# A cluster is started.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def told():
    """Return what the process with real executors told of each scenario."""
    with object_store() as store:
        return run_cluster("objects", "s3://key:secret@bucket/cluster-", f"?{store.query}")


def test_a_program_evaluated_once(told):
    """Partners exchange files through the store, and Spark reads what they derived from there."""
    given = facts(120)

    assert told["once"]["sizes"] == sizes_of(given["Assign"], given["Dereference"])


def test_frames_with_texts(told):
    """Workers write texts to the store, number them, and join them with what was derived."""
    assert (told["texts"]["rows"], told["texts"]["first"]) == (210, ["n0", "n1"])


def test_a_session_that_is_opened_again(told):
    """Epochs are committed in the store; another session goes on from there."""
    given = facts(120)
    scenario = told["session"]

    assert (scenario["epoch"], scenario["places"]) == (2, ["partners"])
    assert scenario["sizes"] == sizes_of(given["Assign"][10:], given["Dereference"])
    assert scenario["counted"] == scenario["sizes"]["ValueFlow"]
