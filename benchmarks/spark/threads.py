"""The CPU seconds of partners in threads of one process: what they do, without what else the machine does.

Wall time on a busy machine says little. This leaves out Spark's stage, sockets and files, which are small
beside recursion that is worth a cluster.
"""

import threading
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.spark.subject import Subject
from tidelog.engine.epoch import MaintenanceSettings
from tidelog.engine.local import LocalEngine
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.engine.protocol import Settings, SilentObserver
from tidelog.engine.spark.outside import divide_outside
from tidelog.engine.spark.ownership import is_kept, owned_rows
from tidelog.engine.spark.partner import PartnerContext, PartnerRun
from tidelog.engine.spark.routes import find_routes
from tidelog.engine.spark.split import split_rules
from tidelog.engine.spark.wire import ThreadWire, Wire, between_threads
from tidelog.maintain.partners.engine import CodeDelta, PartnerEngine
from tidelog.maintain.projections import project_negations


def local_cpu(subject: Subject) -> float:
    """Return the CPU seconds of an evaluation on one thread of the local engine."""
    engine = LocalEngine(subject.program, subject.codec, Settings(jobs=1), {})
    for name, columns in subject.facts:
        engine.insert(name, columns)
    begun = time.process_time()
    engine.evaluate(SilentObserver())
    return time.process_time() - begun


def partners_cpu(
    subject: Subject, partners: int, wires: Sequence[Wire] = ()
) -> tuple[list[float], dict[str, int]]:
    """Return the CPU seconds of each partner in the recursive stratum, and the sizes they found together.

    `wires` may count what is sent over them.
    """
    program = split_rules(subject.program)
    number, stratum = next((n, s) for n, s in enumerate(program.strata) if s.is_recursive)
    routes = divide_outside(stratum, program, find_routes(stratum, program))
    seconds = [0.0] * partners
    sizes = [dict[str, int]() for _ in range(partners)]

    def work(wire: Wire) -> None:
        state = LocalState(program)
        for name, columns in subject.facts:
            rows = np.stack(list(columns), axis=1).astype(state.dtype)
            route = routes.relations.get(name) or routes.outside.get(name)
            if route is not None:
                rows = is_kept(rows, route, wire)
            relation = state.relations[name]
            relation.insert(np.ascontiguousarray(rows), first_new=relation.NEVER)
            state.show_all(name)
        expressions = Expressions(program, subject.codec, {})
        context = PartnerContext(state, expressions, Settings(jobs=1), wire)
        begun = time.thread_time()
        PartnerRun(stratum, routes, context).run(number, SilentObserver())
        seconds[wire.me] = time.thread_time() - begun
        for name in subject.workload.expected:
            own = owned_rows(state.relations[name].live_rows(), routes.relations[name], wire)
            sizes[wire.me][name] = int(own.size)

    chosen = wires or between_threads(partners)
    threads = [threading.Thread(target=work, args=(wire,)) for wire in chosen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seconds, {name: sum(part[name] for part in sizes) for name in subject.workload.expected}


def epochs_cpu(
    subject: Subject, partners: int, epochs: int = 5, facts: int = 10
) -> tuple[float, list[float]]:
    """Return the CPU seconds of the slowest partner for an evaluation, and for each epoch of a few facts.

    Each epoch deletes facts or inserts them again; the first two, which plan and build indexes, are left out.
    """
    program = split_rules(project_negations(subject.program)[0])
    draw = np.random.default_rng(1)
    changes = []
    for _ in range(epochs + 1):
        name, columns = subject.facts[int(draw.integers(len(subject.facts)))]
        numbers = draw.choice(len(columns[0]), facts, replace=False)
        some = np.stack([column[numbers] for column in columns], axis=1)
        changes += [(name, some[:0], some), (name, some, some[:0])]
    taken = np.zeros((partners, 1 + len(changes)))

    def work(wire: ThreadWire) -> None:
        engine = PartnerEngine(program, {}, Settings(jobs=1), wire, is_wide=False)
        for name, columns in subject.facts:
            engine.insert(name, np.stack(list(columns), axis=1))
        begun = time.thread_time()
        engine.evaluate()
        taken[wire.me, 0] = time.thread_time() - begun
        for number, (name, inserted, deleted) in enumerate(changes, start=1):
            begun = time.thread_time()
            engine.apply({name: CodeDelta(inserted, deleted)}, MaintenanceSettings())
            engine.commit()
            taken[wire.me, number] = time.thread_time() - begun

    threads = [threading.Thread(target=work, args=(wire,)) for wire in between_threads(partners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slowest = taken.max(axis=0)
    return float(slowest[0]), [float(each) for each in slowest[3:]]
