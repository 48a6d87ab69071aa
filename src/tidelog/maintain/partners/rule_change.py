"""What the groups of a changed program go on from: the facts of the old one's groups, in memory and in files.

A group of partners takes over whatever relations the old program's groups had under the same declaration.
Strata with the same rules follow the changes that reach them, and strata with others what those take away or
derive, where that can be followed. Relations from elsewhere are loaded as they were before, so that partners
find out what changes.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.state import fits_narrow
from tidelog.engine.spark.files import Folder
from tidelog.maintain.partners.deleted_rules import change_of, is_successor, strata_of
from tidelog.maintain.partners.groups import GroupFacts, PartnerGroup, StratumGroup
from tidelog.maintain.partners.service import GroupSpec
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import write_inputs
from tidelog.maintain.rule_change import is_declared_alike, stratum_content
from tidelog.program.nodes import Program, Stratum
from tidelog.storage.kernel import CodeArray


@dataclass(frozen=True)
class OldGroups:
    """The program of before, its input facts and its groups."""

    program: Program
    inputs: Mapping[str, SessionInput]
    groups: Sequence[StratumGroup]
    folder: Folder

    @cached_property
    def home(self) -> Mapping[str, StratumGroup]:
        """Return the group of each relation that has one."""
        return {name: group for group in self.groups for name in group.own}

    @cached_property
    def derived(self) -> frozenset[str]:
        """Return the relations that may have facts which are no input facts, or miss some of these."""
        ruled = {
            name
            for stratum in self.program.strata
            if stratum.rules or self.program.law_of(stratum) is not None
            for name in stratum.relations
        }
        return frozenset(ruled & self.home.keys())

    @property
    def with_partners(self) -> frozenset[str]:
        """Return the relations whose derived facts partners keep."""
        return frozenset(name for name in self.derived if isinstance(self.home[name], PartnerGroup))

    @property
    def divided(self) -> Sequence[PartnerGroup]:
        """Return the groups that partners divide among them."""
        return [each for each in self.groups if isinstance(each, PartnerGroup) and not each.is_alone]

    def declares(self, name: str, program: Program) -> bool:
        """Say whether a relation of another program is one of this, with the same columns."""
        return is_declared_alike(name, self.program, program)

    def size(self, name: str) -> int:
        """Return the number of facts."""
        home = self.home.get(name)
        return len(self.inputs[name]) if home is None else home.size(name)

    def rows(self, name: str) -> CodeArray:
        """Return the facts of a relation, in the driver's memory."""
        home = self.home.get(name)
        rows = self.inputs[name].rows() if home is None else home.stored(name).live_rows()
        return rows.astype(np.int64, copy=False)

    def files(self, name: str) -> list[str]:
        """Return files of a relation's facts; those that the driver keeps are written."""
        home = self.home.get(name)
        if home is None:
            return self.inputs[name].files() if len(self.inputs[name]) else []
        if isinstance(home, PartnerGroup):
            return list(home.files[name])
        return [write_facts(self.folder, name, self.rows(name))] if home.size(name) else []

    def may_be_wide(self, name: str) -> bool:
        """Say whether some code of a relation may need more than 32 bits."""
        home = self.home.get(name)
        if isinstance(home, PartnerGroup):
            return home.is_wide or self.inputs[name].is_wide
        return not fits_narrow(self.rows(name)) or self.inputs[name].is_wide


