"""Single-statement edits of a large code base as an editor sees them: text in, findings out."""

import gc
import random
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.history.edits import Texts, edit_statement
from tidelog.analysis import Follow
from tidelog.engine.function_files import load_functions
from tidelog.engine.protocol import UserFunctions
from tidelog.trees import Forest

ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"
# The first changes build indexes, and are not counted.
WARM = 10


def functions_of(program: str) -> UserFunctions | None:
    """Return the functions in Python that a program of examples/analyses is opened with, None without any."""
    functors = (ANALYSES / program).with_suffix(".py")
    return load_functions([functors]) if functors.exists() else None


def follow_edits(program: str, texts: Texts, count: int) -> Iterator[str]:
    """Yield what `Follow.update` takes for each edit, and whether findings are those of a new analysis."""
    texts = dict(texts)
    forest = Forest.of("python").update(dict(texts)).forest
    functions = functions_of(program)
    follow = Follow(ANALYSES / program, forest, facts=ANALYSES, functions=functions, jobs=1)
    # As `tidelog` does when it starts, and its language server with an analysis that was read.
    thresholds = gc.get_threshold()
    gc.set_threshold(400_000, 50, 50)
    gc.collect()
    gc.freeze()
    chance, paths = random.Random(3), sorted(forest.files)  # noqa: S311 - not for secrets
    walls: list[float] = []
    cpus: list[float] = []
    findings: list[int] = []
    while len(walls) < count + WARM:
        path = chance.choice(paths)
        text = edit_statement(texts[path], chance)
        if text is None:
            continue
        wall, cpu = time.perf_counter(), time.process_time()
        step = follow.update({path: text})
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        findings.append(len(step.inserted) + len(step.deleted))
        texts[path] = text
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    # Over the ids of the forest that was followed, so that facts can be compared one by one.
    other = Follow(ANALYSES / program, follow.forest, facts=ANALYSES, functions=functions, jobs=1)
    is_equal = all(set(follow.db[name]) == set(other.db[name]) for name in follow.outputs)
    follow.close()
    other.close()
    if not is_equal:
        yield "WRONG: the findings differ from those of a new analysis"
    yield (
        f"{program}, text in to findings out, {count} edits in {len(texts)} files, "
        f"{sum(findings[WARM:]):,} findings changed"
    )
    yield f"{'ms':<12}{'median':>10}{'99 %':>10}"
    for name, seconds in (("wall", walls), ("CPU", cpus)):
        counted = sorted(seconds[WARM:])
        median, most = counted[len(counted) // 2], counted[len(counted) * 99 // 100]
        yield f"{name:<12}{1000 * median:>10.1f}{1000 * most:>10.1f}"
