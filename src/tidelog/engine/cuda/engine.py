"""The engine on a GPU: strata that work on codes alone run there, the others on the local engine."""

import time
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from tidelog.engine.code_rows import as_columns, matching
from tidelog.engine.cuda.code_ranges import Ranges, ranges_of_facts, ranges_of_rules
from tidelog.engine.cuda.device import Device, DeviceArray
from tidelog.engine.cuda.layout import make_layout
from tidelog.engine.cuda.memory import HeldFacts
from tidelog.engine.cuda.placement import DevicePlacement, reason_for_host, reason_for_plan
from tidelog.engine.cuda.resources import find_resources
from tidelog.engine.cuda.run import DeviceRun
from tidelog.engine.cuda.source import write_source
from tidelog.engine.cuda.statistics import DeviceStatistics
from tidelog.engine.equivalences import ClosedByRules, close_by_rules
from tidelog.engine.local.engine import LocalEngine
from tidelog.engine.local.runnable_rules import RunContext
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.local.written_facts import written_facts
from tidelog.engine.numbering import Numbering
from tidelog.engine.protocol import Codes, Observer, RunStatistics, Settings, StratumStatistics, UserFunctions
from tidelog.errors import Diagnostic, TidelogError
from tidelog.plan import plan_stratum
from tidelog.plan.flatten import flatten_rule, is_fact
from tidelog.plan.operators import StratumPlan
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations
from tidelog.values.codec import Codec


