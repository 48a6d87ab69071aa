"""Kill a process that applies epochs to a store, again and again, and look at what is left.

    python -m benchmarks.crash --kills 500

A child opens the store, applies random epochs, writes a snapshot now and then, and tells the number
of every epoch that was acknowledged to it. It is killed (SIGKILL) at a random instant: while it makes
the store, opens it, applies an epoch or writes a snapshot. Then the store must hold every epoch that
was acknowledged, at most one more, and exactly the facts that follow from its input at that epoch.
The next child goes on from there. Epochs are drawn from the seed and their number, so that whoever
knows the epoch of a store knows its input.
"""

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import tidelog
from tidelog.errors import TidelogError
from tidelog.store import Store
from tidelog.store.manifest import read_manifest

PROGRAM: Final = """
.decl edge(x: number, y: number, label: symbol)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y, _).
path(x, z) :- path(x, y), edge(y, z, _).
.decl lonely(x: number)
lonely(x) :- edge(x, _, _), !path(x, x).
.decl reach(x: number, n: number)
reach(x, n) :- edge(x, _, _), n = count : { path(x, _) }.
.decl joined(text: symbol)
joined(cat(s, t)) :- edge(x, y, s), edge(y, x, t).
"""
# So many seconds at most from its start, or from its first word, does a child live.
_LONGEST_LIFE_SECONDS: Final = 0.15
_LONGEST_WAIT_SECONDS: Final = 60
_SNAPSHOT_EVERY: Final = 9

Edge = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of kills met: epochs acknowledged, and how many kills came in the midst of something."""

    kills: int
    epochs: int
    before_open: int
    before_acknowledgement: int
    amid_epoch: int
    amid_snapshot: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 if anything was lost or half done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidelog-crash-") as folder:
        try:
            outcome = kill_again_and_again(Path(folder) / "store", options.kills, options.seed)
        except LossError as error:
            print(f"FAILED: {error}", file=sys.stderr)
            return 1
    print(
        f"{outcome.kills} kills, {outcome.epochs:,} epochs acknowledged, none lost, none half done\n"
        f"of the kills {outcome.before_open} came before the store was open, {outcome.amid_epoch} left "
        f"a begun epoch,\n{outcome.before_acknowledgement} a committed epoch that was not acknowledged yet, "
        f"{outcome.amid_snapshot} an unfinished snapshot; {time.monotonic() - begun:.0f} s"
    )
    return 0


class LossError(Exception):
    """A store does not hold what it must."""


def kill_again_and_again(folder: Path, kills: int, seed: int) -> Outcome:
    """Return what happened; raises `LossError` if a store is not as it must be after a kill."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    history = History(seed)
    _warm_up()
    acknowledged = before_open = before_acknowledgement = amid_epoch = amid_snapshot = 0
    for kill in range(kills):
        is_patient = chance.random() < 0.8
        seen = _run_child(folder, seed, chance.uniform(0, _LONGEST_LIFE_SECONDS), is_patient=is_patient)
        before_open += not seen
        acknowledged = max([acknowledged, *seen])
        amid_epoch += _has_begun_epoch(folder)
        amid_snapshot += _has_unnamed_file(folder)
        found = _look(folder, history, acknowledged, kill)
        before_acknowledgement += found > acknowledged
        acknowledged = found
    return Outcome(kills, acknowledged, before_open, before_acknowledgement, amid_epoch, amid_snapshot)


