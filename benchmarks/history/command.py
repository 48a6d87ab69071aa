"""`python -m benchmarks history`: what following commits and edits costs.

python -m benchmarks history --repo FOLDER --commits 300 --lines 50000
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from benchmarks.history.edits import Changes, Texts, made_history

_HERE = Path(__file__).parents[2]
PARTS = ("commits", "edits")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--repo", type=Path, default=_HERE, help="a git repository of Python source")
    parser.add_argument("--commits", type=int, default=300, help="how many of its last commits to replay")
    parser.add_argument("--every", type=int, default=25, help="compare with a new analysis so often")
    parser.add_argument("--lines", type=int, default=50_000, help="size of the code base that is edited")
    parser.add_argument("--edits", type=int, default=200, help="how many single statements to edit")
    parser.add_argument("--programs", nargs="*", default=["review.dl"], help="of examples/analyses")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="what to measure")


def run_history(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status: 1 if a state differed from a new analysis."""
    from benchmarks.history.live import follow_edits  # noqa: PLC0415 - it brings NumPy
    from benchmarks.history.replay import edit_statements, replay  # noqa: PLC0415 - likewise
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - likewise

    is_wrong = False
    for program in options.programs:
        reports = []
        if "commits" in options.parts:
            texts, commits = _history(options)
            reports.append(replay(program, texts, commits, options.every))
        if "edits" in options.parts:
            texts = read_files(options.lines)
            reports.append(edit_statements(program, texts, options.edits))
            reports.append(follow_edits(program, texts, options.edits))
        for lines in reports:
            for line in lines:
                print(line, flush=True)
                is_wrong = is_wrong or line.startswith("WRONG")
    return 1 if is_wrong else 0


def _history(options: argparse.Namespace) -> tuple[Texts, Iterable[Changes]]:
    """Return the files at the beginning and the changes of each commit; made up where there are too few."""
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - see above
    from tidelog.errors import TidelogError  # noqa: PLC0415 - see above
    from tidelog.trees.git_history import GitHistory  # noqa: PLC0415 - see above

    try:
        history = GitHistory(options.repo, (".py",))
        commits = history.commits("HEAD")[-options.commits :]
        if len(commits) == options.commits:
            print(f"the last {len(commits)} commits of {options.repo.name}", flush=True)
            first = commits[0].parent
            texts = {} if first is None else history.files(first)
            return texts, (history.changes(commit) for commit in commits)
        print(f"{options.repo.name} has {len(commits)} commits only", end="; ")
    except TidelogError as error:
        print(error.diagnostics[0].message, end="; ")
    print("a history is made of edits of installed packages")
    made = read_files(options.lines)
    return made, made_history(made, options.commits)
