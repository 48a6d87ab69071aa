"""How many nodes a second are compared, from 62 thousand nodes to 2 million."""

import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.trees.sources import read_files
from tidelog.trees import Forest, Tree

# Nodes in a line of Python, to know how much to read.
_NODES_PER_LINE = 3.2
CHANGES = ("one value", "1 % of the values", "10 % of the files replaced")


@dataclass(frozen=True, slots=True)
class Diffing:
    """One comparison: what was changed, the size of the trees, the script's length, the time."""

    change: str
    nodes: int
    edits: int
    facts: int
    cpu_seconds: float

    @property
    def nodes_per_second(self) -> float:
        """Return how many nodes of the new tree were compared in a second."""
        return self.nodes / self.cpu_seconds


def measure_diffing(largest: int = 2_000_000, repeat: int = 3) -> Iterator[Diffing]:
    """Yield comparisons of trees of real source, each twice as large as the one before."""
    texts = read_files(int(largest / _NODES_PER_LINE))
    forest = Forest.of("python").update(texts).forest
    whole = forest.tree()
    sizes = [size for size in (largest >> shift for shift in range(5, -1, -1)) if size <= 2 * len(whole)]
    _compare(_first(forest, 20_000), CHANGES[0], 1)  # compiles the kernels
    for size in sizes:
        part = _first(forest, size)
        for change in CHANGES:
            yield _compare(part, change, repeat)


def _first(forest: Forest, size: int) -> Forest:
    """Return the forest with the first files only, about `size` nodes of them."""
    files: dict[str, Tree] = {}
    count = 0
    for path, tree in forest.files.items():
        files[path] = tree
        count += len(tree)
        if count >= size:
            break
    return replace(forest, files=files)


def _compare(forest: Forest, change: str, repeat: int) -> Diffing:
    old = forest.tree()
    new = _changed(forest, change)
    seconds = []
    for _ in range(repeat):
        gc.collect()
        begun = time.process_time()
        step = old.update(new)
        seconds.append(time.process_time() - begun)
    script = step.script
    return Diffing(change, len(new), len(script), script.fact_count, min(seconds))


def _changed(forest: Forest, change: str) -> Tree:
    """Return another version of all files as one tree that knows nothing of the old one's ids."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    files = list(forest.files.values())
    if change.endswith("replaced"):
        # Another file stands in its place, of which nothing is left at its own.
        for place in chance.sample(range(len(files) // 2), max(1, len(files) // 20)):
            files[place] = files[-1 - place]
    tree = replace(forest, files={str(number): each for number, each in enumerate(files)}).tree()
    if not change.endswith("value") and not change.endswith("values"):
        return tree
    values = tree.nodes.values.copy()
    texts = [
        place
        for place, number in enumerate(values.tolist())
        if number >= 0 and isinstance(tree.pool.values[number], str)
    ]
    for place in chance.sample(texts, 1 if change == "one value" else len(texts) // 100):
        values[place] = tree.pool.number(f"{tree.pool.values[int(values[place])]}_")
    return replace(tree, nodes=replace(tree.nodes, values=values))