@dataclass(frozen=True)
class Origin:
    """What a group of partners goes on from.

    `homes` are the old groups that have a relation in memory, if they are there; `kept` are the files of such
    relations, with levels and counts, and of all relations that are read. Of others there are the facts of
    before: `facts` are input facts, `derived` all.
    """

    groups: Mapping[int, PartnerGroup]
    homes: dict[str, int] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    derived: dict[str, list[str]] = field(default_factory=dict)
    facts: dict[str, list[str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    # Relations that no old group has read: they are loaded as they are now.
    new_reads: set[str] = field(default_factory=set)
    # Of strata that were there before: the old group, their number in it, and whether the rules are the same.
    strata: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    # Strata with other rules: the ids of the new ones, None if they are evaluated again.
    rewritten: dict[int, list[int] | None] = field(default_factory=dict)
    # Relations whose codes may need more than 32 bits, by where they come from.
    wide: list[bool] = field(default_factory=list)


def origin_of(
    group: PartnerGroup, old: OldGroups, taken: set[tuple[int, str]], now: Callable[[str], GroupFacts]
) -> Origin:
    """Return what a group goes on from.

    `taken` are relations of old groups that other groups have taken over already; `now` returns the facts of
    a relation that no group of partners has.
    """
    spec = group.spec
    own = set(spec.own)
    origin = Origin({each.number: each for each in old.divided if not own.isdisjoint(each.spec.own)})
    origin.wide.extend(each.is_wide for each in origin.groups.values())
    for name in spec.program.relations:
        if name in own:
            _find_own(name, spec, old, origin)
        else:
            _find_read(name, group, old, origin, taken, now)
    for number, stratum in enumerate(spec.program.strata):
        if stratum.relations[0] in own:
            _find_stratum(number, stratum, spec, old, origin)
    return origin


def _find_own(name: str, spec: GroupSpec, old: OldGroups, origin: Origin) -> None:
    """Find what there was before of a relation that the group is to keep."""
    home = next((each for each in origin.groups.values() if _is_kept(name, each.spec, spec)), None)
    if home is not None:
        origin.kept[name], origin.homes[name] = list(home.files[name]), home.number
        origin.sizes[name] = home.size(name)
        return
    if name not in old.program.relations or not old.declares(name, spec.program):
        origin.sizes.setdefault(name, 0)
        return
    origin.sizes[name] = old.size(name)
    origin.wide.append(old.may_be_wide(name))
    if name in old.home:
        origin.derived[name] = old.files(name)
    inputs = spec.apart.get(name, name)
    if not any(_is_kept(inputs, each.spec, spec) for each in origin.groups.values()):
        origin.facts[inputs] = old.inputs[name].files() if len(old.inputs[name]) else []
        if inputs != name:
            origin.sizes[inputs] = len(old.inputs[name])


def _is_kept(name: str, old: GroupSpec, new: GroupSpec) -> bool:
    """Say whether a relation is the same in two groups, and its input facts are in the same place."""
    return (
        name in old.own
        and old.program.relations[name] == new.program.relations[name]
        and old.apart.get(name) == new.apart.get(name)
    )


def _find_read(  # noqa: PLR0913, PLR0917 - as for own relations, and where else facts may be
    name: str, group: PartnerGroup, old: OldGroups, origin: Origin, taken: set[tuple[int, str]],
    now: Callable[[str], GroupFacts],
) -> None:  # fmt: skip
    """Find the facts of a relation that the group reads: those of before, if its strata have read it."""
    columns = group.program.relations[name].columns
    for home in origin.groups.values():
        if name in home.program.relations and home.program.relations[name].columns == columns:
            origin.kept[name] = list(home.read_files.get(name, home.files.get(name, [])))
            if name not in home.spec.own and (home.number, name) not in taken:
                taken.add((home.number, name))
                origin.homes[name] = home.number
            return
    origin.new_reads.add(name)
    if name in group.sources:
        source = group.sources[name]
        origin.kept[name] = list(source.files[name])
        origin.wide.append(source.is_wide)
        return
    found = now(name)
    if isinstance(found, SessionInput):
        origin.wide.append(found.is_wide)
        origin.kept[name] = found.files() if len(found) else []
    else:
        origin.wide.append(not fits_narrow(found))
        origin.kept[name] = [write_facts(old.folder, name, found)] if len(found) else []


def _find_stratum(number: int, stratum: Stratum, spec: GroupSpec, old: OldGroups, origin: Origin) -> None:
    """Find the stratum that it was before, and how its rules differ."""
    relations, program = set(stratum.relations), spec.program
    for place, other, group in strata_of(list(origin.groups.values())):
        if (
            is_successor(stratum, other, old.program)
            and relations & set(other.relations) <= origin.kept.keys()
        ):
            is_same = stratum_content(other, group.program) == stratum_content(stratum, program)
            origin.strata[number] = group.number, place, is_same
            if not is_same:
                origin.rewritten[number] = _new_rules(other, group.program, stratum, spec, number)
            return
    if not stratum.rules and relations <= set(spec.apart.values()):
        return  # input facts that are kept apart have been found
    is_input = len(relations) == 1 and relations.isdisjoint(old.home) and relations <= origin.facts.keys()
    empty = Stratum(stratum.relations, (), (), is_recursive=False)
    origin.rewritten[number] = _new_rules(empty, old.program, stratum, spec, number) if is_input else None


def _new_rules(
    before: Stratum, program: Program, stratum: Stratum, spec: GroupSpec, number: int
) -> list[int] | None:
    """Return the ids of a stratum's new rules, or None if they cannot be followed."""
    change = change_of(before, program, stratum, spec, spec.program)
    if change is None or (change.deleted and number not in spec.departed):
        return None
    return [rule.id for rule in change.inserted]


def write_facts(folder: Folder, name: str, rows: CodeArray) -> str:
    """Write facts to a file of their own and return it."""
    return write_inputs(folder, name, f"before-{uuid.uuid4().hex[:12]}", rows, rows[:0])
