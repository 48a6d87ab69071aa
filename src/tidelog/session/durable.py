"""Epochs that are on the disk before a user hears of them.

A session without a store calls `engine.apply` and `engine.change_rules`. A session with a store
calls the methods of the same names here instead, and nothing else changes:

    if Store.exists(path):
        store = Store.open(path, read_only=...)       # refused while another process writes
        program = build(store.snapshot_sources)       # with `store.inputs` named as inputs
        engine = engine_class(program, codec, ...)    # nothing inserted, nothing evaluated
        epochs = DurableEpochs.resume(store, engine, program, codec, build, observer)
    else:
        store = Store.create(path, portable_sources(sources, include_path, defines), codec, inputs=...)
        ...                                           # insert facts, evaluate
        epochs = DurableEpochs.start(store, engine, program)
    epochs.epoch, epochs.program, epochs.sources      # after `resume` those of the last epoch
    epochs.apply(changes, settings, observer)         # -> EpochResult
    epochs.change_rules(new_sources, new_program, settings, observer)
    epochs.close()

`build` makes the program that the engine takes from sources, as the session does for `add_rules`.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from tidelog.engine.epoch import (
    EngineState,
    EpochResult,
    MaintainedEngine,
    MaintenanceSettings,
    RelationChange,
)
from tidelog.engine.protocol import Observer, SilentObserver
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program import print_program
from tidelog.program.nodes import Program
from tidelog.source import Source
from tidelog.store import FactsEntry, RulesEntry, Status, Store
from tidelog.store.sync import digest
from tidelog.syntax import parse, print_tree
from tidelog.values import Codec

Build = Callable[[Sequence[Source]], Program]

_NEEDS_FILES: Final = re.compile(r"^\s*#\s*include|\.(?:include|once)\b", re.MULTILINE)


class DurableEpochs:
    """An engine and the store that its epochs go to.

    An epoch is written ahead, applied, and committed to the disk; if one of these fails none of
    them happened.
    """

    def __init__(self, store: Store, engine: MaintainedEngine, program: Program) -> None:
        self._store = store
        self._engine = engine
        self._program = program
        self._is_ahead = False
        self._trouble: tuple[Diagnostic, ...] = ()

    @classmethod
    def start(cls, store: Store, engine: MaintainedEngine, program: Program) -> "DurableEpochs":
        """Return the epochs of a new store, after writing the evaluated engine's state to it."""
        epochs = cls(store, engine, program)
        try:
            epochs.snapshot()
        except BaseException:
            store.close()
            raise
        return epochs

    @classmethod
    def resume(  # noqa: PLR0913, PLR0917 - the parts of a session, in the order they are made
        cls,
        store: Store,
        engine: MaintainedEngine,
        program: Program,
        codec: Codec,
        build: Build,
        observer: Observer | None = None,
    ) -> "DurableEpochs":
        """Return the epochs of an opened store, after bringing a new engine to its last epoch.

        A state that another version of the rules or of Tidelog gave is computed again from its
        input facts.
        """
        epochs = cls(store, engine, program)
        observer = observer or SilentObserver()
        try:
            loaded = store.load(codec)
            if loaded.fingerprint == fingerprint(program):
                engine.import_state(loaded.state)
            else:
                _insert_given(engine, program, loaded.state)
                engine.evaluate(observer)
            for epoch in loaded.epochs:
                epochs._replay(epoch.change, build, observer)
        except BaseException:
            store.close()
            raise
        return epochs

    @property
    def epoch(self) -> int:
        """Return the number of the last epoch."""
        return self._store.epoch

    @property
    def program(self) -> Program:
        """Return the program of the last epoch."""
        return self._program

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the texts of the program of the last epoch."""
        return self._store.sources

    @property
    def trouble(self) -> tuple[Diagnostic, ...]:
        """Return why the last snapshot could not be written; epochs are safe in the log meanwhile."""
        return self._trouble

    def status(self) -> Status:
        """Return the numbers of the store."""
        return self._store.status()

    def apply(
        self, changes: Mapping[str, RelationChange], settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Apply changes; on return they are on the disk, after an exception nothing changed."""
        inverse = {name: RelationChange(each.deleted, each.inserted) for name, each in changes.items()}
        return self._run(
            changes,
            lambda: self._engine.apply(changes, settings, observer),
            lambda: self._engine.apply(inverse, settings, SilentObserver()),
        )

    def change_rules(
        self, sources: Sequence[Source], program: Program, settings: MaintenanceSettings, observer: Observer
    ) -> EpochResult:
        """Go on with another program, whose texts are `sources`; like `apply`."""
        before = self._program

        def go_on(other: Program, watching: Observer) -> EpochResult:
            result = self._engine.change_rules(other, settings, watching)
            self._program = other
            return result

        return self._run(sources, lambda: go_on(program, observer), lambda: go_on(before, SilentObserver()))

    def snapshot(self) -> None:
        """Write the state to the store, so that it is opened without replaying epochs."""
        self._store.snapshot(self._engine.export_state(), self._program, fingerprint(self._program))

    def close(self) -> None:
        """Let go of the store; another process may write to it then."""
        self._store.close()

    def _run(
        self,
        change: Mapping[str, RelationChange] | Sequence[Source],
        work: Callable[[], EpochResult],
        undo: Callable[[], EpochResult],
    ) -> EpochResult:
        if self._is_ahead:
            raise _ahead(self._store.path)
        epoch = self._store.epoch
        self._store.begin(change)
        begun = time.perf_counter()
        try:
            result = work()
        except BaseException:
            self._store.roll_back()
            raise
        try:
            self._store.commit(time.perf_counter() - begun)
        except BaseException:
            if self._store.epoch == epoch:
                self._is_ahead = True
                undo()
                self._is_ahead = False
            raise
        self._compact()
        return result

    def _compact(self) -> None:
        """Write a snapshot if it is time; the epoch is committed whether that succeeds or not."""
        if not self._store.wants_snapshot:
            return
        self._trouble = ()
        try:
            self.snapshot()
        except TidelogError as error:
            self._trouble = error.diagnostics

    def _replay(self, change: FactsEntry | RulesEntry, build: Build, observer: Observer) -> None:
        match change:
            case FactsEntry():
                self._engine.apply(change.changes, MaintenanceSettings(), observer)
            case RulesEntry():
                self._program = build(change.sources)
                self._engine.change_rules(self._program, MaintenanceSettings(), observer)


