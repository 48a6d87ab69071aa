"""Components replaced by the items of their instances."""

from collections.abc import Iterable, Mapping
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.component_scope import Scope
from tidelog.program.declare_types import TypeDeclaration
from tidelog.program.rename_items import Plain, Renaming
from tidelog.program.suggest import counted, did_you_mean
from tidelog.syntax import tree

Bindings = Mapping[str, str]

# A few components that instantiate each other can double a program thirty times over.
ITEMS_LIMIT: Final = 100_000


def expand_components(items: Iterable[tree.Item]) -> tuple[tuple[Plain, ...], list[Diagnostic]]:
    """Return the items without components, and what is wrong with the components.

    The names an instance declares are qualified with its own; other names are those around it.

        .comp Graph<T> { .decl edge(x: T, y: T) }
        .init g = Graph<number>

        .decl g.edge(x: number, y: number)
    """
    expander = _Expander()
    try:
        expander.fill(Scope("", None), [_Part(item, {}) for item in items], ())
    except _TooManyError as error:
        expander.diagnostics.append(
            Diagnostic(
                code="program-too-large",
                message=f"the instances of components have more than {ITEMS_LIMIT} items",
                span=error.reference.span,
                hint=f"`{error.reference.name}` is instantiated or inherited too often: share an instance",
            )
        )
    return tuple(expander.found), expander.diagnostics


class _TooManyError(Exception):
    """Instances have more items than the limit; carries the component that was being expanded."""

    def __init__(self, reference: tree.ComponentReference) -> None:
        self.reference = reference
        super().__init__(reference.name)


@dataclass(frozen=True, slots=True)
class _Part:
    """An item of a component or of one of its bases, and what its parameters stand for."""

    item: tree.Item
    bindings: Bindings


