"""The CPU seconds of partners in threads of one process: what they do, without what else the machine does.

Wall time on a busy machine says little. This leaves out Spark's stage, sockets and files, which are small
beside recursion that is worth a cluster.
"""

import threading
import time

import numpy as np

from benchmarks.spark.subject import Subject
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark.partner import PartnerRun, PartnerSurroundings, is_kept, owned_rows
from tidelog.engine.spark.routes import find_routes
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.wire import ThreadWire, between_threads


def local_cpu(subject: Subject) -> float:
    """Return the CPU seconds of an evaluation on one thread of the local engine."""
    engine = LocalEngine(subject.program, subject.codec, Settings(jobs=1), {})
    for name, columns in subject.facts:
        engine.insert(name, columns)
    begun = time.process_time()
    engine.evaluate(SilentObserver())
    return time.process_time() - begun


def partners_cpu(subject: Subject, partners: int) -> tuple[list[float], dict[str, int]]:
    """Return the CPU seconds of each partner in the recursive stratum, and the sizes they found together."""
    program = split_rules(subject.program)
    number, stratum = next((n, s) for n, s in enumerate(program.strata) if s.is_recursive)
    routes = find_routes(stratum, program)
    seconds = [0.0] * partners
    sizes = [dict[str, int]() for _ in range(partners)]

    def work(wire: ThreadWire) -> None:
        state = LocalState(program)
        for name, columns in subject.facts:
            rows = np.stack(list(columns), axis=1).astype(state.dtype)
            if name in stratum.relations:
                rows = is_kept(rows, routes.relations[name], wire)
            relation = state.relations[name]
            relation.insert(np.ascontiguousarray(rows), first_new=relation.NEVER)
            state.show_all(name)
        expressions = Expressions(program, subject.codec, {})
        around = PartnerSurroundings(state, expressions, Settings(jobs=1), wire)
        begun = time.thread_time()
        PartnerRun(stratum, routes, around).run(number, SilentObserver())
        seconds[wire.me] = time.thread_time() - begun
        for name in subject.workload.expected:
            own = owned_rows(state.relations[name].live_rows(), routes.relations[name], wire)
            sizes[wire.me][name] = int(own.size)

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds, {name: sum(part[name] for part in sizes) for name in subject.workload.expected}