def fingerprint(program: Program) -> str:
    """Return a text that differs where the annotations of facts may: by rules, and by version."""
    from tidelog import __version__  # noqa: PLC0415 - the package imports sessions

    return digest(f"{__version__}\n{print_program(program)}".encode()).hex()


def portable_sources(
    sources: Sequence[Source], include_path: Sequence[Path] = (), defines: Mapping[str, str] | None = None
) -> tuple[Source, ...]:
    """Return sources that mean the same on a machine without the files and macros given here.

    A text that includes files, and every text where there are macros from outside, is written out.
    """
    return tuple(
        Source(source.name, print_tree(parse(source, include_path=include_path, defines=defines)))
        if defines or _NEEDS_FILES.search(source.text)
        else source
        for source in sources
    )


def check_same_program(store: Store, sources: Sequence[Source]) -> None:
    """Raise if a store was made from other texts than these, which `portable_sources` gave."""
    if [source.text for source in store.sources] != [source.text for source in sources]:
        raise TidelogError(
            [
                Diagnostic(
                    code="other-program",
                    message=f"the store `{store.path}` holds another program",
                    hint="open the store without a program and change its rules there, or make a new store",
                )
            ]
        )


def _insert_given(engine: MaintainedEngine, program: Program, state: EngineState) -> None:
    for name, relation in state.relations.items():
        if name in program.relations and bool(np.any(relation.given)):
            engine.insert(name, [column[relation.given] for column in relation.columns])


def _ahead(path: Path) -> TidelogError:
    return TidelogError(
        [
            Diagnostic(
                code="session-ahead",
                message=f"the store `{path}` could not take an epoch, which could not be undone either",
                hint="open the store again: it holds every epoch that was committed",
            )
        ]
    )
