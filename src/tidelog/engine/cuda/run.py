"""The evaluation of one stratum on a device."""

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tidelog.engine.convergence import check_convergence
from tidelog.engine.cuda.device import Device
from tidelog.engine.cuda.index_source import BUILD, LINK
from tidelog.engine.cuda.memory import HeldFacts, LimitError, StratumMemory
from tidelog.engine.cuda.resources import FINISHED, ITERATION, MOVED, STAGE, STOP, DeviceRelation, Resources
from tidelog.engine.cuda.source import Stage, StratumSource
from tidelog.engine.protocol import Observer, Settings
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program, Stratum

# Iterations that are launched together once they are short.
_MOST_AT_ONCE = 16
_SHORT_SECONDS = 0.002


class DeviceRun:
    """Runs the kernels of a stratum to its fixpoint, and gives them memory where they stop for more."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a stratum is made of
        self,
        stratum: Stratum,
        program: Program,
        settings: Settings,
        device: Device,
        resources: Resources,
        source: StratumSource,
        held: dict[str, HeldFacts],
        spill: Callable[[], bool],
    ) -> None:
        self._stratum = stratum
        self._program = program
        self._settings = settings
        self._device = device
        self._resources = resources
        self._source = source
        self._held = held
        self._memory = StratumMemory(device, resources, held, settings.memory_limit_bytes, spill)
        stages = (*(Stage(name, name) for name in (*BUILD, "advance", *LINK)), *source.once, *source.repeated)
        self._stages = {stage.name: stage for stage in stages}
        self._names = list(self._stages)
        refills = [f"refill_{r.number}" for r in resources.relations.values() if r.is_checked]
        regroups = [f"regroup_{i.number}" for i in resources.indexes.values() if not i.is_dense]
        resets = ["link_reset", "build_reset"]
        self._module = device.compile(source.text, [*self._names, *refills, *regroups, *resets])
        self._counters = np.zeros(resources.counters, np.uint64)

    def run(self, number: int, observer: Observer) -> int:
        """Evaluate the stratum; return how many iterations it took."""
        try:
            return self._run(number, observer)
        except LimitError:
            raise TidelogError([self._out_of_memory()]) from None

    def _run(self, number: int, observer: Observer) -> int:
        self._begin()
        self._launch(BUILD)
        # Indexes of relations that grow are brought up to date at the beginning of every iteration.
        indexes = self._resources.indexes.values()
        begin = ("advance", *(LINK if any(index.relation.grows for index in indexes) else ()))
        once, repeated = (
            [stage.name for stage in part] for part in (self._source.once, self._source.repeated)
        )
        self._launch((*begin, *once, *repeated))
        iteration, at_once = 1, 1
        total = self._report(number, iteration, 0, observer)
        while self._stratum.is_recursive and not self._counters[FINISHED]:
            check_convergence(iteration + 1, self._stratum, self._program, self._settings, total)
            begun = time.perf_counter()
            self._launch((*begin, *repeated) * at_once)
            took = (time.perf_counter() - begun) / at_once
            iteration = int(self._counters[ITERATION]) - int(self._counters[FINISHED])
            total = self._report(number, iteration, total, observer)
            is_short = took < _SHORT_SECONDS and self._settings.iteration_limit is None
            at_once = min(2 * at_once, _MOST_AT_ONCE) if is_short else 1
        for relation in self._growing():
            self._held[relation.name].count = self._count(relation)
        return iteration

    def _begin(self) -> None:
        """Give the kernels memory and facts."""
        self._memory.allocate()
        counters = {}
        for relation in self._resources.relations.values():
            count = self._held[relation.name].count
            counters[self._resources.counter("count", relation.number)] = count
            if not relation.grows:
                counters[self._resources.counter("last", relation.number)] = count
        self._set_counters(counters)
        for relation in self._resources.relations.values():
            if relation.is_checked and self._held[relation.name].table is None:
                self._fill_table(relation)
        self._set_state()

    def _growing(self) -> list[DeviceRelation]:
        return [relation for relation in self._resources.relations.values() if relation.grows]

    def _count(self, relation: DeviceRelation) -> int:
        return int(self._counters[self._resources.counter("count", relation.number)])

    def _report(self, number: int, iteration: int, before: int, observer: Observer) -> int:
        """Report what was found since there were this many facts; return how many there are."""
        total = sum(map(self._count, self._growing()))
        observer.iteration_finished(number, iteration, total - before, total)
        return total

    def _out_of_memory(self) -> Diagnostic:
        """Return the diagnostic for memory that does not suffice, with what was found so far."""
        sizes = ", ".join(f"{relation.name} {self._count(relation):,}" for relation in self._growing())
        limit = self._settings.memory_limit_bytes
        free = f"{self._device.free_bytes() / 2**20:,.0f} MiB are free"
        bound = free if limit is None else f"the limit is {limit / 2**20:,.0f} MiB"
        return Diagnostic(
            code="memory-limit",
            message=f"the stratum needs more memory on the GPU ({bound}); facts so far: {sizes}",
            hint="run it with the engine `local`, or make the rules derive less"
            + ("" if limit is None else "; `memory_limit` may be too low"),
        )

    # --- kernels ---------------------------------------------------------------------------

    def _launch(self, names: Sequence[str]) -> None:
        """Run kernels in this order; where one stops for more memory, go on with it afterwards."""
        while names:
            self._module.launch(names)
            self._counters = self._device.get(self._memory.counters)
            if not self._counters[STOP] or self._counters[FINISHED]:
                return
            stage = self._stages[self._names[int(self._counters[STAGE])]]
            # Of several iterations the one that stopped is finished; the caller goes on with the next.
            behind = names[names.index(stage.again) :]
            following = behind.index("advance") if "advance" in behind else len(behind)
            names = (*self._recover(stage), *behind[:following])

    def _recover(self, stopped: Stage) -> tuple[str, ...]:
        """Enlarge what is full; return the kernels that must run before the stage runs again."""
        resources, memory = self._resources, self._memory
        full = {place for place in resources.flags() if self._counters[place]}
        counters = {STOP: 0, **dict.fromkeys(full, 0)}
        counters.update({resources.counter("pushed", number): 0 for number in stopped.pushed})
        for relation in self._growing():
            # Facts beyond the capacity were counted and not kept; the kernel finds them again.
            count = min(self._count(relation), self._held[relation.name].capacity)
            counters[resources.counter("count", relation.number)] = count
        self._set_counters(counters)
        for relation in self._growing():
            if resources.counter("full", relation.number) in full:
                memory.enlarge_relation(relation, self._count(relation))
                self._fill_table(relation)
        before: tuple[str, ...] = ()
        for index in resources.indexes.values():
            if resources.counter("entries", index.number) in full:
                memory.enlarge_entries(index, int(self._counters[resources.counter("top", index.number)]))
            if resources.counter("groups", index.number) in full:
                self._enlarge_groups(index.number)
                before = ("link_reset" if index.relation.grows else "build_reset",)
        if resources.counter("moves") in full:
            self._set_counters({MOVED: min(int(self._counters[MOVED]), memory.enlarge_moves())})
        for number in range(len(resources.queues)):
            if resources.counter("queue", number) in full:
                memory.enlarge_queue(number)
        self._set_state()
        return before

    def _fill_table(self, relation: DeviceRelation) -> None:
        """Make the table of a relation from its rows."""
        self._memory.make_table(relation)
        self._set_state()
        self._module.launch([f"refill_{relation.number}"])

    def _enlarge_groups(self, number: int) -> None:
        """Move the groups of an index to a larger table."""
        index = next(index for index in self._resources.indexes.values() if index.number == number)
        old = self._memory.enlarge_groups(index)
        self._set_counters({self._resources.counter("used", number): 0})
        self._set_state()
        self._module.launch([f"regroup_{number}"])
        # Once the counters are read, the kernel has run and the old table is not needed any more.
        self._counters = self._device.get(self._memory.counters)
        del old

    def _set_counters(self, values: Mapping[int, int]) -> None:
        """Write counters, here and on the device."""
        for place, value in values.items():
            self._counters[place] = value
        self._device.put(self._memory.counters, 0, self._counters)

    def _set_state(self) -> None:
        self._module.set_state([self._memory.state.get(name, 0) for name in self._source.fields])
