"""`python -m benchmarks elastic`, on inputs small enough to see through."""

import json
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks.__main__ import main
from benchmarks.elastic.cell import Cell, section
from benchmarks.elastic.one import run
from benchmarks.elastic.picture import draw
from benchmarks.elastic.way import WAYS, Way
from benchmarks.epochs.subject import Subject, read_program
from benchmarks.section import write_section
from benchmarks.workload import PROGRAMS
from tidelog.engine.epoch import Strategy


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Return the closure of a ring of forty arcs."""
    folder = tmp_path_factory.mktemp("ring")
    folder.joinpath("arc.facts").write_text("".join(f"{n}\t{(n + 1) % 40}\n" for n in range(40)), "utf-8")
    return read_program(PROGRAMS / "tc.dl", folder)


def test_every_strategy_is_compared() -> None:
    """A strategy that is added later is measured too; the trace follows joins, not recursion."""
    compared = {way.strategy for way in WAYS}

    assert compared - {"batch"} == {each.value for each in Strategy} - {"trace"}


@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_a_strategy_goes_through_growth_and_the_13_epochs(way: Way, ring: Subject) -> None:
    """There is an evaluation, a deletion and an insertion for each size and set, and 13 epochs."""
    epochs = list(run(ring, way, [1, 5, 1000], 2, 1e6))

    cell = Cell("ring", way.name, [asdict(epoch) for epoch in epochs], 1)
    sizes = {} if way.strategy == "batch" else {1: 2, 5: 2}
    assert cell.evaluation is not None
    assert len(cell.thirteen()) == 13
    for direction in ("delete", "insert"):
        assert {size: len(times) for size, times in cell.growth(direction).items()} == sizes


def test_a_table_has_a_number_or_a_reason_in_every_cell() -> None:
    """What was not reached says why; a strategy that was stopped says in which of the 13 epochs."""
    cells = [
        Cell("ring", "auto", [_epoch("first"), _epoch("growth", 1, "delete"), _epoch("growth", 1, "insert")]
             + [_epoch("elastic")] * 13, 5 << 20),
        Cell("ring", "dred", [_epoch("first"), *[_epoch("elastic")] * 7], 6 << 20, "over 3 s"),
        Cell("ring", "batch", [_epoch("first"), *[_epoch("elastic")] * 13], 2 << 20),
    ]  # fmt: skip

    assert section({}, cells, "").splitlines() == [
        "| ring | evaluation | delete 1 | insert 1 | 13 epochs | MiB |",
        "|---|---:|---:|---:|---:|---:|",
        "| auto | 0.50 | 0.5000 | 0.5000 | 6.50 | 5 |",
        "| dred | 0.50 | over 3 s | over 3 s | over 3 s, in epoch 7 | 6 |",
        "| batch | 0.50 | keeps no state | keeps no state | 6.50 | 2 |",
    ]


def test_pictures_show_every_strategy(tmp_path: Path) -> None:
    """The three pictures are well-formed, and each names the strategies it shows."""
    growth = [_epoch("growth", size, direction) for size in (1, 10) for direction in ("delete", "insert")]
    cells = [Cell("ring", "auto", [_epoch("first"), *growth, *[_epoch("elastic")] * 13], 5 << 20)]

    draw(cells, tmp_path)

    for name in ("growth", "epochs", "memory"):
        text = tmp_path.joinpath(f"elastic_{name}.svg").read_text("utf-8")
        ET.fromstring(text)  # noqa: S314 - our own
        assert ">auto<" in text


def test_the_command_writes_measurements_and_a_section(tmp_path: Path) -> None:
    """With two strategies on a small grid; reading the measurements again gives the same section."""
    page, measured = tmp_path / "page.md", tmp_path / "out.json"
    options = ["--strategies", "elastic-eager,batch", "--sizes", "1", "--sets", "1"]
    cache = ["--cache", str(tmp_path / "cache"), "--json", str(measured), "--results", str(page)]

    assert main(["elastic", "--small", *options, *cache]) == 0

    written = page.read_text("utf-8")
    assert [cell["reason"] for cell in json.loads(measured.read_text("utf-8"))["cells"]] == ["", ""]
    assert "| elastic-eager |" in written
    assert main(["elastic", "--read", str(measured), "--results", str(page)]) == 0
    assert page.read_text("utf-8") == written


def test_a_section_takes_the_place_of_the_one_of_its_title(tmp_path: Path) -> None:
    """Other sections stay; a new one comes last."""
    page = tmp_path / "page.md"
    page.write_text("# Results\n\n## One\n\nold\n\n## Two\n\nstays\n", "utf-8")

    write_section(page, "One", "new")
    write_section(page, "Three", "last")

    assert page.read_text("utf-8") == ("# Results\n\n## One\n\nnew\n\n## Two\n\nstays\n\n## Three\n\nlast\n")


def _epoch(experiment: str, size: int = 0, direction: str = "insert") -> dict[str, object]:
    return {"experiment": experiment, "size": size, "direction": direction, "cpu_seconds": 0.5}
