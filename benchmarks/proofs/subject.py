"""One process: a program evaluated in one mode, then questions about its facts.

python -m benchmarks.proofs.subject PROGRAM FACTS MODE NODES

MODE is `plain` or `height`. The measurements are printed as one line of JSON.
"""

import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import tidelog
from tidelog.engine.protocol import SilentObserver, StratumStatistics
from tidelog.session import Session
from tidelog.values import Fact

# Facts that are asked about, of each derived relation.
_QUESTIONS = 8
# Further facts, asked about until there are as many nodes as are wanted.
_MORE_QUESTIONS = 4_000


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    program, facts, mode, nodes = arguments
    provenance = "height" if mode == "height" else None
    clock = _Clock()
    db = tidelog.open(Path(program), facts=Path(facts), jobs=1, provenance=provenance, observer=clock)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found: dict[str, object] = {
        "evaluate_seconds": clock.spent,
        "cpu_seconds": time.process_time(),
        "peak_bytes": memory,
        "facts": sum(len(db[name]) for name in db.relations),
    }
    if int(nodes):
        found |= _ask(db, int(nodes))
    print(json.dumps(found))
    return 0


class _Clock(SilentObserver):
    """Adds up the CPU seconds of strata."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._begun = 0.0

    def stratum_started(self, stratum: int, strata: int, relations: Sequence[str]) -> None:
        del stratum, strata, relations
        self._begun = time.process_time()

    def stratum_finished(self, stratum: int, statistics: StratumStatistics) -> None:
        del stratum, statistics
        self.spent += time.process_time() - self._begun


def _ask(db: Session, wanted: int) -> dict[str, object]:
    """Return what questions took, the first of all and the others; then one large tree of proofs."""
    begun = time.perf_counter()
    import tidelog.explain.proofs.service  # noqa: F401, PLC0415 - what is loaded once is measured by itself

    loaded = time.perf_counter() - begun
    ready = time.process_time()
    db.proofs.explorer()
    prepared = time.process_time() - ready
    facts = list(_some_facts(db))
    answers = []
    for name, fact in facts:
        begun = time.process_time()
        _ = db.why((name, fact)).premises
        answers.append(time.process_time() - begun)
    return {
        "load_seconds": loaded,
        "prepare_seconds": prepared,
        "first_answer_seconds": answers[0],
        "answer_seconds": statistics.median(answers),
        "slowest_answer_seconds": max(answers),
        **_grow(db, facts, wanted),
        **_unfold(db, facts, wanted),
    }


def _grow(db: Session, facts: list[tuple[str, Fact]], wanted: int) -> dict[str, object]:
    """Return what proof nodes take, over trees that together have the wanted number of distinct nodes."""
    # Drawn before the clock starts: that reads all facts.
    more = islice(_random_facts(db, random.Random(2)), _MORE_QUESTIONS)  # noqa: S311 - the same facts every time
    drawn = [*facts, *more]
    db.proofs.explorer().nodes.clear()
    count = 0
    largest = 0
    begun = time.process_time()
    for name, fact in drawn:
        before = count
        for node in db.why((name, fact)).nodes():
            _ = node.step
            count += 1
            if count >= wanted:
                break
        largest = max(largest, count - before)
        if count >= wanted:
            break
    seconds = time.process_time() - begun
    return {"nodes": count, "largest_tree": largest, "node_seconds": seconds / max(count, 1)}


def _unfold(db: Session, facts: list[tuple[str, Fact]], wanted: int) -> dict[str, object]:
    """Return what the nodes of one proof take, drawn as a tree in which shared ones stand every time."""
    name, fact = max(facts, key=lambda each: db.why(each).size)
    whole = db.why((name, fact)).size
    db.proofs.explorer().nodes.clear()
    count = 0
    begun = time.process_time()
    waiting = [db.why((name, fact))]
    while waiting and count < wanted:
        node = waiting.pop()
        _ = node.step
        count += 1
        waiting.extend(node.premises)
    seconds = time.process_time() - begun
    return {"unfolded_size": whole, "unfolded_nodes": count, "unfolded_node_seconds": seconds / count}


def _some_facts(db: Session) -> Iterator[tuple[str, Fact]]:
    """Yield random derived facts, those with the highest levels first: their proofs are the largest."""
    derived = dict.fromkeys(rule.head.relation for rule in db.program.rules)
    drawn = _random_facts(db, random.Random(1))  # noqa: S311 - the same facts every time
    found = [
        (db.proofs.source.level(name, fact) or (0, 0), name, fact)
        for name, fact in islice(drawn, 4 * _QUESTIONS * len(derived))
    ]
    found.sort(key=lambda each: each[0], reverse=True)
    yield from ((name, fact) for _, name, fact in found)


def _random_facts(db: Session, chosen: random.Random) -> Iterator[tuple[str, Fact]]:
    """Yield random facts of each derived relation in turn, for ever."""
    held = {
        name: columns
        for name in dict.fromkeys(rule.head.relation for rule in db.program.rules)
        if (columns := db.snapshot.engine.facts(name)) and len(columns[0])
    }
    while held:
        for name, columns in held.items():
            row = chosen.randrange(len(columns[0]))
            types = (column.type for column in db.program.relations[name].columns)
            yield (
                name,
                tuple(
                    db.snapshot.codec.decode(int(column[row]), type_name)
                    for column, type_name in zip(columns, types, strict=True)
                ),
            )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
