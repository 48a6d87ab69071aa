"""Generated facts as tab-separated files."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt


def write_arcs(arcs: npt.NDArray[np.int64], path: Path) -> None:
    """Write one arc per line, in a random but fixed order, as published graphs come."""
    shuffled = np.random.default_rng(0).permutation(arcs)
    path.write_text("".join(f"{x}\t{y}\n" for x, y in shuffled.tolist()), encoding="utf-8")


def write_triples(triples: Iterable[tuple[str, str, str]], path: Path) -> None:
    """Write one triple per line."""
    path.write_text("".join(f"{s}\t{p}\t{o}\n" for s, p, o in triples), encoding="utf-8")
