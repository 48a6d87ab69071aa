"""Mistakes planted to see whether the machine finds them: one in each layer, as a tired engineer makes them.

Each is a replacement in one file of a copy of the source. The machine runs over the copy until it fails
or the time is over.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SOURCE: Final = Path(__file__).parents[2] / "src"
_TESTS: Final = Path(__file__).parents[1]


@dataclass(frozen=True)
class Mistake:
    """A text that stands once in a file of the package, and what is there in its place."""

    layer: str
    path: str
    right: str
    wrong: str


MISTAKES: Final = (
    Mistake(
        "syntax: brackets are left out when a term is printed",
        "syntax/printer.py",
        'return text if tightness >= lowest else f"({text})"',
        "return text",
    ),
    Mistake(
        "program: the step of a range is not walked",
        "program/walk_nodes.py",
        "return (node.target, node.start, node.stop, *_present(node.step))",
        "return (node.target, node.start, node.stop)",
    ),
    Mistake(
        "plan: a rule that asks for a missing value is kept without its body",
        "plan/rules.py",
        """        except NoValueError:
            continue""",
        """        except NoValueError:
            yield replace(rule, body=rule.body[:1])""",
    ),
    Mistake(
        "values: the larger of two unsigned numbers is that of signed ones",
        "engine/local/arithmetic.py",
        '("max", _U): _fold(_unsigned(np.maximum)),',
        '("max", _U): _fold(np.maximum),',
    ),
    Mistake(
        "storage: a deleted row is still found",
        "storage/relation.py",
        "found[(found >= 0) & (self.alive[np.maximum(found, 0)] == 0)] = -1",
        "found[(found > 0) & (self.alive[np.maximum(found, 0)] == 0)] = -1",
    ),
    Mistake(
        "engine: candidates of a choice are not taken in value order",
        "engine/local/settle.py",
        "            rows = rows[order]\n",
        "            rows = rows[order[::-1]]\n",
    ),
    Mistake(
        "maintain: a derivation that was not tight is lost like a tight one",
        "maintain/heads.py",
        "        self._take_one(name, numbers[self.judge.relations[name].levels[numbers] == levels])\n",
        "        self._take_one(name, numbers[self.judge.relations[name].levels[numbers] <= levels])\n",
    ),
    Mistake(
        "maintain: a derivation that two literals find counts at the last in the kernel of small epochs",
        "storage/judge_row.py",
        "if turn < own_turn or (turn == own_turn and other < place):",
        "if turn < own_turn or (turn == own_turn and other > place):",
    ),
    Mistake(
        "maintain: partners forget rows of a level that others settle later",
        "maintain/partners/heads.py",
        "                self.losing.put(name, numbers, self.judge.relations[name].levels)\n",
        "                self.losing.put(name, numbers[:2], self.judge.relations[name].levels)\n",
    ),
    Mistake(
        "spark: all partners that have the rows of a derivation count it",
        "engine/spark/spread_rules.py",
        "self._heavy) == self._wire.me\n",
        "self._heavy) >= 0\n",
    ),
    Mistake(
        "store: deletions of the last relation in an entry are read as none",
        "store/entries.py",
        "changes[name] = RelationChange(columns[place:middle], columns[middle:end])",
        "changes[name] = RelationChange(columns[place:middle], columns[middle : end if place else middle])",
    ),
    Mistake(
        "session: a fact both inserted and deleted is deleted",
        "session/changes.py",
        "inserted, deleted = is_wanted & ~is_input, ~is_wanted & is_input",
        "inserted, deleted = is_wanted & ~is_input, ~is_wanted",
    ),
    Mistake(
        "proofs: a premise may have the level of what it proves",
        "explain/proofs/prover.py",
        "        found = next(self.deriver.derivations(atom, below), None)\n",
        "        found = next(self.deriver.derivations(atom, None), None)\n",
    ),
    Mistake(
        "blame: a repair costs what its first change costs",
        "explain/blame/solver.py",
        "self._solver.addCol(cost, 0.0, 0.0 if number in fixed else 1.0, 0, [], [])",
        "self._solver.addCol(cost if number else 9.0, 0.0, 0.0 if number in fixed else 1.0, 0, [], [])",
    ),
)


def plant(minutes: float, seed: int, only: str | None = None) -> int:
    """Try each mistake for at most so many minutes; return how many were not caught."""
    missed = 0
    for mistake in MISTAKES:
        if only is not None and not mistake.layer.startswith(only):
            continue
        begun = time.monotonic()
        found = _try(mistake, minutes, seed)
        took = time.monotonic() - begun
        missed += found is None
        how = f"caught after {took / 60:.1f} min: {found}" if found else f"NOT CAUGHT in {took / 60:.1f} min"
        print(f"{mistake.layer}\n  {how}", flush=True)
    print(f"torture: {missed} of the planted mistakes were not caught")
    return missed


def _try(mistake: Mistake, minutes: float, seed: int) -> str | None:
    """Return the first failure that the machine finds with a mistake in place."""
    with tempfile.TemporaryDirectory(prefix="tidelog-planted-") as folder:
        # With its times, so that kernels that do not concern the mistake need no compiling.
        shutil.copytree(_SOURCE, Path(folder, "src"), copy_function=shutil.copy2)
        path = Path(folder, "src", "tidelog", mistake.path)
        text = path.read_text(encoding="utf-8")
        assert text.count(mistake.right) == 1, f"{mistake.path} has changed: say {mistake.layer!r} anew"
        path.write_text(text.replace(mistake.right, mistake.wrong), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "torture", "--minutes", str(minutes), "--seed", str(seed), "--first"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(folder, "src")), str(_TESTS)])},
            capture_output=True,
            text=True,
            check=False,
        )
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED ")]
        if failed:
            return failed[0].removeprefix("FAILED ")
        if done.returncode not in {0, 1}:
            return (done.stderr.strip().splitlines() or ["it does not start"])[-1]
        return None
