"""The declarations of a checked program, so that another program can be built over its facts."""

from collections.abc import Iterator

from tidelog.program.lattice_tables import table_of
from tidelog.program.nodes import Program
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.values import PRIMITIVES, Field, Kind


def declare_all(program: Program, span: Span) -> tuple[tree.Item, ...]:
    """Return declarations of the program's types, functors and relations.

    The relations are plain inputs: their facts are given, so no rule, equivalence or choice
    applies to them any more. Every node carries `span`.
    """
    return (
        *_types(program, span),
        *_functors(program, span),
        *_relations(program, span),
    )


def _types(program: Program, span: Span) -> Iterator[tree.Item]:
    for name, value_type in program.types.items():
        if name in PRIMITIVES:
            continue
        if value_type.kind is Kind.RECORD and value_type.fields:
            yield tree.RecordDeclaration(name, _fields(value_type.fields, span), span=span)
        elif value_type.branches:
            branches = tuple(
                tree.BranchDeclaration(branch.name, _fields(branch.fields, span), span=span)
                for branch in value_type.branches
            )
            yield tree.AlgebraicDeclaration(name, branches, span=span)
        elif value_type.members:
            yield tree.UnionDeclaration(name, value_type.members, span=span)
        else:
            yield tree.SubtypeDeclaration(name, value_type.base or value_type.kind.value, span=span)


def _functors(program: Program, span: Span) -> Iterator[tree.Item]:
    for functor in program.functors.values():
        if table_of(functor.name) is not None:
            continue
        parameters = tuple(
            tree.Field(f"x{position}", type_name, span=span)
            for position, type_name in enumerate(functor.parameters)
        )
        yield tree.FunctorDeclaration(
            functor.name, parameters, functor.result, functor.is_stateful, span=span
        )


def _relations(program: Program, span: Span) -> Iterator[tree.Item]:
    for relation in program.relations.values():
        columns = tuple(tree.Field(column.name, column.type, span=span) for column in relation.columns)
        yield tree.RelationDeclaration(relation.name, columns, span=span)
        yield tree.Directive(tree.DirectiveKind.INPUT, relation.name, span=span)


def _fields(fields: tuple[Field, ...], span: Span) -> tuple[tree.Field, ...]:
    return tuple(tree.Field(field.name, field.type, span=span) for field in fields)
