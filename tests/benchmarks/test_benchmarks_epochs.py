"""The measurements of epochs, on inputs small enough to see through."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.epochs.bench import Baseline, Bench, prepare
from benchmarks.epochs.experiments import EXPERIMENTS, Plan, growth_sizes
from benchmarks.epochs.footprint import Footprint, measure_footprints
from benchmarks.epochs.goals import judge
from benchmarks.epochs.record import Epoch, Taken
from benchmarks.epochs.results import Results, epoch_lines, percentile, read_results, write_results
from benchmarks.epochs.subject import read_subject
from benchmarks.workload import WORKLOADS
from tidelog.engine.epoch import Strategy

CSPA = next(workload for workload in WORKLOADS if workload.name == "cspa10k")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a data folder with forty assignments and ten dereferences."""
    random = np.random.default_rng(3)
    data = tmp_path_factory.mktemp("data")
    (data / "cspa10k").mkdir()
    for name, count in (("Assign", 40), ("Dereference", 10)):
        rows = random.integers(0, 30, (count, 2))
        text = "".join(f"{x}\t{y}\n" for x, y in rows)
        (data / "cspa10k" / f"{name}.facts").write_text(text, encoding="utf-8")
    return data


@pytest.fixture(scope="module")
def bench(folder: Path) -> Bench:
    """Return a bench over the small data folder."""
    return prepare(read_subject(CSPA, folder / "cspa10k"))


def facts(bench: Bench) -> dict[str, set[tuple[int, ...]]]:
    """Return every relation of the bench's engine."""
    return {
        name: set(zip(*(column.tolist() for column in bench.engine.facts(name)), strict=True))
        for name in bench.subject.program.relations
    }


def epoch(**changed: object) -> Epoch:
    """Return an epoch of ten facts under auto that took 10 ms."""
    usual = {
        "workload": "cspa100k", "experiment": "small", "strategy": "auto", "size": 10, "direction": "delete",
        "seconds": 0.02, "cpu_seconds": 0.01, "impact": 100, "work": 1000, "recomputed": 0,
    }  # fmt: skip
    return Epoch(**{**usual, **changed})  # type: ignore[arg-type]


def baseline(seconds: float = 1.0) -> Baseline:
    """Return a workload of six million facts that is evaluated in the given time."""
    return Baseline("cspa100k", 1_000_000, 6_000_000, Taken(seconds, seconds), Taken(seconds, 1.1 * seconds))


def test_a_sample_has_distinct_input_facts(bench: Bench) -> None:
    """A sample of all input facts is all of them, each once."""
    subject = bench.subject

    sample = subject.sample(subject.input_size, np.random.default_rng(0))

    assert {name: rows.tolist() for name, rows in sample.items()} == {
        name: rows.tolist() for name, rows in subject.inputs.items()
    }


def test_sizes_grow_tenfold_up_to_the_share() -> None:
    """The sizes of the growth experiment are powers of ten, and the share itself at the end."""
    assert growth_sizes(200_000, 0.1) == (1, 10, 100, 1_000, 10_000, 20_000)
    assert growth_sizes(5, 0.1) == (1,)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_leaves_the_state_as_it_was(bench: Bench, experiment: str) -> None:
    """Every experiment takes back what it changed, whatever the strategies."""
    before = facts(bench)

    epochs = list(EXPERIMENTS[experiment](bench, Plan(sets=1, small=3, strategies=tuple(Strategy))))

    assert facts(bench) == before
    assert {each.experiment for each in epochs} == {experiment}
    assert all(each.cpu_seconds >= 0 and each.impact >= 0 for each in epochs)


def test_deleting_and_inserting_change_the_same_facts(bench: Bench) -> None:
    """What vanishes with some input facts appears with them again."""
    gone, come = bench.there_and_back(
        bench.subject.sample(10, np.random.default_rng(1)), Strategy.UPDATE, "test"
    )

    assert (gone.direction, come.direction) == ("delete", "insert")
    assert gone.impact == come.impact > 0


def test_the_elastic_workload_has_thirteen_epochs(bench: Bench) -> None:
    """Each strategy goes through the first evaluation, ten small changes and two large ones."""
    plan = Plan(small=3, strategies=(Strategy.AUTO, Strategy.DRED))

    epochs = list(EXPERIMENTS["elastic"](bench, plan))

    assert Counter(each.strategy for each in epochs) == {"auto": 13, "dred": 13, "batch": 13}
    sizes = [each.size for each in epochs if each.strategy == "auto"]
    assert sizes[1:7] == [3] * 6
    assert sizes[8:12] == [3] * 4
    assert sizes[7] == sizes[12] == bench.subject.input_size // 10


