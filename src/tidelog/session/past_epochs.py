"""An old epoch as explanations and readers see it."""

from functools import cached_property
from typing import TYPE_CHECKING

from tidelog.engine.code_rows import as_columns
from tidelog.engine.protocol import SilentObserver
from tidelog.explain.epoch_inputs import epoch_inputs
from tidelog.explain.proofs.provenance import HEIGHT
from tidelog.session.engines import EngineHandle, find_engine
from tidelog.session.epochs import Epochs
from tidelog.session.prepare import Prepared, prepare_text
from tidelog.views import Snapshot
from tidelog.views.epoch_diff import find_deltas, find_epoch_diff
from tidelog.views.history import History
from tidelog.views.past_facts import PastFacts

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class PastEpochs:
    """One epoch of a session, which goes on; see `explain.port.Explained`. Callers hold `lock`.

    Facts are read from the session's engine and the deltas since. Proofs need iterations too, which no delta
    has: the first question evaluates the program over the input facts of the epoch, and the rest share that.
    """

    def __init__(self, epochs: Epochs, epoch: int) -> None:
        self._epochs = epochs
        self.epoch = epoch
        # A mistake now and not with the first question.
        _ = find_deltas(epochs.history, epoch, epochs.epoch, epochs.epoch)
        text = epochs.history.text_at(epoch)
        self.prepared = epochs.prepared if text is epochs.text else self._prepare(epochs, epoch)
        facts = PastFacts(
            epoch,
            lambda: epochs.snapshot,
            lambda before, after: find_deltas(epochs.history, before, after, epochs.epoch),
        )
        kind, codec, settings = epochs.handle.kind, epochs.handle.codec, epochs.handle.settings
        functions = self.prepared.functions
        self._snapshot = Snapshot(
            self.prepared.program,
            codec,
            facts,
            lambda other: kind.evaluate(kind.passes(other), codec, settings, functions),
            epoch,
            epochs.lock,
        )

    @staticmethod
    def _prepare(epochs: Epochs, epoch: int) -> Prepared:
        before = epochs.prepared
        text = epochs.history.text_at(epoch)
        known = {**(before.request.options.functions or {}), **before.functions}
        prepared = prepare_text(before.request.changed(functions=known), text, ())
        inputs = [name for name in before.inputs if name in prepared.program.relations]
        return prepare_text(before.request.changed(functions=known), text, inputs)

    @property
    def lock(self) -> "AbstractContextManager[object]":
        """Return the lock that keeps the session in its epoch."""
        return self._epochs.lock

    @property
    def snapshot(self) -> Snapshot:
        """Return what was known; raise if the session is closed."""
        _ = self._epochs.snapshot
        return self._snapshot

    @property
    def history(self) -> History:
        """Return the deltas of the session's last epochs."""
        return self._epochs.history

    @cached_property
    def handle(self) -> EngineHandle:
        """Return an engine of its own, evaluated over the input facts of the epoch."""
        present = self._epochs.handle
        # Partners and GPUs keep the state of the present epoch.
        is_reference = present.kind.name == "reference"
        kind = present.kind if is_reference else find_engine("local")
        if self._epochs.request.options.provenance == HEIGHT and not is_reference:
            kind = kind.with_heights(self.prepared.inputs)
        program = kind.passes(self.prepared.program)
        engine = kind.maintain(program, present.codec, present.settings, self.prepared.functions)
        engine.numbering.take(present.engine.numbering.export())
        later = find_epoch_diff(self.history, self.epoch, self._epochs.epoch, self._epochs.epoch)
        for name, rows in epoch_inputs(self._epochs, program, later).items():
            engine.insert(name, as_columns(rows))
        engine.evaluate(SilentObserver())
        return EngineHandle(kind, present.codec, engine, present.settings, present.observer)
