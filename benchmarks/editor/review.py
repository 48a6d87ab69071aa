"""`python -m benchmarks review`: reviews of commits against two full runs.

python -m benchmarks review --repo FOLDER --commits 300 --programs names.dl
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidelog.trees.git_history import Commit, GitHistory

_ROOT = Path(__file__).parents[2]
_ANALYSES = _ROOT / "examples" / "analyses"


def add_review_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--repo", type=Path, default=_ROOT, help="a git repository of Python source")
    parser.add_argument("--commits", type=int, default=300, help="how many of its last commits to review")
    parser.add_argument("--every", type=int, default=50, help="measure two full runs so often")
    parser.add_argument("--programs", nargs="*", default=["names.dl"], help="of examples/analyses")
    parser.add_argument(
        "--processes", type=int, default=3, help="reviews by processes of their own, with a store"
    )


def run_reviews(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status: 1 if a review and two full runs differ."""
    is_wrong = False
    for program in options.programs:
        with GitHistory(options.repo, (".py",)) as history:
            commits = [each for each in history.commits("HEAD") if each.parent is not None][
                -options.commits :
            ]
            for line in _in_one_process(program, history, commits, options.every):
                print(line, flush=True)
                is_wrong = is_wrong or line.startswith("WRONG")
        for line in _in_processes(program, options.repo, commits[-options.processes :]):
            print(line, flush=True)
    return 1 if is_wrong else 0


def _in_one_process(program: str, history: GitHistory, commits: list[Commit], every: int) -> Iterator[str]:
    """Yield what reviews of all commits against their parents take, as `--each` makes them."""
    from tidelog.analysis.review import start_reviewer  # noqa: PLC0415 - it brings the engine

    reviewer = start_reviewer(_ANALYSES / program, history, commits[0].parent, facts=_ANALYSES)
    gc.collect()
    gc.freeze()
    seconds: list[float] = []
    full: list[float] = []
    found = 0
    for number, commit in enumerate(commits):
        begun = _cpu_seconds()
        if reviewer.commit != commit.parent:
            reviewer.go_to(str(commit.parent))
        review = reviewer.review(commit.id)
        seconds.append(_cpu_seconds() - begun)
        found += len(review.new) + len(review.fixed)
        if number % every == 0:
            before, after, spent = _two_runs(program, history, commit)
            full.append(spent)
            if after - before != len(review.new) - len(review.fixed):
                yield f"WRONG: {commit.short} has {after - before} findings more, by full runs"
    median, whole = statistics.median(seconds), statistics.median(full)
    cuts = statistics.quantiles(seconds, n=100)
    yield (
        f"{program}: {len(commits)} reviews, {found:,} findings that appear or vanish; CPU ms: median"
        f" {1000 * median:.0f}, mean {1000 * statistics.mean(seconds):.0f}, 90 % {1000 * cuts[89]:.0f},"
        f" most {1000 * max(seconds):.0f}; two full runs {1000 * whole:.0f};"
        f" {whole / median:.0f} times faster (median), {whole / statistics.mean(seconds):.0f} (mean);"
        f" {sum(30 * each <= whole for each in seconds)} at least 30 times"
    )


def _two_runs(program: str, history: GitHistory, commit: Commit) -> tuple[int, int, float]:
    """Return how much is found before and after a commit, and the CPU seconds of both runs."""
    from tidelog.analysis.review import start_reviewer  # noqa: PLC0415 - see above

    counts = []
    begun = _cpu_seconds()
    for revision in (str(commit.parent), commit.id):
        follow = start_reviewer(_ANALYSES / program, history, revision, facts=_ANALYSES).follow
        counts.append(len(follow.findings()))
        follow.close()
    return counts[0], counts[1], _cpu_seconds() - begun


def _cpu_seconds() -> float:
    """Return the CPU seconds so far, with those of processes that have ended: files are read by some."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _in_processes(program: str, repo: Path, commits: list[Commit]) -> Iterator[str]:
    """Yield what processes take, from their start to their end, with a store and without one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tidelog", "review", str(_ANALYSES / program)]
        options = ["--git", str(repo), "--exit-zero"]
        store = ["--store", f"{folder}/store"]
        # Modules are compiled once and kept, as where Tidelog is installed.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = f"{folder}/modules"
        _run([*command, f"{commits[0].parent}..{commits[0].parent}", *options, *store], environment)
        for commit in commits:
            revisions = f"{commit.parent}..{commit.id}"
            quick = _run([*command, revisions, *options, *store], environment)
            slow = _run([*command, revisions, *options], environment)
            yield (
                f"{program}: {commit.short} as a process: CPU {quick:.2f} s with a store,"
                f" {slow:.1f} s without, which is one full run and the change;"
                f" {2 * slow / quick:.0f} times faster than two"
            )


def _run(command: list[str], environment: Mapping[str, str]) -> float:
    """Return the CPU seconds of a process."""
    import resource  # noqa: PLC0415 - not on every system

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(environment)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
