"""The types a program declares, and which of them narrow which."""

from collections.abc import Mapping

from tidelog.dataclass import dataclass
from tidelog.values import Kind, TypeTable, ValueType

UNKNOWN = "?"
"""Stands for the type of a term whose type a diagnostic already complains about.

It agrees with every type, so that one mistake is reported once.
"""


@dataclass(frozen=True, slots=True)
class TypeEnvironment:
    """All types by name.

    `aliases` maps `X` of `.type X = Y` to `Y`; `supers` gives for each type everything it may be
    used as, itself included; `branches` the algebraic types that have a branch of that name.
    """

    table: TypeTable
    aliases: Mapping[str, str]
    supers: Mapping[str, frozenset[str]]
    branches: Mapping[str, tuple[str, ...]]

    def resolve(self, name: str) -> str:
        """Return the type that `name` stands for; UNKNOWN if there is none."""
        target = self.aliases.get(name, name)
        return target if target in self.table else UNKNOWN

    def kind(self, name: str) -> Kind:
        """Return the kind of a type; UNKNOWN passes for a number."""
        return Kind.NUMBER if name == UNKNOWN else self.table[name].kind

    def is_subtype(self, narrow: str, wide: str) -> bool:
        """Say whether every value of `narrow` is a value of `wide`."""
        return UNKNOWN in (narrow, wide) or wide in self.supers[narrow]

    def same_root(self, left: str, right: str) -> bool:
        """Say whether codes of the two types may be compared."""
        if UNKNOWN in (left, right):
            return True
        one, other = self.table[left], self.table[right]
        if one.kind is not other.kind:
            return False
        return one.kind not in (Kind.RECORD, Kind.ADT) or self.root(left) == self.root(right)

    def root(self, name: str) -> str:
        """Return the primitive, record or algebraic type a type is made from."""
        declared = self.table[name]
        while declared.base is not None or declared.members:
            declared = self.table[declared.base or declared.members[0]]
        return declared.name

    def meet(self, left: str, right: str) -> str | None:
        """Return the widest type that narrows both, or None if there is none."""
        if left == UNKNOWN:
            return right
        if right == UNKNOWN or right in self.supers[left]:
            return left
        if left in self.supers[right]:
            return right
        common = [name for name, supers in self.supers.items() if left in supers and right in supers]
        widest = [name for name in common if not any(name != o and o in self.supers[name] for o in common)]
        return widest[0] if widest else None

    def record(self, name: str) -> ValueType | None:
        """Return the type if it is a record."""
        declared = self.table.get(name)
        return declared if declared is not None and declared.kind is Kind.RECORD else None


def make_environment(table: TypeTable, aliases: Mapping[str, str]) -> TypeEnvironment:
    """Return the environment of a table without dangling names or cycles of bases."""
    branches: dict[str, tuple[str, ...]] = {}
    for declared in table.values():
        if declared.kind is Kind.ADT and declared.base is None and not declared.members:
            for branch in declared.branches:
                branches[branch.name] = (*branches.get(branch.name, ()), declared.name)
    return TypeEnvironment(table, aliases, _supers(table), branches)


def _supers(table: TypeTable) -> dict[str, frozenset[str]]:
    """Return for each type all types it may be used as: a fixpoint over bases and unions."""
    supers = {name: frozenset({name}) for name in table}
    changed = True
    while changed:
        changed = False
        for declared in table.values():
            found = supers[declared.name]
            if declared.base is not None:
                found |= supers[declared.base]
            if declared.members:
                found |= frozenset.intersection(*(supers[member] for member in declared.members))
            for member in declared.members:
                wider = supers[member] | found
                if wider != supers[member]:
                    supers[member] = wider
                    changed = True
            if found != supers[declared.name]:
                supers[declared.name] = found
                changed = True
    return supers
