"""From type declarations to a type environment."""

from collections.abc import Iterable
from typing import Final

from tidelog.errors import Diagnostic
from tidelog.program.suggest import did_you_mean
from tidelog.program.type_environment import TypeEnvironment, make_environment
from tidelog.syntax import tree
from tidelog.values import PRIMITIVES, BranchType, Field, Kind, ValueType

TypeDeclaration = (
    tree.SubtypeDeclaration | tree.UnionDeclaration | tree.RecordDeclaration | tree.AlgebraicDeclaration
)

# Names that the types have in other languages.
_ELSEWHERE: Final = {
    **dict.fromkeys(("int", "integer", "i32", "i64", "long"), "number"),
    **dict.fromkeys(("uint", "u32", "u64"), "unsigned"),
    **dict.fromkeys(("double", "real", "f32", "f64"), "float"),
    **dict.fromkeys(("str", "string", "text", "varchar"), "symbol"),
}


def declare_types(items: Iterable[tree.Item]) -> tuple[TypeEnvironment, list[Diagnostic]]:
    """Return the environment of all declared types, and what is wrong with the declarations.

    A wrong declaration is left out (its uses count as UNKNOWN if a diagnostic was given).
    """
    builder = _Builder()
    for item in items:
        if isinstance(item, TypeDeclaration):
            builder.collect(item)
    for name in list(builder.declared):
        builder.resolve(name)
    builder.check_members()
    return make_environment(builder.table, builder.aliases), builder.diagnostics


