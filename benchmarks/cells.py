"""Cells of a table, read from the files that runs wrote."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Cell = TypeVar("Cell")


def read_cells(paths: Iterable[Path], cell: Callable[..., Cell]) -> tuple[dict[str, Any], list[Cell]]:
    """Return the machine of the last file and the cells of all."""
    machine: dict[str, Any] = {}
    cells: list[Cell] = []
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        machine = report["machine"]
        cells += [cell(**each) for each in report["cells"]]
    return machine, cells