class CudaEngine(LocalEngine):
    """Runs a program once; see `engine.protocol.Engine`.

    Facts stay on the device until someone asks for them, or a stratum on the host reads them.
    `placements` says where each stratum ran.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - an engine is made of no less
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        device: Device,
        numbering: Numbering | None = None,
    ) -> None:
        super().__init__(program, codec, settings, functions, numbering)
        self._device = device
        self._held: dict[str, HeldFacts] = {}
        self._ranges: dict[str, Ranges] = {}
        # The relations whose facts the device has and the local state has not.
        self._away: set[str] = set()
        self.placements: tuple[DevicePlacement, ...] = ()

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint, stratum by stratum."""
        self.placements = ()
        return super().evaluate(observer)

    def _run_once(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum, on the device if it can."""
        closed = close_by_rules(stratum, self._program)
        reason = "the program counts with autoinc()" if self._counted else None
        reason = reason or reason_for_host(closed.stratum, closed.program)
        plan = None
        if reason is None:
            away = {name: self._held[name].count for name in self._away}
            away.update({pairs: self.size(name) for name, pairs in closed.pairs.items()})
            plan = plan_stratum(closed.stratum, closed.program, DeviceStatistics(context.statistics, away))
            reason = reason_for_plan(plan)
        if plan is None or reason is not None:
            self._place(stratum, "host", reason or "")
            for name in earlier_relations(stratum):
                self._fetch(name)
            return super()._run_once(number, stratum, context, observer)
        self._place(stratum, "device", "")
        start = time.perf_counter()
        iterations = self._run_on_device(number, closed, plan, observer)
        self._away.update(stratum.relations)
        facts = sum(self._held[name].count for name in stratum.relations)
        seconds = time.perf_counter() - start
        return StratumStatistics(stratum.relations, stratum.is_recursive, iterations, facts, 0, seconds)

    def _place(self, stratum: Stratum, where: str, reason: str) -> None:
        self.placements = (*self.placements, DevicePlacement(stratum.relations, where, reason))

    def _run_on_device(
        self, number: int, closed: ClosedByRules, plan: StratumPlan, observer: Observer
    ) -> int:
        """Run the kernels of a stratum; return how many iterations it took."""
        stratum, program, pairs = closed.stratum, closed.program, closed.pairs
        facts_of = {other: name for name, other in pairs.items()}
        for name, rows in written_facts(stratum.rules, self._expressions).items():
            self._state.insert(facts_of.get(name, name), as_columns(rows))
        names = {*earlier_relations(stratum), *stratum.relations}
        # The input facts of an equivalence are pairs; it begins without facts.
        facts = {name: self._rows(facts_of.get(name, name), is_empty=name in pairs) for name in names}
        known = {
            name: self._ranges[name]
            if name in self._held
            else ranges_of_facts(facts[name][: program.relations[name].arity])
            for name in names
        }
        rules = [flatten_rule(rule, program) for rule in stratum.rules if not is_fact(rule)]
        ranges = ranges_of_rules(rules, known, self._codec)
        for name in names - self._held.keys():
            self._put(name, facts[name], ranges[name], names)
        layouts = {name: self._held[name].layout for name in names}
        resources = find_resources(plan, program, layouts, stratum.relations)
        source = write_source(plan, resources, self._codec)
        spill = partial(self._spill, names)
        run = DeviceRun(stratum, program, self._settings, self._device, resources, source, self._held, spill)
        iterations = run.run(number, observer)
        for name in pairs.values():
            del self._held[name]
        return iterations

    def _rows(self, name: str, *, is_empty: bool) -> list[Codes]:
        """Return the columns of the facts that the local state has of a relation, or of no fact."""
        stored = self._state.relations[name]
        rows = stored.live_rows()[: 0 if is_empty or name in self._held else len(stored)]
        return as_columns(rows) if stored.arity else [np.zeros(len(rows), np.int64)]

    def _put(self, name: str, columns: list[Codes], ranges: Ranges, needed: Collection[str]) -> None:
        """Copy the facts of a relation to the device, which also needs others."""
        layout = make_layout(ranges)
        count = len(columns[0])
        words = layout.pack(columns[: len(ranges)], count)
        array = self._empty(layout.words * count, needed)
        self._device.put(array, 0, words.ravel())
        self._held[name] = HeldFacts(layout, array, count, count)
        self._ranges[name] = ranges

    def _empty(self, count: int, needed: Collection[str]) -> DeviceArray:
        """Return an array on the device, for which relations that are not needed may have to leave it."""
        while True:
            try:
                return self._device.empty(count)
            except MemoryError:
                if not self._spill(needed):
                    raise TidelogError([_too_many_facts(needed)]) from None

    def _fetch(self, name: str) -> None:
        """Copy the facts of a relation from the device to the local state, if it does not have them."""
        if name not in self._away:
            return
        columns = self._columns_of(name)
        rows = np.stack(columns, axis=1) if columns else np.zeros((self._held[name].count, 0), np.int64)
        if not self._state.is_wide and not fits_narrow(rows):
            self._state.widen()
        self._state.replace(name, self._state.pack_rows(rows))
        self._away.discard(name)

    def _spill(self, needed: Collection[str]) -> bool:
        """Move a relation that the stratum does not need to the host; return False if there is none."""
        name = next((name for name in self._held if name not in needed), None)
        if name is None:
            return False
        self._fetch(name)
        del self._held[name]
        return True

    def _columns_of(self, name: str) -> list[Codes]:
        """Return the facts of a relation on the device as columns."""
        held = self._held[name]
        starts = [word * held.capacity for word in range(held.layout.words)]
        words = [self._device.get(held.rows, start, start + held.count) for start in starts]
        return held.layout.unpack(words)

    def device_columns(self, relation: str) -> list[DeviceArray] | None:
        """Return the codes of a relation as arrays on the device, None if its facts are on the host."""
        if relation not in self._away:
            return None
        held = self._held[relation]
        starts = [word * held.capacity for word in range(held.layout.words)]
        return held.layout.unpack([held.rows[start : start + held.count] for start in starts])

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return self._held[relation].count if relation in self._away else super().size(relation)

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return self._columns_of(relation) if relation in self._away else super().facts(relation)

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        self._fetch(relation)
        return as_columns(matching(self._state.relations[relation].live_rows(), pattern))


def _too_many_facts(relations: Collection[str]) -> Diagnostic:
    names = ", ".join(f"`{name}`" for name in sorted(relations))
    return Diagnostic(
        code="memory-limit",
        message=f"the GPU has no memory for the facts of {names} together",
        hint="run the program with the engine `local`",
    )
