"""Program, engine and store, brought from epoch to epoch together."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from tidelog.engine.epoch import EpochResult, MaintenanceSettings, RelationChange, reverse
from tidelog.engine.patterns import run_warnings
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program import print_program
from tidelog.program.codec_beside import codec_beside
from tidelog.program.inputs import find_changeable
from tidelog.program.nodes import Program
from tidelog.program.text import ProgramText
from tidelog.session.changes import NetChange
from tidelog.session.deltas import make_delta, rule_delta
from tidelog.session.demand import DemandedFacts, Demands
from tidelog.session.engines import EngineHandle, EngineKind
from tidelog.session.kept_epochs import kept_epochs
from tidelog.session.mistakes import APART, CLOSED
from tidelog.session.pending import PendingEpoch
from tidelog.session.prepare import Prepared, Request
from tidelog.source import Source
from tidelog.store import Store
from tidelog.values import Value
from tidelog.version import own_version
from tidelog.views import Delta, Snapshot
from tidelog.views.delta import NO_RULES, RuleDelta
from tidelog.views.history import History

_LOGGER: Final = logging.getLogger("tidelog")
_Result = TypeVar("_Result")


class Epochs:
    """The present epoch of a session, and the way to the next one.

    Each step either succeeds in the engine and in the store, or leaves both as they were. Callers
    hold `lock`.
    """

    def __init__(
        self,
        prepared: Prepared,
        handle: EngineHandle,
        store: Store | None = None,
        epoch: int = 0,
        history: History | None = None,
    ) -> None:
        self.lock = threading.RLock()
        self.history = History(prepared.request.options.keep_epochs) if history is None else history
        self._prepared = prepared
        self._handle = handle
        self._run_warnings = handle.codec.warnings
        self._store = store
        self._epoch = epoch
        # Whether the engine and the store ended up in different epochs, which only opening again heals.
        self._is_apart = False
        if history is None:
            self.history.note_text(epoch, prepared.text)
        self._look_at_program()
        is_eager = prepared.request.options.evaluate == "all"
        self.demands = None if is_eager else Demands(self)
        self._settle()

    def _look_at_program(self) -> None:
        """Note what every epoch asks of the program, which may have rules by the thousand."""
        self._derived = frozenset(rule.head.relation for rule in self.program.rules)
        self._changeable = find_changeable(self.program, self._prepared.inputs)

    def _settle(self) -> None:
        """Say what is known in the new epoch."""
        kind, codec, settings = self._handle.kind, self._handle.codec, self._handle.settings
        functions = self._prepared.functions
        self._snapshot: Snapshot | None = Snapshot(
            self.program,
            codec,
            self._handle.engine if self.demands is None else DemandedFacts(self._handle.engine, self.demands),
            lambda other: kind.evaluate(kind.question_passes(other), codec, settings, functions),
            self._epoch,
            self.lock,
        )

    @property
    def snapshot(self) -> Snapshot:
        """Return what is known in the present epoch."""
        if self._snapshot is None:
            raise TidelogError([CLOSED])
        return self._snapshot

    @property
    def epoch(self) -> int:
        """Return the number of the present epoch."""
        return self._epoch

    @property
    def program(self) -> Program:
        """Return the checked program."""
        return self._prepared.program

    @property
    def handle(self) -> EngineHandle:
        """Return the engine at work."""
        return self._handle

    @property
    def functions(self) -> Mapping[str, Callable[..., Value]]:
        """Return the Python functions of the program."""
        return self._prepared.functions

    @property
    def prepared(self) -> Prepared:
        """Return the checked program with its functions."""
        return self._prepared

    @property
    def request(self) -> Request:
        """Return what the session was opened with."""
        return self._prepared.request

    @property
    def text(self) -> ProgramText:
        """Return the program as it was written."""
        return self._prepared.text

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return what is strange about the program, and what its engine met."""
        return (*self._prepared.warnings, *run_warnings(self._run_warnings))

    @property
    def changeable(self) -> frozenset[str]:
        """Return the relations whose input facts may change."""
        return self._changeable

    def gather(self) -> PendingEpoch:
        """Return an empty collection of changes."""
        return PendingEpoch(self._prepared, self._handle.codec, self._changeable)

    def apply(self, pending: PendingEpoch, settings: MaintenanceSettings) -> Delta:
        """Apply all changes, of facts and of rules, as one epoch."""
        pending.check_program(self._prepared)
        net = pending.net(self._handle.engine)
        if pending.has_rules:
            return self._change_text(pending.prepared(net), net, settings)
        handle, turned = self._handle, reverse(net.changes)
        result, seconds = self._step(
            net.changes,
            None,
            lambda: handle.engine.apply(net.changes, settings, handle.observer),
            lambda: handle.engine.apply(turned, settings, handle.observer),
        )
        if not net.changes.keys() <= set(self._prepared.inputs):
            # From now on these are inputs, also if rules come to derive them.
            inputs = dict.fromkeys([*self._prepared.inputs, *net.changes])
            self._prepared = replace(self._prepared, inputs=tuple(inputs))
        return self._advance(result, seconds, net)

    def step_apart(self, work: Callable[[], _Result]) -> _Result:
        """Return what an epoch gives whose changes only the engine sees.

        There is no delta, so the history begins anew, and whoever follows deltas is told nothing. Requires a
        session without a store.
        """
        assert self._store is None, "a store keeps the changes of its epochs"
        if self._is_apart:
            raise TidelogError([APART])
        result = work()
        self._epoch += 1
        self.history = History(self._prepared.request.options.keep_epochs)
        self.history.note_text(self._epoch, self._prepared.text)
        self._settle()
        return result

    def preview(self, pending: PendingEpoch) -> Delta:
        """Return what the changes would do; afterwards everything is as it was. It takes the lock itself."""
        with self.lock:
            _ = self.snapshot
            return self._preview(pending)

    def _preview(self, pending: PendingEpoch) -> Delta:
        pending.check_program(self._prepared)
        net = pending.net(self._handle.engine)
        if self._is_apart:
            raise TidelogError([APART])
        before, handle = self._prepared, self._handle
        after = pending.prepared(net) if pending.has_rules else before
        begun = time.perf_counter()
        if pending.has_rules:
            forget = self._take_over(after)
            passes = handle.kind.passes
            try:
                result = handle.port.trial_rules(passes(after.program), passes(before.program), net.changes)
            finally:
                forget()
        else:
            with handle.port.trial(net.changes) as result:
                pass
        seconds = time.perf_counter() - begun
        # Whoever keeps arrays of the engine looks at it again.
        self._settle()
        codec = codec_beside(handle.codec, after.program.types)
        derived = frozenset(rule.head.relation for rule in after.program.rules)
        rules = rule_delta(before.text, after.text) if pending.has_rules else NO_RULES
        return make_delta(after.program, codec, derived, self._epoch + 1, result, seconds, net, rules)

    def _take_over(self, after: Prepared) -> Callable[[], None]:
        """Let the engine know another program's functions and types; return what takes that back."""
        # The engine was given these two when it was made, and goes on with them.
        shared, codec = self._prepared.functions, self._handle.codec
        functions, types = dict(shared), codec.types
        shared.update(after.functions)
        codec.types = {**types, **after.program.types}

        def forget() -> None:
            shared.clear()
            shared.update(functions)
            codec.types = types

        return forget

    def _change_text(self, after: Prepared, net: NetChange, settings: MaintenanceSettings) -> Delta:
        handle, before = self._handle, self._prepared
        forget = self._take_over(after)
        turned = reverse({n: net.changes[n] for n in net.changes if n in before.program.relations})

        def change(prepared: Prepared, changes: Mapping[str, RelationChange]) -> EpochResult:
            program = handle.kind.passes(prepared.program)
            return handle.engine.change_rules(program, settings, handle.observer, changes)

        try:
            result, seconds = self._step(
                net.changes,
                after.text.sources,
                lambda: change(after, net.changes),
                lambda: change(before, turned),
            )
        except BaseException:
            forget()
            raise
        self._prepared = replace(after, functions=before.functions)
        self._look_at_program()
        self.history.note_text(self._epoch + 1, after.text)
        return self._advance(result, seconds, net, rule_delta(before.text, after.text))

    def save(self, *, with_indexes: bool = False) -> None:
        """Write the present state to the store, and if asked for, as it is in memory, too."""
        if self._store is not None:
            engine = self._handle.engine
            # Only engines that keep their state in arrays of this process have an image.
            write_image = getattr(engine, "write_image", None) if with_indexes else None
            if write_image is not None:
                # This may give codes to constants, which the snapshot must know.
                engine.prepare_epochs()  # type: ignore[attr-defined]  # an engine with images has it
            self._store.inputs = tuple(self._prepared.inputs)
            kind = self._handle.kind
            program = kind.passes(self.program)
            keeps = self._store.keep_epochs is not None
            kept = kept_epochs(self.history, self._store.kept_until) if keeps else None
            self._store.snapshot(engine.export_state(), program, fingerprint(program, kind), kept)
            if write_image is not None:
                self._store.write_image(write_image)

    @property
    def has_store(self) -> bool:
        """Say whether epochs are written to a store."""
        return self._store is not None

    def leave_store(self) -> None:
        """Release the store and go on without one."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def close(self) -> None:
        """Release the store and all facts; only the program and its text can be asked for."""
        self.leave_store()
        # Partners on Spark stay until they are told to go.
        close = getattr(self._handle.engine, "close", None)
        if close is not None:
            close()
        self._snapshot = None
        del self._handle

    def _step(
        self,
        changes: Mapping[str, RelationChange],
        sources: Sequence[Source] | None,
        work: Callable[[], EpochResult],
        take_back: Callable[[], object],
    ) -> tuple[EpochResult, float]:
        """Return the engine's result and its seconds, with the epoch on the disk."""
        store = self._store
        if self._is_apart:
            raise TidelogError([APART])
        if store is not None:
            store.begin(changes, sources)
        mark = self._handle.engine.numbering.mark()
        begun = time.perf_counter()
        try:
            result = work()
        except BaseException:
            if store is not None:
                store.roll_back()
            raise
        seconds = time.perf_counter() - begun
        if store is not None:
            try:
                store.commit(seconds)
            except BaseException:
                self._is_apart = True
                if store.epoch == self._epoch:
                    take_back()
                    self._handle.engine.numbering.rewind(mark)
                    self._is_apart = False
                raise
        return result, seconds

    def _advance(
        self, result: EpochResult, seconds: float, net: NetChange, rules: RuleDelta = NO_RULES
    ) -> Delta:
        self._epoch += 1
        self._settle()
        codec = self._handle.codec
        delta = make_delta(self.program, codec, self._derived, self._epoch, result, seconds, net, rules)
        self.history.add(delta)
        self._save_if_due()
        return delta

    def _save_if_due(self) -> None:
        if self._store is None or not self._store.wants_snapshot:
            return
        try:
            self.save()
        except TidelogError as error:
            # The epoch is committed; only the next opening takes longer, and a later epoch tries again.
            _LOGGER.warning("the store continues without a new checkpoint: %s", error)


def fingerprint(program: Program, kind: EngineKind) -> str:
    """Return a text that tells apart states whose annotations may differ.

    They differ with the rules, with the version of Tidelog, and with the engine: on Spark, iterations and
    counts are known only of what partners keep.
    """
    text = f"{own_version()}\n{kind.name}\n{print_program(program)}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
