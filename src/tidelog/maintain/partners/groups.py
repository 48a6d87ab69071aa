"""Strata that are kept together, in the driver or by partners; each group is an engine of its own.

The facts that a group reads from others are sent to it, at first all of them and then the differences.
"""

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import (
    Action,
    MaintenanceSettings,
    Strategy,
    StratumReport,
)
from tidelog.engine.local.state import NeedsWideCodes, fits_narrow
from tidelog.engine.protocol import Observer, StratumStatistics
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.message import Message, Rows
from tidelog.maintain.partners.departed import with_departed
from tidelog.maintain.partners.differences import (
    Differences,
    GroupResult,
    RelationDifference,
    collect_differences,
)
from tidelog.maintain.partners.inputs_apart import relations_below
from tidelog.maintain.partners.keys import raise_repeated
from tidelog.maintain.partners.pool import PartnerPool
from tidelog.maintain.partners.service import GroupSpec
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import (
    MOST_FILES,
    Found,
    change_facts,
    read_state,
    shorten_files,
    write_inputs,
)
from tidelog.maintain.rule_change import is_declared_alike
from tidelog.program.nodes import Program
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray

if TYPE_CHECKING:
    from tidelog.maintain.partners.rule_change import Origin

# All facts of a relation: in memory, or input facts in files.
GroupFacts = CodeArray | SessionInput


class StratumGroup(Protocol):
    """Strata with a state of their own."""

    program: Program
    own: tuple[str, ...]
    reads: tuple[str, ...]
    # The groups of partners whose files have relations that this group reads.
    sources: "Mapping[str, PartnerGroup]"

    def evaluate(self, facts: Mapping[str, GroupFacts], observer: Observer) -> list[StratumStatistics]:
        """Evaluate from scratch, from the input facts of own relations and all facts of those it reads.

        A group of partners has the facts that other partners keep from their files.
        """

    def apply(self, changes: Differences, settings: MaintenanceSettings) -> GroupResult:
        """Advance the group to the next epoch and return the differences of its own relations."""

    def describe(self) -> dict[str, object]:
        """Return the description of the group for a manifest."""

    def go_back(self, before: Mapping[str, Any], changes: Differences) -> None:
        """Undo the last epoch, which had these changes; `before` is how the group described itself then."""

    def size(self, name: str) -> int:
        """Return the number of facts."""

    def stored(self, name: str) -> StoredRelation:
        """Return the facts of a relation, not to be written to."""

    def look_up(self, name: str, codes: Mapping[int, int]) -> Found:
        """Return the facts that have these codes in these columns, with the iterations of each."""


def is_supplied_alike(name: str, old: StratumGroup, new: StratumGroup) -> bool:
    """Say whether two groups get the same facts of a relation: input facts, or all if they read it."""
    return is_declared_alike(name, old.program, new.program) and (name in old.own) == (name in new.own)


@dataclass(frozen=True, slots=True)
class KeptRelation:
    """Where the state of a relation is, and the work of its stratum's last evaluation."""

    files: Sequence[str]
    size: int
    work: int
    is_wide: bool


