"""A whole program as algebra: what the facts of each relation are."""

from collections.abc import Iterator, Mapping
from dataclasses import field

import pyarrow as pa

from tidelog.algebra import nodes
from tidelog.algebra.arrow import take_tables, write_table
from tidelog.algebra.evaluate import TableEvaluation
from tidelog.algebra.nodes import Dialect, Expression
from tidelog.algebra.printing import print_definition
from tidelog.algebra.sql import write_program
from tidelog.algebra.translate import translate_rule
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.program.nodes import (
    CONCAT,
    Aggregate,
    Application,
    Counter,
    Program,
    Relation,
    Stratum,
    UserApplication,
    Variable,
)
from tidelog.program.printing import print_rule
from tidelog.program.suggest import undeclared_relation
from tidelog.program.walk_nodes import walk
from tidelog.source import Span
from tidelog.values import TypeTable


@dataclass(frozen=True, slots=True)
class Algebra:
    """A program as expressions: one for each rule, by its text, and one for each relation.

    Relations are in the order of strata. Those that no rule derives are scans of themselves; the
    relations of a recursive stratum are fixpoints with the same definitions.
    """

    rules: Mapping[str, Expression]
    relations: Mapping[str, Expression]
    inputs: Mapping[str, Relation]
    types: TypeTable = field(repr=False)

    def __getitem__(self, relation: str) -> Expression:
        if relation not in self.relations:
            raise TidelogError([undeclared_relation(relation, self.relations, is_asked=True)])
        return self.relations[relation]

    def __str__(self) -> str:
        derived = (each for each in self.relations.items() if not isinstance(each[1], nodes.Scan))
        return "\n".join(line for name, each in derived for line in print_definition(name, each))

    def evaluate(self, inputs: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return every relation as a table; inputs without a table are empty."""
        evaluation = TableEvaluation(take_tables(inputs, self.inputs, are_inputs=True), self.types)
        for name, expression in self.relations.items():
            # A fixpoint evaluates all relations that it defines.
            if name not in evaluation.facts:
                evaluation.facts[name] = evaluation.rows(expression)
        return {
            name: write_table(evaluation.facts[name], nodes.schema_of(expression), evaluation.codec)
            for name, expression in self.relations.items()
        }

    def sql(self, relation: str, dialect: Dialect = "duckdb") -> str:
        """Return a query for a relation over tables of input facts."""
        needed, waiting = {relation}, [relation]
        while waiting:
            new = nodes.relations_read(self[waiting.pop()]).keys() - needed
            needed |= new
            waiting.extend(new)
        return write_program(
            {name: each for name, each in self.relations.items() if name in needed}, relation, dialect
        )


def program_algebra(program: Program) -> Algebra:
    """Return a program as algebra; what algebra cannot express is raised as diagnostics."""
    raise_if_any(check_algebra(program))
    rules = [(rule, translate_rule(rule, program)) for rule in program.rules]
    derived = {rule.head.relation for rule, _ in rules}
    inputs = {
        name: relation
        for name, relation in program.relations.items()
        if program.is_input(name) or name not in derived
    }
    sources: dict[str, list[Expression]] = {
        name: [nodes.Scan(relation, program.types, is_input=True)] if name in inputs else []
        for name, relation in program.relations.items()
    }
    for rule, expression in rules:
        sources[rule.head.relation].append(expression)
    relations: dict[str, Expression] = {}
    for stratum in program.strata:
        relations |= _stratum(stratum, program, sources)
    return Algebra({print_rule(rule): each for rule, each in rules}, relations, inputs, program.types)


def _stratum(
    stratum: Stratum, program: Program, sources: Mapping[str, list[Expression]]
) -> dict[str, Expression]:
    """Return what the relations of a stratum are, given what their rules and inputs are."""
    declared = [program.relations[name] for name in stratum.relations]
    definitions: dict[str, Expression] = {}
    for relation in declared:
        closure = _closure(relation, program) if relation.is_equivalence else []
        united = (*sources[relation.name], *closure)
        definitions[relation.name] = united[0] if len(united) == 1 else nodes.Union(united)
    if not stratum.is_recursive and not any(relation.is_equivalence for relation in declared):
        return definitions
    return {name: nodes.Fixpoint(name, tuple(definitions.items())) for name in definitions}


def _closure(relation: Relation, program: Program) -> list[Expression]:
    """Return the facts that are symmetric to others, and those that two others make together."""
    (left, right), scan = relation.columns, nodes.Scan(relation, program.types)
    span = relation.span
    assert span is not None, "an equivalence is declared"
    first, second = (Variable(column.name, column.type, span=span) for column in (left, right))
    following = nodes.Rename(((left.name, right.name), (right.name, "%end")), scan)
    end = Variable("%end", right.type, span=span)
    return [
        nodes.Project(((left.name, second), (right.name, first)), scan),
        nodes.Project(((left.name, first), (right.name, end)), nodes.NaturalJoin(scan, following)),
    ]


def check_algebra(program: Program) -> Iterator[Diagnostic]:
    """Yield what relational algebra does not have."""
    for relation in program.relations.values():
        laws = {
            "choice-domain": bool(relation.choices),
            "limitsize": relation.size_limit is not None,
            "lattice column": any(column.is_lattice for column in relation.columns),
        }
        for law in (law for law, is_there in laws.items() if is_there):
            yield _no_algebra(f"the {law} of `{relation.name}`", relation.span)
    for stratum in program.strata:
        for subsumption in stratum.subsumptions:
            yield _no_algebra(f"the subsumption of `{subsumption.less.relation}`", subsumption.span)
    for node in walk(program.rules):
        match node:
            case Counter():
                yield _no_algebra("`autoinc()`", node.span)
            case UserApplication():
                yield _no_algebra(f"the user functor `@{node.name}`", node.span)
            case Application(functor="ord"):
                yield _no_algebra("`ord`", node.span)
            case Aggregate() if node.functor.startswith("@") or node.functor == CONCAT:
                yield _no_algebra(f"the aggregate `@{node.functor.lstrip('@')}`", node.span)
            case _:
                pass


def _no_algebra(construct: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="no-algebra",
        message=f"relational algebra does not have {construct}",
        span=span,
        hint="remove it from the program, or evaluate the program with an engine",
    )