def test_measurements_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    """Several files of measurements are read as one."""
    one = Results([baseline()], [epoch()], [Footprint("cspa100k", "plain", 10, 1.0)])
    other = Results(epochs=[epoch(experiment="one")])
    write_results(one, tmp_path / "one.json")
    write_results(other, tmp_path / "other.json")

    both = read_results([tmp_path / "one.json", tmp_path / "other.json"])

    assert both == Results(one.baselines, [*one.epochs, *other.epochs], one.footprints)


def test_goals_are_judged_where_something_was_measured() -> None:
    """Small changes, memory and bootstrap have a verdict; what was not measured has none."""
    footprints = [Footprint("cspa100k", "plain", 100, 1.0), Footprint("cspa100k", "maintained", 160, 1.0)]
    results = Results([baseline()], [epoch(), epoch(cpu_seconds=0.015), epoch(cpu_seconds=9.0)], footprints)

    verdicts = {verdict.goal: verdict.is_met for verdict in judge(results)}

    assert verdicts == {
        "bootstrap against batch": True,
        "median of 10 facts against batch": True,
        "peak memory against batch": False,
    }


def test_auto_is_judged_by_the_recompute_of_the_same_change() -> None:
    """The worst ratio of any size counts, each against recomputing the same change."""
    taken = [("auto", 1, 0.1), ("recompute", 1, 1.0), ("auto", 9, 1.4), ("recompute", 9, 1.0)]
    epochs = [epoch(experiment="sized", strategy=s, size=n, cpu_seconds=t) for s, n, t in taken]

    *_, verdict = judge(Results([baseline()], epochs))

    assert verdict.measured == pytest.approx(1.4)
    assert "MISSED" in verdict.line()


def test_a_line_tells_median_and_ratio() -> None:
    """Epochs of one size and strategy become one line."""
    (line,) = epoch_lines([epoch(), epoch(cpu_seconds=0.02), epoch(cpu_seconds=0.03)], baseline())

    assert "median 20.0 ms" in line
    assert "p99 30.0 ms" in line
    assert "1/50 of batch" in line


def test_a_percentile_is_one_of_the_values() -> None:
    """The 99th percentile of few values is the largest."""
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_the_command_measures_and_draws(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command prints lines and verdicts, and leaves measurements and pictures."""
    pytest.importorskip("matplotlib")
    options = ["--data", str(folder), "--cache", str(tmp_path), "--sets", "1", "--sizes", "1,5"]

    status = main(
        [
            "epochs",
            "cspa10k",
            *options,
            "--json",
            str(tmp_path / "out.json"),
            "--pictures",
            str(tmp_path / "pictures"),
        ]
    )

    assert status == 0
    assert "bootstrap against batch" in capsys.readouterr().out
    assert read_results([tmp_path / "out.json"]).workloads() == ["cspa10k"]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["elastic.png", "growth.png"]


def test_pictures_are_drawn_from_kept_measurements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measurements of earlier commands are judged without measuring again."""
    write_results(Results([baseline()], [epoch()]), tmp_path / "out.json")

    status = main(["epochs", "--read", str(tmp_path / "out.json")])

    assert status == 0
    assert "met    cspa100k       median of 10 facts" in capsys.readouterr().out


def test_a_data_set_that_is_missing_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without its data a workload is skipped with a message."""
    main(["epochs", "galen", "--data", str(tmp_path), "--cache", str(tmp_path / "cache")])

    assert "galen: skipped" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["no_such_workload"], ["--experiments", "none"], ["--strategies", "none"]]
)
def test_unknown_names_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A name that does not exist is named in the message."""
    with pytest.raises(SystemExit) as stop:
        main(["epochs", *options])

    assert stop.value.code == 2
    assert options[-1] in capsys.readouterr().err


def test_memory_is_measured_in_processes_of_their_own(folder: Path) -> None:
    """Plain evaluation and the maintained state have a peak each."""
    found = measure_footprints(CSPA, folder / "cspa10k", 1, 120)

    assert [footprint.kind for footprint in found] == ["plain", "maintained"]
    assert all(footprint.peak_bytes > 2**20 for footprint in found)
