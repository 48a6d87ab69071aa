"""From declarations of relations, functors and lattices, and directives, to their checked forms."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.program.declare_types import undeclared_type
from tidelog.program.nodes import Column, Directive, Relation, UserFunctor
from tidelog.program.suggest import did_you_mean, undeclared_relation
from tidelog.program.type_environment import UNKNOWN, TypeEnvironment
from tidelog.syntax import tree


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything rules may refer to.

    A column of a type nobody declares has the type UNKNOWN.
    """

    types: TypeEnvironment
    relations: Mapping[str, Relation]
    functors: Mapping[str, UserFunctor]
    lattices: Mapping[str, tree.LatticeDeclaration]
    directives: tuple[Directive, ...]
    pragmas: Mapping[str, str]


def declare_relations(
    items: Iterable[tree.Item], types: TypeEnvironment, known_types: Iterable[str]
) -> tuple[Declarations, list[Diagnostic]]:
    """Return the declarations, and what is wrong with them.

    `known_types` are names that count as declared although their declaration is wrong.
    """
    builder = _Builder(types, frozenset(known_types))
    items = tuple(items)
    for item in items:
        match item:
            case tree.RelationDeclaration():
                builder.relation(item)
            case tree.FunctorDeclaration():
                builder.functor(item)
            case tree.LatticeDeclaration():
                builder.lattice(item)
            case tree.Pragma():
                builder.pragmas[item.key] = item.value
            case _:
                pass
    for item in items:
        if isinstance(item, tree.Directive):
            builder.directive(item)
    return builder.finish(), builder.diagnostics


class _Builder:
    """Collects declarations one by one."""

    def __init__(self, types: TypeEnvironment, known_types: frozenset[str]) -> None:
        self.types = types
        self.known_types = known_types
        self.relations: dict[str, Relation] = {}
        self.declared_in: dict[str, tree.RelationDeclaration] = {}
        self.functors: dict[str, UserFunctor] = {}
        self.functor_spans: dict[str, tree.FunctorDeclaration] = {}
        self.lattices: dict[str, tree.LatticeDeclaration] = {}
        self.directives: list[Directive] = []
        self.pragmas: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []

    def finish(self) -> Declarations:
        """Return what was collected."""
        return Declarations(
            self.types,
            self.relations,
            self.functors,
            self.lattices,
            tuple(self.directives),
            self.pragmas,
        )

    def type_of(self, name: str, item: tree.Item | tree.Field) -> str:
        """Return the type a declaration names; reports it if nobody declares it."""
        if name not in self.known_types:
            self.diagnostics.append(undeclared_type(name, item, self.known_types))
        return self.types.resolve(name)

    def redefined(self, code: str, item: tree.Item, name: str, first: tree.Item) -> None:
        """Report a name declared twice."""
        what = code.removeprefix("redefined-")
        self.diagnostics.append(
            Diagnostic(
                code=code,
                message=f"{what} `{name}` is declared twice",
                span=item.span,
                hint="delete one of the declarations or rename it",
                related=(("first declared here", first.span),),
            )
        )

    def relation(self, item: tree.RelationDeclaration) -> None:
        """Add a relation."""
        if item.name in self.relations:
            self.redefined("redefined-relation", item, item.name, self.declared_in[item.name])
            return
        columns = tuple(
            Column(column.name, self.type_of(column.type, column), is_lattice=column.is_lattice)
            for column in item.columns
        )
        self.declared_in[item.name] = item
        self.relations[item.name] = Relation(
            item.name, columns, item.qualifiers, self.choices(item), keys=self.keys(item), span=item.span
        )

    def keys(self, item: tree.RelationDeclaration) -> tuple[int, ...]:
        """Return the column positions behind `keys`; unknown columns are reported."""
        names = [column.name for column in item.columns]
        for name in item.keys:
            if name not in names:
                self.diagnostics.append(
                    Diagnostic(
                        code="unknown-key-column",
                        message=f"`keys` names `{name}`, which is not a column of `{item.name}`",
                        span=item.span,
                        hint=did_you_mean(name, names, f"its columns are {', '.join(names)}"),
                    )
                )
        return tuple(names.index(name) for name in item.keys if name in names)

    def choices(self, item: tree.RelationDeclaration) -> tuple[tuple[int, ...], ...]:
        """Return the column positions of each choice-domain; unknown columns are reported."""
        names = [column.name for column in item.columns]
        domains = []
        for domain in item.choices:
            for name in domain:
                if name not in names:
                    self.diagnostics.append(
                        Diagnostic(
                            code="unknown-choice-column",
                            message=f"choice-domain names `{name}`, which is not a column of `{item.name}`",
                            span=item.span,
                            hint=did_you_mean(name, names, f"its columns are {', '.join(names)}"),
                        )
                    )
            domains.append(tuple(names.index(name) for name in domain if name in names))
        return tuple(domain for domain in domains if domain)

    def functor(self, item: tree.FunctorDeclaration) -> None:
        """Add a user functor."""
        if item.name in self.functors:
            self.redefined("redefined-functor", item, item.name, self.functor_spans[item.name])
            return
        self.functor_spans[item.name] = item
        parameters = tuple(self.type_of(parameter.type, parameter) for parameter in item.parameters)
        result = self.type_of(item.result, item)
        self.functors[item.name] = UserFunctor(item.name, parameters, result, item.is_stateful)

    def lattice(self, item: tree.LatticeDeclaration) -> None:
        """Add a lattice."""
        name = self.type_of(item.type, item)
        if name in self.lattices:
            self.redefined("redefined-lattice", item, name, self.lattices[name])
        elif name != UNKNOWN:
            self.lattices[name] = item

    def directive(self, item: tree.Directive) -> None:
        """Add a directive; `.limitsize` becomes part of its relation."""
        relation = self.relations.get(item.relation)
        if relation is None:
            self.diagnostics.append(undeclared_relation(item.relation, self.relations, item.span))
            return
        parameters = dict(item.parameters)
        if "inline" in relation.qualifiers and "no_inline" not in relation.qualifiers:
            self.diagnostics.append(
                Diagnostic(
                    code="inlined-directive",
                    message=f"`.{item.kind.value}` needs the facts of `{item.relation}`, which is inlined",
                    span=item.span,
                    hint=f"remove `inline` from `{item.relation}`",
                    related=(("declared here", self.declared_in[item.relation].span),),
                )
            )
            return
        if item.kind is not tree.DirectiveKind.LIMITSIZE:
            kind = item.kind.value
            if kind == "output" and parameters.get("IO") == "stdoutprintsize":
                # Soufflé's other way to write `.printsize`.
                kind = "printsize"
            self.directives.append(Directive(kind, item.relation, parameters, span=item.span))
            return
        size = parameters.get("n", "")
        if not size.isdecimal():
            self.diagnostics.append(
                Diagnostic(
                    code="bad-limitsize",
                    message=f"`.limitsize {item.relation}` needs the number of facts at which to stop",
                    span=item.span,
                    hint=f"write `.limitsize {item.relation}(n=1000)`",
                )
            )
            return
        if relation.size_limit is not None:
            self.diagnostics.append(
                Diagnostic(
                    code="bad-limitsize",
                    message=f"`{item.relation}` has two limits",
                    span=item.span,
                    hint="delete one of them",
                )
            )
        self.relations[item.relation] = replace(relation, size_limit=int(size))