class _Expander:
    """Collects the items of all instances, outer ones first."""

    def __init__(self) -> None:
        self.found: list[Plain] = []
        self.diagnostics: list[Diagnostic] = []
        self.functors: set[str] = set()
        self.items = 0

    def fill(self, scope: Scope, parts: list[_Part], instantiated: tuple[str, ...]) -> None:
        """Declare the names of the parts in the scope, then add their items and instances."""
        for part in parts:
            self.declare(scope, part)
        for part in parts:
            match part.item:
                case tree.Component():
                    pass
                case tree.Instance():
                    self.instantiate(scope, part.item, part.bindings, instantiated)
                case tree.FunctorDeclaration() if scope.prefix and part.item.name in self.functors:
                    # A functor is one Python callable, however many instances declare it.
                    pass
                case item:
                    if isinstance(item, tree.FunctorDeclaration):
                        self.functors.add(item.name)
                    # In the program itself every name already is the full one.
                    is_full = not scope.prefix
                    self.found.append(item if is_full else _renaming(scope, part.bindings).item(item))

    def declare(self, scope: Scope, part: _Part) -> None:
        """Add the names an item declares to the scope."""
        match part.item:
            case tree.RelationDeclaration():
                scope.relations.add(part.item.name)
            case tree.AlgebraicDeclaration():
                scope.types.add(part.item.name)
                scope.branches.update(branch.name for branch in part.item.branches)
            case item if isinstance(item, TypeDeclaration):
                scope.types.add(item.name)
            case tree.Instance():
                if part.item.name in scope.instances:
                    self.redefined("redefined-instance", part.item, scope.instances[part.item.name])
                scope.instances.setdefault(part.item.name, part.item)
            case tree.Component():
                if part.item.name in scope.components:
                    self.redefined("redefined-component", part.item, scope.components[part.item.name][0])
                scope.components.setdefault(part.item.name, (part.item, part.bindings))
            case _:
                pass

    def redefined(
        self, code: str, item: tree.Instance | tree.Component, first: tree.Instance | tree.Component
    ) -> None:
        """Report a name declared twice."""
        what = code.removeprefix("redefined-")
        self.diagnostics.append(
            Diagnostic(
                code=code,
                message=f"{what} `{item.name}` is declared twice",
                span=item.span,
                hint="delete one of the declarations or rename it",
                related=(("first declared here", first.span),),
            )
        )

    def instantiate(
        self, around: Scope, instance: tree.Instance, bindings: Bindings, instantiated: tuple[str, ...]
    ) -> None:
        """Add the items of one instance."""
        if around.instances.get(instance.name) is not instance:
            return
        name = bindings.get(instance.component.name, instance.component.name)
        if name in instantiated:
            self.cycle("is instantiated inside itself", instance.component, (*instantiated, name))
            return
        parts = self.parts(around, instance.component, bindings, ())
        if parts is not None:
            scope = Scope(f"{around.prefix}{instance.name}.", around)
            self.fill(scope, parts, (*instantiated, name))

    def parts(
        self, around: Scope, reference: tree.ComponentReference, bindings: Bindings, derived: tuple[str, ...]
    ) -> list[_Part] | None:
        """Return the items of a component, those of its bases first; None if there is no such one."""
        name = bindings.get(reference.name, reference.name)
        found = around.component(name)
        if found is None:
            self.undeclared(name, reference, around)
            return None
        component, outer = found
        if name in derived:
            self.cycle("inherits from itself", reference, (*derived, name))
            return None
        arguments = tuple(bindings.get(each, around.type(each)) for each in reference.parameters)
        if len(arguments) != len(component.parameters):
            self.diagnostics.append(
                Diagnostic(
                    code="wrong-parameter-count",
                    message=f"component `{name}` takes {counted(len(component.parameters), 'parameter')}, "
                    f"not {len(arguments)}",
                    span=reference.span,
                    hint=f"write `{name}<{', '.join(component.parameters)}>`"
                    if component.parameters
                    else f"write `{name}`",
                    related=(("declared here", component.span),),
                )
            )
            return None
        # An empty component costs something too.
        self.items += len(component.items) + 1
        if self.items > ITEMS_LIMIT:
            raise _TooManyError(reference)
        inner = {**outer, **dict(zip(component.parameters, arguments, strict=True))}
        inherited: list[_Part] = []
        for base in component.bases:
            inherited.extend(self.parts(around, base, inner, (*derived, name)) or [])
        kept = self.override(component, inherited)
        return [*kept, *(_Part(item, inner) for item in component.items)]

    def override(self, component: tree.Component, inherited: list[_Part]) -> list[_Part]:
        """Return the inherited items without the rules of overridden relations."""
        declared = {
            part.item.name: part.item for part in inherited if isinstance(part.item, tree.RelationDeclaration)
        }
        for name in component.overrides:
            relation = declared.get(name)
            if relation is None:
                message = f"`{component.name}` overrides `{name}`, which it does not inherit"
                hint = did_you_mean(name, declared, "override a relation of a base component")
            elif "overridable" not in relation.qualifiers:
                message = f"`{component.name}` overrides `{name}`, which is not overridable"
                hint = f"declare it in the base with `.decl {name}(...) overridable`"
            else:
                continue
            self.diagnostics.append(
                Diagnostic(code="bad-override", message=message, span=component.span, hint=hint)
            )
        return [part for part in inherited if not _derives(part.item, component.overrides)]

    def undeclared(self, name: str, reference: tree.ComponentReference, around: Scope) -> None:
        """Report a component nobody declares."""
        self.diagnostics.append(
            Diagnostic(
                code="undeclared-component",
                message=f"there is no component `{name}`",
                span=reference.span,
                hint=did_you_mean(name, around.component_names(), f"declare it: `.comp {name} {{ ... }}`"),
            )
        )

    def cycle(self, what: str, reference: tree.ComponentReference, names: tuple[str, ...]) -> None:
        """Report a component that needs itself."""
        self.diagnostics.append(
            Diagnostic(
                code="cyclic-component",
                message=f"component `{names[-1]}` {what}: {' -> '.join(names)}",
                span=reference.span,
                hint="break the cycle",
            )
        )


def _renaming(scope: Scope, bindings: Bindings) -> Renaming:
    def type_name(name: str) -> str:
        return bindings[name] if name in bindings else scope.type(name)

    return Renaming(scope.relation, type_name, scope.branch)


def _derives(item: tree.Item, relations: tuple[str, ...]) -> bool:
    """Say whether an item is a rule for one of the relations."""
    match item:
        case tree.Rule():
            return any(head.relation in relations for head in item.heads)
        case tree.Subsumption():
            return item.less.relation in relations
        case _:
            return False
