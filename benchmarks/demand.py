"""`python -m benchmarks demand`: a question against the whole closure.

python -m benchmarks demand --workload tc_grid150 --repeat 5

A session that evaluates on demand is asked for what one source reaches; a run evaluates the whole closure.
Both in CPU seconds of one thread, facts loaded before.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import default_cache, facts_folder
from benchmarks.workload import WORKLOADS

if TYPE_CHECKING:
    import tidelog

_GOAL = 1 / 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--workload", default="tc_grid150", help="a transitive closure")
    parser.add_argument("--data", type=Path, default=None, help="folder of the published data sets")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where data sets are unpacked")
    parser.add_argument("--repeat", type=int, default=5, help="how many sources are asked about")


def run_demand(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status: 1 if the goal was missed."""
    import tidelog  # noqa: PLC0415 - brings NumPy
    from tidelog.engine.local import LocalEngine  # noqa: PLC0415 - as above
    from tidelog.engine.protocol import Settings, SilentObserver  # noqa: PLC0415 - as above
    from tidelog.plan.passes import keep_wanted  # noqa: PLC0415 - as above
    from tidelog.values import Codec  # noqa: PLC0415 - as above

    workload = next(each for each in WORKLOADS if each.name == options.workload)
    folder = facts_folder(workload, options.data, options.cache)
    if folder is None:
        print(f"{workload.name} is not in the data folder; name it with --data", file=sys.stderr)
        return 1
    path = Path(__file__).parent / "workloads" / workload.program
    first, later, changed = [], [], []
    for number in range(options.repeat):
        with tidelog.open(path, facts=folder, jobs=1, evaluate="on-demand") as db:
            one, other = (fact[0] for fact in db["arc"][number : number + 6 : 5])
            first.append(_ask(db, one))
            later.append(_ask(db, other))
            db.apply(delete={"arc": [db["arc"][0]]})
            changed.append(_ask(db, one))
    program = keep_wanted(tidelog.read_program(path))
    codec = Codec(program.types)
    engine = LocalEngine(program, codec, Settings(jobs=1), {})
    with tidelog.open(path, facts=folder, jobs=1, evaluate="on-demand") as db:
        engine.insert("arc", db["arc"].codes())
    begun = time.process_time()
    engine.evaluate(SilentObserver())
    whole = time.process_time() - begun
    question = statistics.median(first)
    print(f"{workload.name}, CPU seconds of one thread: the closure {whole:.2f}")
    print(f"the first question {question:.4f}, another source {statistics.median(later):.4f},")
    print(f"the first again after a change {statistics.median(changed):.4f}")
    print(f"1/{whole / question:.0f} of the closure; the goal is 1/{1 / _GOAL:.0f}")
    return 0 if question <= _GOAL * whole else 1


def _ask(db: "tidelog.Session", start: object) -> float:
    """Return the CPU seconds of a question about one source."""
    begun = time.process_time()
    _ = len(db.query("tc($start, x)", start=start))
    return time.process_time() - begun