class PartnerGroup:
    """Strata kept by partners, as files on shared storage; the driver reads from them what it is asked for.

    `own` are the relations the user knows; `files` also names those that passes made.
    """

    is_alone = False

    def __init__(  # noqa: PLR0913, PLR0917 - where a group is kept and what it works with
        self, number: int, own: tuple[str, ...], reads: tuple[str, ...], spec: GroupSpec, pool: PartnerPool,
        folder: Folder, sources: "Mapping[str, PartnerGroup]",
    ) -> None:  # fmt: skip
        self.own = own
        self.reads = reads
        self.sources = sources
        self.number = number
        self.program = spec.program
        self.apart = spec.apart
        # What a state has that is taken over: see `exported`.
        self.kept: Mapping[str, KeptRelation] = {}
        self._pool = pool
        self._folder = folder
        self.files: dict[str, list[str]] = {}
        # Files with all facts of the relations that the group reads.
        self.read_files: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self.work: list[int] = []
        self.is_wide = False
        # The frequent values whose rows are spread as long as partners keep this state: see `skew`.
        self.heavy: tuple[int, ...] = ()
        self._seen: dict[str, StoredRelation] = {}

    @property
    def spec(self) -> GroupSpec:
        """Return what partners know of the group."""
        return self._pool.groups[self.number]

    @property
    def partners(self) -> int:
        """Return how many partners keep the group."""
        return self._pool.partners

    # --- epochs ------------------------------------------------------------------------------------

    def evaluate(self, facts: Mapping[str, GroupFacts], observer: Observer) -> list[StratumStatistics]:
        """Evaluate from scratch, except for what is kept."""
        name = new_name("0")
        self.is_wide |= any(source.is_wide for source in self.sources.values())
        self.is_wide |= any(each.is_wide for each in self.kept.values())
        files: dict[str, list[str]] = {}
        for named, found in facts.items():
            relation = self.apart.get(named, named)
            if isinstance(found, SessionInput):
                self.is_wide |= found.is_wide
                files[relation] = [] if relation in self.kept else found.files()
                continue
            self.is_wide |= not fits_narrow(found.astype(np.int64))
            if relation not in self.kept:
                own = f"{self.number}-{name}"
                files[relation] = [write_inputs(self._folder, relation, own, found, found[:0])]
        files = {relation: each for relation, each in files.items() if each}
        files |= {relation: list(source.files[relation]) for relation, source in self.sources.items()}
        replies: list[dict[str, Any]] = []
        strata = [stratum for stratum in self.program.strata if stratum.relations[0] not in self.reads]
        if not all(self.kept.keys() >= set(stratum.relations) for stratum in strata):
            request = {
                "facts": files, "is_wide": self.is_wide, "name": name,
                "kept": {relation: list(each.files) for relation, each in self.kept.items()},
                **self._pool.all_values(self.number),
            }  # fmt: skip
            try:
                replies = [json.loads(reply.text) for reply in self._pool.evaluate(self.number, request)]
            except NeedsWideCodes:
                self.is_wide = True
                return self.evaluate(facts, observer)
            raise_repeated(replies, self.program, self._pool.codec)
        self.read_files = {relation: each for relation, each in files.items() if relation in self.reads}
        self._pool.take_values(self.number, replies)
        self._note_evaluation(replies)
        return statistics_of([reply["statistics"] for reply in replies], self.own)

    def _note_evaluation(self, replies: Sequence[Mapping[str, Any]]) -> None:
        """Note what partners wrote, beside what was kept from before."""
        self.files = {relation: list(each.files) for relation, each in self.kept.items()}
        self._sizes = {relation: each.size for relation, each in self.kept.items()}
        for relation in replies[0]["files"] if replies else ():
            self.files[relation] = [reply["files"][relation] for reply in replies]
            self._sizes[relation] = sum(reply["sizes"][relation] for reply in replies)
        if replies:
            self.heavy = tuple(replies[0]["heavy"])
        done = replies[0]["work"] if replies else [0] * len(self.program.strata)
        self.work = [
            self.kept[stratum.relations[0]].work if stratum.relations[0] in self.kept else work
            for stratum, work in zip(self.program.strata, done, strict=True)
        ]
        self._seen = {}

    def apply(self, changes: Differences, settings: MaintenanceSettings) -> GroupResult:
        """Advance the group to the next epoch; partners read from files what the driver does not have."""
        name = new_name("e")
        changes = {self.apart.get(relation, relation): change for relation, change in changes.items()}
        tables = self._tables(changes)
        # A job has no other relations: it would write them empty.
        loaded = self._needed(changes.keys())
        compacted = [relation for relation in self._to_compact() if relation in loaded]
        request = {
            "do": "apply", "group": self.number, "changed": sorted(changes), "compact": compacted,
            "strategy": settings.strategy.value, "switch": settings.switch, "name": name,
            **self._flows(changes),
        }  # fmt: skip

        def make() -> Message:
            content = {**request, **self._pool.described_values(self.number)}
            return Message(text=json.dumps(content), tables=tuple(tables))

        try:
            messages = self._pool.apply(self.number, make, lambda: self.state_to_load(changes))
        except NeedsWideCodes:
            self._widen()
            messages = self._pool.apply(self.number, make, lambda: self.state_to_load(changes))
        return self._result(messages, changes, set(compacted), name)

    def change(self, origin: "Origin", changes: Differences, settings: MaintenanceSettings) -> GroupResult:
        """Go on from groups of another program and follow changes, those of rules among them."""
        name = new_name("r")
        changes = {self.apart.get(relation, relation): change for relation, change in changes.items()}
        spec = self.spec
        self.files = {relation: list(origin.kept.get(relation, ())) for relation in spec.own}
        self._sizes = {relation: origin.sizes[relation] for relation in spec.own}
        self.read_files = {
            relation: files for relation, files in origin.kept.items() if relation in self.reads
        }
        self.is_wide |= any(origin.wide)
        found = {value for each in origin.groups.values() for value in each.heavy}
        self.heavy = tuple(sorted(found)) if spec.may_spread else ()
        self.work = [0] * len(spec.program.strata)
        for number, (group, before, _) in origin.strata.items():
            self.work[number] = origin.groups[group].work[before]
        if not (changes or origin.rewritten or self._pool.has_in_memory(origin.groups)):
            return GroupResult({}, ())
        tables = self._tables(changes)
        loaded = self._needed(changes.keys() | self._rewritten(origin))
        kept = {relation: files for relation, files in origin.kept.items() if relation in loaded}
        whole = {relation for relation in spec.own if relation not in origin.kept}
        whole |= {relation for relation in self._to_compact() if relation in loaded}

        def make(here: Collection[int]) -> Message:
            has_values = any(origin.groups[number].spec.has_values for number in here)
            described = self._pool.described_values if has_values else self._pool.all_values
            request = {
                "do": "change", "group": self.number, "changed": sorted(changes), "compact": sorted(whole),
                "strategy": settings.strategy.value, "switch": settings.switch, "name": name,
                "is_wide": self.is_wide, "heavy": self.heavy, "work": self.work, "here": list(here),
                "homes": origin.homes, "kept": kept, "derived": origin.derived, "facts": origin.facts,
                "strata": origin.strata, "rewritten": origin.rewritten, **self._flows(changes),
                **described(self.number),
            }  # fmt: skip
            return Message(text=json.dumps(request), tables=tuple(tables))

        loads = {number: partial(each.state_to_load, {}) for number, each in origin.groups.items()}
        try:
            messages = self._pool.change(self.number, make, loads)
        except NeedsWideCodes:
            self._widen()
            messages = self._pool.change(self.number, make, loads)
        result = self._result(messages, changes, whole, name)
        self.heavy = tuple(json.loads(messages[0].text)["heavy"])
        return result

    def _tables(self, changes: Differences) -> list[Rows]:
        """Return the rows of changes that the driver has; partners then have room for all codes."""
        if not self.is_wide and any(change.is_wide for change in changes.values()):
            self._widen()
        sides = ((name, each.inserted, each.deleted) for name, each in changes.items())
        return [
            Rows(f"{sign}{name}", rows)
            for name, *both in sides
            for sign, rows in zip("+-", both, strict=True)
        ]

    def _flows(self, changes: Differences) -> dict[str, object]:
        """Return the files that have other rows, and how many rows of a difference a partner may reply."""
        return {
            "filed": {name: [each.files, *each.filed] for name, each in changes.items() if each.files},
            "most_rows": max(0, self._pool.options.delta_facts) // self._pool.partners,
        }

    def _to_compact(self) -> list[str]:
        """Return the relations that have so many files that they are written whole again."""
        return [r for r, files in self.files.items() if len(files) > MOST_FILES * self._pool.partners]

    def _result(
        self, messages: Sequence[Message], changes: Differences, whole: set[str], name: str
    ) -> GroupResult:
        """Take over what partners replied about an epoch."""
        replies = [json.loads(message.text) for message in messages]
        raise_repeated(replies, self.program, self._pool.codec)
        self._pool.take_values(self.number, replies)
        found = self._differences(messages, replies)
        self._follow(changes, found, replies, whole, name)
        return GroupResult(
            {n: difference for n, difference in found.items() if n in self.own and any(difference.sizes)},
            tuple(
                _report(report, self.own) for report in replies[0]["reports"] if _written(report[0], self.own)
            ),
        )

    def _differences(
        self, messages: Sequence[Message], replies: Sequence[Mapping[str, Any]]
    ) -> dict[str, RelationDifference]:
        arities = {relation: each.arity for relation, each in self.program.relations.items()}
        return collect_differences(messages, replies, self._folder, arities)

    def _follow(
        self, changes: Differences, found: Differences, replies: Sequence[Mapping[str, Any]],
        compacted: set[str], name: str,
    ) -> None:  # fmt: skip
        """Note what partners wrote, and update what was read here."""
        for relation, files in self.files.items():
            new = [reply["files"][relation] for reply in replies if relation in reply["files"]]
            self.files[relation] = new if relation in compacted else [*files, *new]
            if relation not in found:
                continue
            inserted, deleted = found[relation].sizes
            self._sizes[relation] += inserted - deleted
            if found[relation].files:
                # The facts are read again if somebody asks for them.
                self._seen.pop(relation, None)
            elif relation in self._seen:
                change_facts(self._seen[relation], found[relation].inserted, found[relation].deleted)
        for relation, change in changes.items():
            if relation in self.sources:
                self.read_files[relation] = list(self.sources[relation].files[relation])
            elif relation in self.reads or self.is_alone:
                # For partners that load the state later.
                arity, file_of = self.program.relations[relation].arity, f"{self.number}-{name}"
                file = write_inputs(self._folder, relation, file_of, *change.rows())
                self.read_files[relation] = shorten_files(
                    self._folder, relation, [*self.read_files.get(relation, ()), file], arity
                )
        self.work = replies[0]["work"]

    def state_to_load(self, changes: Differences) -> dict[str, object]:
        """Return what partners need for these changes."""
        needed = self._needed(changes.keys())
        return {
            "state": {n: files for n, files in {**self.read_files, **self.files}.items() if n in needed},
            "is_wide": self.is_wide,
            "work": self.work,
            "heavy": self.heavy,
            **self._pool.all_values(self.number),
        }

    def _rewritten(self, origin: "Origin") -> set[str]:
        """Return the relations of strata whose rules changed, and those that old and new rules read."""
        program = with_departed(self.program, self.spec.departed)
        strata = [program.strata[number] for number in origin.rewritten]
        return {name for each in strata for name in (*each.relations, *relations_below(each, self.apart))}

    def _needed(self, changes: Collection[str]) -> set[str]:
        """Return what partners load for changes of these: the strata they touch, and what those read.

        Residents load everything, because more requests will follow.
        """
        needed = set(changes)
        for stratum in self.program.strata:
            concerned = relations_below(stratum, self.apart) | set(stratum.relations)
            if self._pool.options.resident or concerned & needed:
                needed |= concerned
        return needed

    def _widen(self) -> None:
        self.is_wide = True
        self._pool.release()

    # --- reading -----------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        """Return the number of facts."""
        return self._sizes.get(name, 0)

    def look_up(self, name: str, codes: Mapping[int, int]) -> Found:
        """Return the facts that have these codes in these columns, with the iterations of each.

        Only these are read from the files; the latest file that has a row decides about it.
        """
        arity = self.program.relations[name].arity
        latest: dict[tuple[int, ...], int] = {}
        for file in self.files.get(name, ()):
            content = self._folder.read_rows(file, arity, codes)
            assert content.levels is not None
            latest.update(zip(map(tuple, content.rows.tolist()), content.levels.tolist(), strict=True))
        return {row: level for row, level in latest.items() if level != ABSENT}

    def stored(self, name: str) -> StoredRelation:
        """Return the facts of a relation, read from files when first asked for and followed from then on."""
        if name not in self._seen:
            self._seen[name] = read_state(
                self._folder, self.files.get(name, ()), self.program.relations[name].arity
            )
        return self._seen[name]

    # --- manifests ---------------------------------------------------------------------------------

    def describe(self) -> dict[str, object]:
        """Return the description of the group for a manifest."""
        return {
            "files": {name: list(files) for name, files in self.files.items()},
            "read_files": {name: list(files) for name, files in self.read_files.items()},
            "sizes": dict(self._sizes), "work": list(self.work), "is_wide": self.is_wide,
            "heavy": self.heavy,
        }  # fmt: skip

    def go_back(self, before: Mapping[str, Any], changes: Differences) -> None:
        """Undo the last epoch: drop its files and let residents load the state from before."""
        del changes
        self._pool.release()
        self.take_over(before)

    def take_over(self, described: Mapping[str, Any]) -> None:
        """Take over the state that a manifest describes."""
        # Whoever wrote it may have followed a change of rules, and have what only deleted rules need:
        # relations that are read, whose strata come first, and relations in the middle of rules.
        known = self.program.relations.keys()
        self.files = {name: list(files) for name, files in described["files"].items() if name in known}
        self.read_files = {
            name: list(files) for name, files in described["read_files"].items() if name in known
        }
        self._sizes = dict(described["sizes"])
        self.work = list(described["work"])[-len(self.program.strata) :]
        self.is_wide = bool(described["is_wide"])
        self.heavy = tuple(described["heavy"])
        self._seen = {}


def new_name(prefix: str) -> str:
    """Return a name for files that no other file has."""
    return f"{prefix}-{uuid.uuid4().hex[:16]}"


def statistics_of(
    parts: Sequence[Sequence[Mapping[str, Any]]], own: Sequence[str]
) -> list[StratumStatistics]:
    """Return what it took all partners to evaluate the strata of these relations."""
    return [
        StratumStatistics(
            _written(each[0]["relations"], own), each[0]["is_recursive"], each[0]["iterations"],
            sum(one["facts"] for one in each), sum(one["derivations"] for one in each),
            max(one["seconds"] for one in each),
        )
        for each in zip(*parts, strict=True)
        if _written(each[0]["relations"], own)
    ]  # fmt: skip


def _report(fields: Sequence[Any], own: Sequence[str]) -> StratumReport:
    relations, action, strategy, reason, work, seconds = fields
    names = _written(relations, own)
    return StratumReport(names, Action(action), Strategy(strategy), reason, 0, work, seconds)


def _written(relations: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the relations of a stratum that are in the user's program, not made by a pass."""
    return tuple(name for name in relations if name in own)
