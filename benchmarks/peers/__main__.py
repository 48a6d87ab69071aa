"""`python -m benchmarks.peers PEER PROGRAM FACTS JOBS`: run one peer and print what it took as JSON."""

import json
import resource
import sys
import time
from pathlib import Path

from benchmarks.peers import load_peer
from benchmarks.peers.rules import read_plain_program


def main() -> None:
    """Evaluate first, note what that took since the process began, and count afterwards."""
    name, program, facts, jobs = sys.argv[1:]
    started = time.perf_counter()
    count = load_peer(name).run(read_plain_program(Path(program)), Path(facts), int(jobs))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    report = {
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "wall_seconds": time.perf_counter() - started,
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "sizes": count(),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
