"""An analysis that follows commits, what each of them costs, and whether it is still right."""

import gc
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from benchmarks.history.edits import Changes, Texts, edit_statement
from benchmarks.history.live import ANALYSES, WARM, functions_of
from tidelog.analysis.open_tree import open_tree
from tidelog.session.pending import script_changes
from tidelog.session.session import Session
from tidelog.trees import Forest

# How often to say how far it came.
_PROGRESS = 50


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of one step, where `diff` includes reading the text, and its size."""

    files: int
    edits: int
    facts: int
    impact: int
    diff: float
    encode: float
    update: float
    recomputed: tuple[str, ...]

    @property
    def whole(self) -> float:
        """Return the seconds from the texts to the new results."""
        return self.diff + self.encode + self.update


@dataclass(frozen=True, slots=True)
class Scratch:
    """CPU seconds of reading and of evaluating everything anew, and how large it was."""

    read: float
    evaluate: float
    lines: int
    nodes: int
    is_equal: bool

    @property
    def whole(self) -> float:
        """Return the seconds of a new analysis."""
        return self.read + self.evaluate


@dataclass
class Replay:
    """A program over files that change."""

    program: str
    texts: Texts
    costs: list[Cost] = field(default_factory=list)
    scratches: list[Scratch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.forest = Forest.of("python").update(dict(self.texts)).forest
        self.db = _analyse(self.program, self.forest)

    def step(self, changes: Changes) -> Cost:
        """Follow one commit."""
        begun = time.process_time()
        step = self.forest.update(changes)
        compared = time.process_time()
        facts = script_changes(step.script, self.db.program.relations)
        encoded = time.process_time()
        delta = self.db.apply(facts)
        updated = time.process_time()
        self.forest = step.forest
        bad = {mistake.span.source.name for mistake in step.mistakes if mistake.span is not None}
        for path, text in changes.items():
            if text is None:
                self.texts.pop(path, None)
            elif path not in bad:
                self.texts[path] = text
        cost = Cost(
            len(changes),
            len(step.script),
            step.script.fact_count,
            delta.impact,
            compared - begun,
            encoded - compared,
            updated - encoded,
            tuple("+".join(each.relations) for each in delta.strata if each.action.value == "recomputed"),
        )
        self.costs.append(cost)
        return cost

    def check(self) -> Scratch:
        """Read and analyse everything anew, and compare trees and all relations."""
        gc.collect()
        begun = time.process_time()
        # By this process alone: the CPU time of others would not be counted.
        fresh = Forest.of("python").update(dict(self.texts), jobs=1).forest
        read = time.process_time() - begun
        is_equal = fresh.files.keys() == self.forest.files.keys() and all(
            tree == self.forest.files[path] for path, tree in fresh.files.items()
        )
        # Over the ids of the forest that was followed, so that facts can be compared one by one.
        begun = time.process_time()
        other = _analyse(self.program, self.forest)
        evaluate = time.process_time() - begun
        is_equal = is_equal and _are_equal(self.db, other)
        other.close()
        lines = sum(text.count("\n") for text in self.texts.values())
        scratch = Scratch(read, evaluate, lines, len(self.forest), is_equal)
        self.scratches.append(scratch)
        return scratch


def replay(program: str, texts: Texts, commits: Iterable[Changes], every: int) -> Iterator[str]:
    """Yield what to tell while commits are followed; the last is the table."""
    run = Replay(program, dict(texts))
    for number, changes in enumerate(commits, start=1):
        run.step(changes)
        if number % every == 0:
            scratch = run.check()
            if not scratch.is_equal:
                yield f"WRONG after {number} commits: the state differs from a new analysis"
        if number % _PROGRESS == 0:
            so_far = sum(cost.whole for cost in run.costs)
            yield f"  {number} commits followed in {so_far:.1f} s, {len(run.scratches)} checks"
    yield "\n".join(table(run))


def edit_statements(program: str, texts: Texts, count: int) -> Iterator[str]:
    """Yield what to tell of single-statement edits of a large code base."""
    run = Replay(program, dict(texts))
    chance, paths = random.Random(3), sorted(run.forest.files)  # noqa: S311 - not for secrets
    while len(run.costs) < count + WARM:
        path = chance.choice(paths)
        text = edit_statement(run.texts[path], chance)
        if text is not None:
            run.step({path: text})
    run.costs = run.costs[WARM:]
    scratch = run.check()
    if not scratch.is_equal:
        yield "WRONG: the state differs from a new analysis"
    yield "\n".join(table(run))


def table(run: Replay) -> Iterator[str]:
    """Yield the lines of a table: the median and the 99th percentile of each part."""
    counted = [cost for cost in run.costs if cost.files]
    scratch = sorted(run.scratches, key=lambda each: each.whole)[len(run.scratches) // 2]
    yield (
        f"{run.program}: {len(run.costs)} steps, {len(counted)} of them with Python files; "
        f"{scratch.lines:,} lines, {scratch.nodes:,} nodes; "
        f"{sum(each.is_equal for each in run.scratches)} of {len(run.scratches)} checks equal"
    )
    yield f"{'CPU ms':<12}{'median':>10}{'99 %':>10}"
    for part in ("diff", "encode", "update", "whole"):
        values = sorted(getattr(cost, part) for cost in counted)
        yield f"{part:<12}{1000 * _at(values, 0.5):>10.1f}{1000 * _at(values, 0.99):>10.1f}"
    sizes: Mapping[str, list[float]] = {
        "edits": sorted(cost.edits for cost in counted),
        "facts": sorted(cost.facts for cost in counted),
        "impact": sorted(cost.impact for cost in counted),
    }
    for name, values in sizes.items():
        yield f"{name:<12}{_at(values, 0.5):>10,.0f}{_at(values, 0.99):>10,.0f}"
    median = _at(sorted(cost.whole for cost in counted), 0.5)
    update = _at(sorted(cost.update for cost in counted), 0.5)
    yield (
        f"a new analysis: read {scratch.read:.2f} s, evaluate {scratch.evaluate:.2f} s; "
        f"median step 1/{scratch.whole / median:.0f} of it, "
        f"update 1/{scratch.evaluate / update:.0f} of evaluating"
    )
    recomputed = {name for cost in counted for name in cost.recomputed}
    often = sum(1 for cost in counted if cost.recomputed)
    yield f"strata recomputed: {', '.join(sorted(recomputed)) or 'none'} (in {often} steps)"


def _at(values: list[float], share: float) -> float:
    return values[min(int(share * len(values)), len(values) - 1)]


def _analyse(program: str, forest: Forest) -> Session:
    functions = functions_of(program)
    return open_tree(ANALYSES / program, forest, facts=ANALYSES, functions=functions, jobs=1)


def _are_equal(one: Session, other: Session) -> bool:
    """Say whether all relations with rules have the same facts; the codes of texts may differ."""
    derived = {rule.head.relation for rule in one.program.rules}
    return all(_sorted(one, name).equals(_sorted(other, name)) for name in derived)


def _sorted(db: Session, name: str) -> pa.Table:
    table = db[name].to_arrow()
    return table.sort_by([(column, "ascending") for column in table.column_names])
