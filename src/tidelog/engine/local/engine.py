"""The local engine: Numba kernels over codes, one machine, all its cores."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine.code_rows import as_columns, matching
from tidelog.engine.convergence import endless
from tidelog.engine.counted import number_derivations
from tidelog.engine.evaluation import evaluate_strata
from tidelog.engine.local.evaluated import Evaluated
from tidelog.engine.local.expressions import Expressions, NumberFunctor
from tidelog.engine.local.functional import FunctionalRelations
from tidelog.engine.local.runnable_rules import RunContext
from tidelog.engine.local.settle import needs_settling
from tidelog.engine.local.state import LocalState, NeedsWideCodes
from tidelog.engine.local.statistics import StateStatistics
from tidelog.engine.local.stratum import StratumRun
from tidelog.engine.local.workers import Workers
from tidelog.engine.numbering import CountedRule, Numbering
from tidelog.engine.protocol import (
    Codes,
    Columns,
    Observer,
    RunStatistics,
    Settings,
    StratumStatistics,
    UserFunctions,
)
from tidelog.errors import Diagnostic, TidelogError
from tidelog.plan.lattice_paths import plan_paths
from tidelog.program.nodes import Program, Stratum
from tidelog.program.walk_nodes import earlier_relations, last_used
from tidelog.storage.kernel import Int64s
from tidelog.values.codec import Codec

if TYPE_CHECKING:
    from tidelog.engine.local.paths import PathStratum
    from tidelog.engine.profile.recorder import ProfileRecorder
    from tidelog.storage.projected import Projection


class LocalEngine:
    """Runs a program on this machine; see `engine.protocol.Engine`.

    `numbering` are the numbers of `autoinc()` to continue with, none by default.
    """

    def __init__(  # noqa: PLR0913 - an engine is made of no less
        self,
        program: Program,
        codec: Codec,
        settings: Settings,
        functions: UserFunctions,
        numbering: Numbering | None = None,
        *,
        annotated: bool = False,
    ) -> None:
        self._settings = settings
        self._functions = functions
        self._codec = codec
        self.numbering = Numbering() if numbering is None else numbering
        self._adopt_program(program)
        self._state = LocalState(self._program, annotated=annotated, projections=self._projections)
        self._expressions = Expressions(self._program, codec, functions, self._number_functors())
        self._functional = FunctionalRelations(self._state, self._expressions)
        # If set, it takes what evaluation does, stratum by stratum.
        self.profile: ProfileRecorder | None = None

    def _adopt_program(self, program: Program) -> None:
        """Take a program in the form that is run: derivations that are counted are facts."""
        counted = number_derivations(program)
        self._program, self._counted = counted.program, counted.rules
        # Relations that are no more than an index of another one.
        self._projections: Mapping[str, Projection] = {}

    def _number_functors(self) -> dict[str, NumberFunctor]:
        """Return the functions that return the numbers of derivations, by functor."""
        return {rule.functor: partial(self._numbers_of, rule) for rule in self._counted}

    def _numbers_of(self, rule: CountedRule, operands: Sequence[Codes], count: int) -> Evaluated:
        """Return the numbers of derivations; the first operand says which counter of the rule is meant."""
        place, *columns = (np.broadcast_to(codes, count) for codes in operands)
        numbers = self.numbering.find(rule.name, columns, count)
        return numbers + place, numbers >= 0

    def give_numbers(self, stratum: Stratum, rows: Mapping[str, Int64s] | None = None) -> None:
        """Assign numbers to the derivations that a stratum's rules count.

        With `rows`, only the derivations in these rows, by relation, can be new.
        """
        if not self._counted:
            return
        # An aggregate that needs a number has a stratum of its own before the rule's.
        read = earlier_relations(stratum)
        heads = {rule.head for rule in self._counted if rule.relation in read}
        strata = [each.relations for each in self._program.strata if not heads.isdisjoint(each.relations)]
        for rule in self._counted:
            is_due = any(rule.head in names for names in strata)
            if not is_due or (rows is not None and rule.relation not in rows):
                continue
            stored = self._state.relations[rule.relation]
            found = stored.live_rows() if rows is None else stored.rows[rows[rule.relation]]
            self.numbering.give(rule, as_columns(found), len(found), self._codec)

    def insert(self, relation: str, columns: Columns) -> None:
        """Insert input facts."""
        self._state.insert(relation, columns)
        self._check_memory()

    @property
    def _recorder(self) -> "ProfileRecorder | None":
        """Return what takes the profile of an evaluation, None if nobody asked for it or that is over."""
        return self.profile if self.profile is not None and self.profile.is_open else None

    def evaluate(self, observer: Observer) -> RunStatistics:
        """Evaluate every relation to its fixpoint, stratum by stratum."""
        made = {rule.relation for rule in self._counted}
        with self._run_context() as context:

            def run(number: int, stratum: Stratum, observer: Observer) -> StratumStatistics:
                self.give_numbers(stratum)
                statistics = self._run_stratum(number, stratum, context, observer)
                self._functional.check(stratum)
                return statistics

            finished = evaluate_strata(self._program, run, observer, made)
        if self.profile is not None:
            self.profile.is_open = False
        return finished

    @contextmanager
    def _run_context(self) -> Iterator[RunContext]:
        """Yield the context that strata run in; its threads end with it."""
        workers = Workers(self._settings.jobs)
        try:
            yield RunContext(
                self._state,
                self._expressions,
                self._functions,
                self._settings,
                StateStatistics(self._state),
                workers,
                self._check_memory,
                None if self._recorder is None else self._recorder.measurements,
            )
        finally:
            workers.close()

    def _run_stratum(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum; if a code outgrows 32 bits, widen the state and run it again."""
        state = self._state
        counts = {name: state.relations[name].count for name in stratum.relations}
        # Rows are only ever appended, so the first ones are the inputs even after a failed run; but not
        # where settling the inputs put others in their place.
        settled = {
            name: state.relations[name].live_rows().copy()
            for name in stratum.relations
            if needs_settling(state.program.relations[name])
        }
        try:
            return self._run_once(number, stratum, context, observer)
        except NeedsWideCodes:
            for name, count in counts.items():
                rows = settled[name] if name in settled else state.relations[name].held[:count]
                state.replace(name, rows)
            state.widen(context.workers.sharing)
            return self._run_once(number, stratum, context, observer)

    def _run_once(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum, and let go the indexes that no later one looks at."""
        statistics = self._run_kind(number, stratum, context, observer)
        for name in self._last_used[number]:
            self._state.relations[name].forget_indexes()
        return statistics

    @cached_property
    def _last_used(self) -> list[list[str]]:
        """Return for each stratum the relations that no later one looks at."""
        return last_used(self._program.strata)

    def _run_kind(
        self, number: int, stratum: Stratum, context: RunContext, observer: Observer
    ) -> StratumStatistics:
        """Run one stratum, as a graph if it is one."""
        start = time.perf_counter()
        graph = self._run_paths(stratum, context)
        if graph is None:
            return self._stratum_run(number, stratum, context).run(number, observer)
        facts = sum(len(self._state.relations[name]) for name in stratum.relations)
        observer.iteration_finished(number, 1, facts, self._state.size())
        self._check_memory()
        return StratumStatistics(
            stratum.relations, stratum.is_recursive, 1, facts, graph.derivations, time.perf_counter() - start
        )

    def _stratum_run(self, number: int, stratum: Stratum, context: RunContext) -> StratumRun:
        """Return what evaluates a stratum by its delta rules."""
        recorder = self._recorder
        if recorder is None:
            return StratumRun(stratum, context)
        from tidelog.engine.local.profiled import ProfiledRun  # noqa: PLC0415 - only profiles need it

        return ProfiledRun(stratum, context, number, recorder)

    def _run_paths(self, stratum: Stratum, context: RunContext) -> "PathStratum | None":
        """Evaluate a stratum by best paths; return None and change nothing if it is not a graph."""
        plan = plan_paths(stratum, self._program)
        if plan is None:
            return None
        from tidelog.engine.local.paths import PathStratum  # noqa: PLC0415 - few programs need it
        from tidelog.storage.paths import Endless, Unsuitable  # noqa: PLC0415 - as above

        graph = PathStratum(plan, self._state, follows=self._state.annotated)
        try:
            graph.evaluate(self._expressions, context.statistics)
        except Unsuitable:
            return None
        except Endless:
            raise TidelogError([endless(stratum)]) from None
        return graph

    def size(self, relation: str) -> int:
        """Return the number of facts."""
        return len(self._state.relations[relation])

    def facts(self, relation: str) -> list[Codes]:
        """Return all facts as one array of codes per column."""
        return as_columns(self._state.relations[relation].live_rows())

    def facts_between(self, relation: str, first: int, last: int) -> list[Codes]:
        """Return some facts in the order of `facts`, without a copy of all the others."""
        stored = self._state.relations[relation]
        if not stored.deleted:
            return as_columns(stored.live_rows(first, min(last, stored.count)))
        return self.facts_at(relation, np.arange(first, min(last, len(stored))))

    def facts_at(self, relation: str, places: Codes) -> list[Codes]:
        """Return the facts at these places in the order of `facts`."""
        stored = self._state.relations[relation]
        numbers = np.flatnonzero(stored.alive[: stored.count])[places] if stored.deleted else places
        return as_columns(stored.rows[numbers])

    def fact_column(self, relation: str, column: int) -> Codes:
        """Return one column of the facts in the order of `facts`."""
        codes: Codes = self._state.relations[relation].live_rows()[:, column].astype(np.int64)
        return codes

    def match(self, relation: str, pattern: Sequence[int | None]) -> list[Codes]:
        """Return the facts that agree with the pattern's codes; None agrees with all."""
        return as_columns(matching(self._state.relations[relation].live_rows(), pattern))

    def _check_memory(self) -> None:
        limit = self._settings.memory_limit_bytes
        if limit is None:
            return
        import psutil  # noqa: PLC0415 - loaded only if there is a limit

        used = psutil.Process().memory_info().rss
        if used <= limit:
            return
        held = {name: len(relation) for name, relation in self._state.relations.items()}
        sizes = ", ".join(f"{name} {size:,}" for name, size in held.items() if size)
        message = f"{used / 2**20:,.0f} MiB in use, over the limit of {limit / 2**20:,.0f} MiB"
        hint = "raise the limit, or make the rules derive less"
        raise TidelogError(
            [Diagnostic(code="memory-limit", message=f"{message}; facts so far: {sizes}", hint=hint)]
        )
