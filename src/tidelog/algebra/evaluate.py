"""The rows of an expression over Arrow tables, found binding by binding.

It is an oracle for plans, so nothing here is clever: rows are looked up by key, and a fixpoint
evaluates all its definitions again until none of them finds another fact.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

import pyarrow as pa

from tidelog.algebra import nodes
from tidelog.algebra.arrow import read_table, take_tables, write_table
from tidelog.algebra.nodes import Expression
from tidelog.program.nodes import Application, BranchTerm, Constant, Constraint, RecordTerm, Term, Variable
from tidelog.values import Branch, Codec, NoValueError, TypeTable, Value
from tidelog.values.aggregates import combine
from tidelog.values.functors import apply, canonical, compare, range_values

Binding = dict[str, Value]
Bindings = Sequence[Binding]


def evaluate_expression(expression: Expression, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of an expression as a table; every relation that it reads needs one."""
    taken = take_tables(tables, nodes.relations_read(expression), are_inputs=False)
    evaluation = TableEvaluation(taken, nodes.types_of(expression))
    return write_table(evaluation.rows(expression), nodes.schema_of(expression), evaluation.codec)


class TableEvaluation:
    """Evaluates expressions over tables; `facts` are those of relations that are already evaluated."""

    def __init__(self, tables: Mapping[str, pa.Table], types: TypeTable) -> None:
        self.tables = tables
        self.codec = Codec(types)
        self.facts: dict[str, Bindings] = {}
        self._inputs: dict[str, Bindings] = {}

    def rows(self, expression: Expression, outer: Bindings = ()) -> Bindings:
        """Return the rows of an expression; `outer` are those around an aggregate."""
        match expression:
            case nodes.Unit():
                return [{}]
            case nodes.Outer():
                return _distinct({name: row[name] for name, _ in expression.read} for row in outer)
            case nodes.Scan():
                return self._scan(expression)
            case nodes.NaturalJoin() | nodes.Antijoin():
                return self._join(expression, outer)
            case nodes.Group():
                return self._group(expression, self.rows(expression.source, outer))
            case nodes.Union():
                return _distinct(row for source in expression.sources for row in self.rows(source, outer))
            case nodes.Fixpoint():
                return self._fixpoint(expression)
            case _:
                rows = self.rows(expression.source, outer)
                made = (new for row in rows for new in self._made(expression, row))
                return _distinct(made) if isinstance(expression, nodes.Project) else list(made)

    def _fixpoint(self, fixpoint: nodes.Fixpoint) -> Bindings:
        """Return the rows of a fixpoint; `facts` has all its relations then."""
        self.facts.update({name: () for name, _ in fixpoint.definitions})
        is_changed = True
        while is_changed:
            found = {
                name: _distinct((*self.facts[name], *self.rows(each))) for name, each in fixpoint.definitions
            }
            is_changed = any(len(rows) > len(self.facts[name]) for name, rows in found.items())
            self.facts.update(found)
        return self.facts[fixpoint.relation]

    def _scan(self, scan: nodes.Scan) -> Bindings:
        name = scan.relation.name
        if name in self.facts and not scan.is_input:
            return self.facts[name]
        if name not in self._inputs:
            table = self.tables.get(name)
            self._inputs[name] = () if table is None else read_table(table, scan.relation, self.codec)
        return self._inputs[name]

    def _join(self, join: nodes.NaturalJoin | nodes.Antijoin, outer: Bindings) -> Bindings:
        shared = [name for name in join.left.columns if name in join.right.columns]
        right = _by_key(self.rows(join.right, outer), shared)
        left = self.rows(join.left, outer)
        if isinstance(join, nodes.Antijoin):
            return [row for row in left if _key(row, shared) not in right]
        return [row | other for row in left for other in right.get(_key(row, shared), ())]

    def _group(self, group: nodes.Group, rows: Bindings) -> Bindings:
        members = _by_key(self.rows(group.body, rows), group.by)
        made: list[Binding] = []
        for row in rows:
            with suppress(NoValueError):
                value = self._combined(group, members.get(_key(row, group.by), ()))
                made.append(row | {group.column: value})
        return made

    def _combined(self, group: nodes.Group, members: Bindings) -> Value:
        aggregate = group.aggregate
        target = aggregate.target
        values = [0 if target is None else self._value(target, member) for member in members]
        combined = combine(aggregate.functor, aggregate.kind, values)
        return canonical(combined, self.codec.types[aggregate.type].kind)

    def _made(self, expression: nodes.RowByRow, row: Binding) -> Iterator[Binding]:
        """Yield what becomes of a row: nothing if a term has no value."""
        with suppress(NoValueError):
            match expression:
                case nodes.Select():
                    if all(self._holds(each, row) for each in expression.constraints):
                        yield row
                case nodes.Project():
                    yield {name: self._value(term, row) for name, term in expression.terms}
                case nodes.Rename():
                    yield {new: row[old] for old, new in expression.names}
                case nodes.Extend():
                    yield row | {expression.column: self._value(expression.term, row)}
                case nodes.TakeApart():
                    yield from _taken_apart(expression, row)
                case nodes.Expand():
                    each = expression.generator
                    bounds = (
                        None if term is None else self._value(term, row)
                        for term in (each.start, each.stop, each.step)
                    )
                    for value in range_values(each.kind, *bounds):
                        yield row | {expression.column: value}

    def _holds(self, constraint: Constraint, row: Binding) -> bool:
        sides = (self._value(term, row) for term in (constraint.left, constraint.right))
        return compare(constraint.op, constraint.kind, *sides)

    def _value(self, term: Term, row: Binding) -> Value:
        """Return the value of a term, or raise `NoValueError`."""
        match term:
            case Variable():
                return row[term.name]
            case Constant():
                return canonical(term.value, self.codec.types[term.type].kind)
            case RecordTerm():
                return tuple(self._value(part, row) for part in term.terms)
            case BranchTerm():
                return Branch(term.name, tuple(self._value(part, row) for part in term.terms))
            case Application():
                operands = tuple(self._value(part, row) for part in term.terms)
                return apply(term.functor, term.kind, operands)
        raise AssertionError(f"{term} was refused")


def _taken_apart(expression: nodes.TakeApart, row: Binding) -> Iterator[Binding]:
    """Yield the row with the variables of the pattern if its value has that form."""
    value, pattern = row[expression.column], expression.pattern
    if value is None or (isinstance(pattern, BranchTerm) and cast("Branch", value).name != pattern.name):
        return
    fields = value.fields if isinstance(value, Branch) else cast("tuple[Value, ...]", value)
    found = dict(row)
    for part, each in zip(pattern.terms, fields, strict=True):
        # There is one NaN, and tuples compare objects first.
        if isinstance(part, Variable) and (found.setdefault(part.name, each),) != (each,):
            return
    yield found


def _key(row: Binding, names: Iterable[str]) -> tuple[Value, ...]:
    return tuple(row[name] for name in names)


def _by_key(rows: Bindings, names: Sequence[str]) -> Mapping[tuple[Value, ...], list[Binding]]:
    found: dict[tuple[Value, ...], list[Binding]] = defaultdict(list)
    for row in rows:
        found[_key(row, names)].append(row)
    return found


def _distinct(rows: Iterable[Binding]) -> Bindings:
    return list({tuple(row.values()): row for row in rows}.values())
