"""What the first partner does for requests about strata that it keeps alone: see `alone`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import Action, EpochResult
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.message import Message
from tidelog.maintain.partners.alone import AloneEngine
from tidelog.maintain.partners.differences import DifferenceWriter
from tidelog.maintain.partners.engine import CodeDelta
from tidelog.maintain.partners.requests import changes_of, settings_of
from tidelog.maintain.partners.state_files import facts_of, without_rows
from tidelog.maintain.rule_change import is_declared_alike
from tidelog.program.nodes import Program
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray


def empty_reply() -> dict[str, Any]:
    """Return the reply of a partner that does nothing."""
    return {"files": {}, "sizes": {}, "statistics": [], "reports": [], "work": [], "is_wide": False}


@dataclass
class AloneRequest:
    """A request, and the reply to it."""

    content: Mapping[str, Any]
    engine: AloneEngine
    folder: Folder
    differences: DifferenceWriter
    reply: dict[str, Any] = field(default_factory=empty_reply)

    def evaluate(self) -> None:
        """Evaluate a group from the facts that it reads.

        If it is loaded, nothing is written: the same facts are derived again.
        """
        engine, before = self.engine, self.content.get("before", {})
        for name, files in self.content["facts"].items():
            engine.insert(name, self._facts(engine.program, name, files))
        self.reply["statistics"] = [asdict(each) for each in engine.evaluate()]
        for name in () if self.content["do"] == "load" else engine.own:
            self._write(name, engine.facts(name))
            if name in before:
                self._compare(name, before[name])

    def apply(self, message: Message) -> None:
        """Advance a group to the next epoch."""
        engine = self.engine
        result = engine.apply(self._changes(engine.program, message), settings_of(self.content))
        for name in engine.own:
            changed = engine.changed(name, result)
            if not len(changed.rows):
                continue
            self._differ(name, changed)
            if name not in self.content["compact"]:
                self._write(name, changed)
        for name in self.content["compact"]:
            self._write(name, engine.facts(name))
        self._report(result)

    def change(self, program: Program, own: tuple[str, ...], message: Message) -> None:
        """Advance a group to the next epoch, in which it has other strata."""
        engine, supplied = self.engine, self.content["supplied"]
        known = {name for name in own if is_declared_alike(name, engine.program, program)}
        result = engine.change_rules(
            program, own, self._changes(program, message),
            {name: self._facts(program, name, files) for name, files in supplied.items()},
            settings_of(self.content),
        )  # fmt: skip
        reached = {
            name for each in result.strata if each.action is not Action.SKIPPED for name in each.relations
        }
        for name in own:
            if name in known:
                self._differ(name, engine.changed(name, result))
            else:
                self._compare(name, self.content["before"][name])
            if name in reached or name not in known or name in self.content["whole"]:
                # Facts that stay may have other levels.
                self._write(name, engine.facts(name))
        self._report(result)

    # --- facts and files -----------------------------------------------------------------------------

    def _changes(self, program: Program, message: Message) -> Mapping[str, CodeDelta]:
        def read(name: str, files: Sequence[str]) -> Iterator[Annotated]:
            return self._contents(program.relations[name].arity, files)

        return changes_of(self.content, message, program, read)

    def _contents(self, arity: int, files: Sequence[str]) -> Iterator[Annotated]:
        return (self.folder.read_rows(file, arity) for file in files)

    def _facts(self, program: Program, name: str, files: Sequence[str]) -> CodeArray:
        arity = program.relations[name].arity
        return facts_of(self._contents(arity, files), arity).live_rows()

    def _differ(self, name: str, changed: Annotated) -> None:
        """Note what an epoch deletes and inserts."""
        assert changed.levels is not None
        is_deleted = changed.levels == ABSENT
        self.differences.put(name, changed.rows[~is_deleted], changed.rows[is_deleted])

    def _compare(self, name: str, files: Sequence[str]) -> None:
        """Note what leads from the facts in files to those of now."""
        rows = self.engine.facts(name).rows.astype(np.int64)
        before = self._facts(self.engine.program, name, files)
        self.differences.put(name, without_rows(rows, before), without_rows(before, rows))

    def _write(self, name: str, content: Annotated) -> None:
        is_narrow = fits_narrow(content.rows)
        self.reply["is_wide"] |= not is_narrow
        written = replace(content, rows=content.rows.astype(np.int32)) if is_narrow else content
        file = file_name(name, 0, self.content["name"])
        self.reply["files"][name] = self.folder.write_rows(file, written)
        self.reply["sizes"][name] = len(content.rows)

    def _report(self, result: EpochResult) -> None:
        self.reply["reports"] = [
            [r.relations, r.action.value, r.strategy.value, r.reason, r.work, r.seconds]
            for r in result.strata
        ]