class _Builder:
    """Resolves declarations in the order they need each other."""

    def __init__(self) -> None:
        self.declared: dict[str, TypeDeclaration] = {}
        self.table: dict[str, ValueType] = dict(PRIMITIVES)
        self.aliases: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self.in_progress: list[str] = []
        self.failed: set[str] = set()

    def collect(self, item: TypeDeclaration) -> None:
        """Keep the first declaration of every name."""
        if item.name in PRIMITIVES:
            self.report("redefined-type", f"`{item.name}` is a built-in type", item, "choose another name")
        elif item.name in self.declared:
            first = self.declared[item.name]
            self.diagnostics.append(
                Diagnostic(
                    code="redefined-type",
                    message=f"type `{item.name}` is declared twice",
                    span=item.span,
                    hint="delete one of the declarations or rename it",
                    related=(("first declared here", first.span),),
                )
            )
        else:
            self.declared[item.name] = item

    def report(self, code: str, message: str, item: tree.Item | tree.Field, hint: str | None = None) -> None:
        """Add an error about a declaration."""
        self.diagnostics.append(Diagnostic(code=code, message=message, span=item.span, hint=hint))

    def resolve(self, name: str) -> ValueType | None:
        """Return the type called `name`, resolving what it needs first; None if it is wrong."""
        if name in self.table or name in self.failed:
            return self.table.get(name)
        item = self.declared[name]
        if name in self.in_progress:
            cycle = " -> ".join([*self.in_progress[self.in_progress.index(name) :], name])
            self.report(
                "cyclic-type",
                f"type `{name}` is defined by itself: {cycle}",
                item,
                "a subtype or union must lead to a primitive type; recursion goes through a record or branch",
            )
            self.failed.add(name)
            return None
        self.in_progress.append(name)
        found = self.make(item)
        self.in_progress.pop()
        if found is None or name in self.failed:
            self.failed.add(name)
            return None
        self.table[name] = found
        return found

    def make(self, item: TypeDeclaration) -> ValueType | None:
        """Return the type a declaration stands for."""
        match item:
            case tree.RecordDeclaration():
                return ValueType(item.name, Kind.RECORD, fields=_fields(item.fields))
            case tree.AlgebraicDeclaration():
                branches = tuple(BranchType(branch.name, _fields(branch.fields)) for branch in item.branches)
                return ValueType(item.name, Kind.ADT, branches=branches)
            case tree.SubtypeDeclaration():
                base = self.lookup(item.base, item)
                return base and _derived(item.name, base)
            case tree.UnionDeclaration():
                return self.make_union(item)

    def make_union(self, item: tree.UnionDeclaration) -> ValueType | None:
        """Return a union, whose members must be read in one way, or an alias."""
        members = [self.lookup(name, item) for name in item.members]
        found = [member for member in members if member is not None]
        if len(found) < len(members):
            return None
        if len(found) == 1:
            target = found[0]
            self.aliases[item.name] = self.aliases.get(target.name, target.name)
            return _derived(item.name, target)
        roots = {self.root(member) for member in found}
        if len(roots) > 1:
            self.report(
                "mixed-union",
                f"union `{item.name}` mixes values of {', '.join(f'`{root}`' for root in sorted(roots))}",
                item,
                "all members of a union must have the same primitive type; an algebraic type can mix",
            )
            return None
        names = tuple(dict.fromkeys(self.aliases.get(member.name, member.name) for member in found))
        first = found[0]
        return ValueType(item.name, first.kind, members=names, fields=first.fields, branches=first.branches)

    def root(self, declared: ValueType) -> str:
        """Return the type without base and members below a resolved type."""
        while declared.base is not None or declared.members:
            declared = self.table[declared.base or declared.members[0]]
        return declared.name

    def lookup(self, name: str, item: tree.Item | tree.Field) -> ValueType | None:
        """Return a type named by a declaration; reports it if nobody declares it."""
        if name in self.table or name in self.declared:
            return self.resolve(name)
        self.diagnostics.append(undeclared_type(name, item, [*self.table, *self.declared]))
        return None

    def check_members(self) -> None:
        """Report members of records and branches of no declared type, and names given twice."""
        branch_owner: dict[str, tree.BranchDeclaration] = {}
        for item in self.declared.values():
            if isinstance(item, tree.RecordDeclaration):
                self.check_fields(item.fields, item.name)
            elif isinstance(item, tree.AlgebraicDeclaration):
                for branch in item.branches:
                    self.check_fields(branch.fields, branch.name)
                    first = branch_owner.setdefault(branch.name, branch)
                    if first is not branch:
                        self.diagnostics.append(
                            Diagnostic(
                                code="redefined-branch",
                                message=f"branch `{branch.name}` is declared twice",
                                span=branch.span,
                                hint="branch names are shared by all algebraic types: rename one",
                                related=(("first declared here", first.span),),
                            )
                        )
        self.table = {name: self.with_resolved_fields(declared) for name, declared in self.table.items()}

    def check_fields(self, fields: tuple[tree.Field, ...], owner: str) -> None:
        """Report unknown types and repeated names among members."""
        seen: set[str] = set()
        for field in fields:
            self.lookup(field.type, field)
            if field.name in seen:
                self.report(
                    "redefined-field", f"`{owner}` has two members called `{field.name}`", field, "rename one"
                )
            seen.add(field.name)

    def with_resolved_fields(self, declared: ValueType) -> ValueType:
        """Return the type with aliases in its members replaced by what they stand for."""
        if not declared.fields and not declared.branches:
            return declared
        return ValueType(
            declared.name,
            declared.kind,
            declared.base,
            declared.members,
            self.resolved(declared.fields),
            tuple(BranchType(branch.name, self.resolved(branch.fields)) for branch in declared.branches),
        )

    def resolved(self, fields: tuple[Field, ...]) -> tuple[Field, ...]:
        """Return members with alias types replaced; a member of a failed type becomes a number."""
        return tuple(
            Field(
                field.name, self.aliases.get(field.type, field.type) if field.type in self.table else "number"
            )
            for field in fields
        )


def undeclared_type(name: str, item: tree.Item | tree.Field | tree.Cast, known: Iterable[str]) -> Diagnostic:
    """Return the diagnostic for a type nobody declares."""
    hint = did_you_mean(name, known, f"declare it: `.type {name} <: symbol`")
    if name.lower() in _ELSEWHERE:
        hint = f"it is called `{_ELSEWHERE[name.lower()]}` here"
    return Diagnostic(code="undeclared-type", message=f"there is no type `{name}`", span=item.span, hint=hint)


def _fields(fields: tuple[tree.Field, ...]) -> tuple[Field, ...]:
    return tuple(Field(field.name, field.type) for field in fields)


def _derived(name: str, base: ValueType) -> ValueType:
    return ValueType(name, base.kind, base=base.name, fields=base.fields, branches=base.branches)