class History:
    """The input facts of every epoch."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: list[frozenset[Edge]] = [frozenset({(0, 1, "a"), (1, 2, "b"), (2, 0, "c")})]

    def edges(self, epoch: int) -> frozenset[Edge]:
        """Return the input facts at an epoch."""
        while len(self._states) <= epoch:
            inserted, deleted = self.change(len(self._states))
            self._states.append((self._states[-1] - deleted) | inserted)
        return self._states[epoch]

    def change(self, epoch: int) -> tuple[frozenset[Edge], frozenset[Edge]]:
        """Return what an epoch inserts, new texts among it, and deletes."""
        chance = random.Random(f"{self._seed} {epoch}")  # noqa: S311 - no secret
        before = self.edges(epoch - 1)
        most = min(len(before), len(before) // 12 + 1)
        deleted = chance.sample(sorted(before), chance.randint(0, most))
        inserted = [
            (
                chance.randrange(25),
                chance.randrange(25),
                f"{chance.choice('abcä')}{chance.choice([0, epoch])}",
            )
            for _ in range(chance.randrange(5))
        ]
        return frozenset(inserted) - before, frozenset(deleted)


def _has_begun_epoch(folder: Path) -> bool:
    if not Store.exists(folder):
        return False
    store = Store.open(folder, read_only=True)
    log = folder / read_manifest(folder).log
    committed = store.status().log_bytes
    store.close()
    return log.stat().st_size > committed


def _has_unnamed_file(folder: Path) -> bool:
    manifest = read_manifest(folder) if Store.exists(folder) else None
    named = {"lock", "manifest.json"}
    if manifest is not None:
        named |= {manifest.log, *(file.file for file in manifest.files)}
    return any(
        path.is_file() and path.relative_to(folder).as_posix() not in named for path in folder.rglob("*")
    )


def _run_child(folder: Path, seed: int, life_seconds: float, *, is_patient: bool) -> list[int]:
    """Return the epochs that a child acknowledged before it was killed; the first is the one it found.

    Patience waits for the child to open the store before its time begins to run.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        live(folder, seed, writing)
    os.close(writing)
    if is_patient:
        select.select([reading], [], [], _LONGEST_WAIT_SECONDS)
    time.sleep(life_seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(reading, encoding="ascii") as pipe:  # noqa: PTH123 - a handle has no path
        lines = pipe.read().split("\n")
    if lines[-1] or any(line.startswith("error") for line in lines):
        raise LossError(" ".join(lines))
    return [int(line) for line in lines[:-1]]


def live(folder: Path, seed: int, writing: int) -> NoReturn:
    """Apply epochs until the end comes from outside."""
    try:
        history = History(seed)
        session = tidelog.open(PROGRAM, facts={"edge": sorted(history.edges(0))}, store=folder, jobs=1)
        os.write(writing, f"{session.epoch}\n".encode())
        while True:
            inserted, deleted = history.change(session.epoch + 1)
            session.apply(insert={"edge": sorted(inserted)}, delete={"edge": sorted(deleted)})
            os.write(writing, f"{session.epoch}\n".encode())
            if session.epoch % _SNAPSHOT_EVERY == 0:
                session.checkpoint()
    except BaseException as error:  # noqa: BLE001 - the parent reports it, whatever it is
        os.write(writing, f"error: {error!r} {error}\n".replace("\n", " ").encode("ascii", "replace"))
    os._exit(1)


def _look(folder: Path, history: History, acknowledged: int, kill: int) -> int:
    """Return the epoch of the store, which must be right in every fact."""
    try:
        session = tidelog.open(store=folder, read_only=True, jobs=1)
    except TidelogError as error:
        if acknowledged == 0 and error.diagnostics[0].code == "no-store":
            return 0
        raise LossError(f"kill {kill}: {error}") from error
    with session:
        if not acknowledged <= session.epoch <= acknowledged + 1:
            raise LossError(f"kill {kill}: epoch {acknowledged} was acknowledged, {session.epoch} is there")
        edges = sorted(history.edges(session.epoch))
        with tidelog.open(PROGRAM, facts={"edge": edges}, jobs=1) as right:
            for name in right.relations:
                if set(session[name]) != set(right[name]):
                    raise LossError(f"kill {kill}, epoch {session.epoch}: {name} is wrong")
        return session.epoch


def _warm_up() -> None:
    """Load everything that children need, so that they begin to work at once."""
    with tempfile.TemporaryDirectory(prefix="tidelog-crash-") as folder:
        history = History(0)
        for _ in range(2):
            facts = {"edge": sorted(history.edges(0))}
            with tidelog.open(PROGRAM, facts=facts, store=Path(folder) / "store", jobs=1) as session:
                inserted, deleted = history.change(session.epoch + 1)
                session.apply(insert={"edge": sorted(inserted)}, delete={"edge": sorted(deleted)})


if __name__ == "__main__":
    sys.exit(main())
