"""Names inside an instance of a component."""

from collections.abc import Callable, Mapping
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.syntax import tree


@dataclass(slots=True)
class Scope:
    """The names that one instance, or the program itself, declares.

    `prefix` is empty for the program and ends with a dot for an instance. A name means what the
    nearest scope declares, else what the scopes `around` declare, else itself.
    """

    prefix: str
    around: "Scope | None"
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    instances: dict[str, tree.Instance] = field(default_factory=dict)
    components: dict[str, tuple[tree.Component, Mapping[str, str]]] = field(default_factory=dict)

    def relation(self, name: str) -> str:
        """Return the full name of the relation meant by `name` here."""
        return self._find(name, lambda scope: scope.relations)

    def type(self, name: str) -> str:
        """Return the full name of the type meant by `name` here."""
        return self._find(name, lambda scope: scope.types)

    def branch(self, name: str) -> str:
        """Return the full name of the branch meant by `name` here."""
        return self._find(name, lambda scope: scope.branches)

    def _find(self, name: str, declared: Callable[["Scope"], set[str]]) -> str:
        first, dot, _ = name.partition(".")
        scope: Scope | None = self
        while scope is not None:
            # `path.step` belongs to `path`: see `expand_proofs`.
            is_part = dot and (first in scope.instances or first in declared(scope))
            if name in declared(scope) or is_part:
                return scope.prefix + name
            scope = scope.around
        return name

    def component(self, name: str) -> tuple[tree.Component, Mapping[str, str]] | None:
        """Return the component called `name`, and what its surroundings bind."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.components:
                return scope.components[name]
            scope = scope.around
        return None

    def component_names(self) -> list[str]:
        """Return the names of all components that can be seen."""
        around = [] if self.around is None else self.around.component_names()
        return [*self.components, *around]
