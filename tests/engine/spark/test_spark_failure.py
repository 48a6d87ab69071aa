"""Executors and drivers that die, and workers that do not fit: results stay exact, messages clear."""

import sys

import pytest

import tidelog
from support.cluster_runs import SIZED, run_cluster, sizes_of
from support.spark_cluster import CSPA, facts
from tidelog import TidelogError
from tidelog.engine.spark.job import reason_unfit

# Some minutes of executors that die and are started again.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which the killed processes kept their states."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def told(folder):
    """Return what the process with real executors told of each scenario, before it killed itself."""
    found = run_cluster(str(folder))
    assert "driver" in found
    return found


@pytest.mark.parametrize("at", [0, 2, 5])
def test_an_executor_killed_in_a_recursion(told, at):
    """A recursion whose executor dies goes on from the last checkpoint, and is exact."""
    given = facts()
    scenario = told[f"recursion {at}"]

    assert scenario["killed"] == 1
    # An executor that dies before its task runs is replaced by Spark, and nobody was lost.
    assert scenario["lost"] >= (1 if at else 0)
    assert scenario["sizes"] == sizes_of(given["Assign"], given["Dereference"])


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_executor_killed_around_an_epoch(told, number):
    """Resident partners that die before or in an epoch start again from the committed state."""
    given = facts()
    assign = set(given["Assign"])
    for epoch in range(number + 1):
        assign -= set(given["Assign"][epoch * 7 : epoch * 7 + 7])
        assign.add((900 + epoch, 1))
    scenario = told[f"epoch {number}"]

    assert scenario["epoch"] == number + 1
    assert scenario["sizes"] == sizes_of(sorted(assign), given["Dereference"])


def test_epochs_lost_executors(told):
    """The executors were really lost, not only meant to be."""
    assert sum(told[f"epoch {number}"]["lost"] for number in range(3)) >= 2


def test_residents_under_dynamic_allocation():
    """Spark requests the executors of residents, and replaces one that is killed."""
    given = facts(120)
    scenario = run_cluster("dynamic")["dynamic"]

    assert (set(scenario["places"]), scenario["killed"]) == ({"partners"}, 1)
    assert scenario["sizes"] == sizes_of(given["Assign"][7:], given["Dereference"])


def test_a_driver_killed_in_a_commit(told, folder, spark):
    """Opening the storage of a driver that died goes on from its last committed epoch."""
    given = facts()
    options = {"partners": 2, "driver_facts": 0, "storage": str(folder / "driver")}
    assert told["driver"]["epoch"] == 1

    with tidelog.open(CSPA, engine="spark", spark=spark, spark_options=options) as db:
        assert db.epoch == 1
        assert {n: len(db[n]) for n in SIZED} == sizes_of(given["Assign"][5:], given["Dereference"])
        db.apply(delete={"Assign": given["Assign"][5:10]})
        assert db.epoch == 2
        assert {n: len(db[n]) for n in SIZED} == sizes_of(given["Assign"][10:], given["Dereference"])


def test_a_worker_with_another_version(spark, monkeypatch):
    """Workers compare versions with the driver before they work."""
    monkeypatch.setattr(tidelog, "__version__", "0.0.0")
    options = {"partners": 2, "driver_facts": 0}

    with pytest.raises(TidelogError, match=r"the driver 0\.0\.0"):
        tidelog.open(CSPA, engine="spark", spark=spark, facts=facts(size=40), spark_options=options)


def test_a_worker_without_numba(monkeypatch):
    """A worker without the compiler says so."""
    monkeypatch.setitem(sys.modules, "numba", None)

    assert "no Numba" in reason_unfit(tidelog.__version__)
