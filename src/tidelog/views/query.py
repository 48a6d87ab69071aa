"""From the text of a query to its answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import numpy as np

from tidelog.engine.protocol import Codes, SilentObserver
from tidelog.errors import Diagnostic, Severity, TidelogError, raise_if_any
from tidelog.program import build_program, nodes, walk_nodes
from tidelog.program.expand_lookups import expand_in_body, lookup_mistakes
from tidelog.program.nodes import Column, Program
from tidelog.program.written_facts import ConstantReader, find_relation
from tidelog.source import Source
from tidelog.syntax import tree, walk_tree
from tidelog.syntax.query import ParsedQuery, parse_query
from tidelog.views.declare import declare_all
from tidelog.views.query_values import bind_values
from tidelog.views.relation import Answer
from tidelog.views.snapshot import Snapshot
from tidelog.views.virtual import virtual_relation

NO_VALUES: Final[Mapping[str, object]] = MappingProxyType({})


def answer_query(text: str, snapshot: Snapshot, values: Mapping[str, object] = NO_VALUES) -> Answer:
    """Return the bindings of the query's variables for which it holds; `values` are those of `$name`.

    A query is the body of a rule: `path(1, x)`, or `path(1, x), x > 3, !edge(1, x)`. One atom over
    variables and constants is looked up in the engine. Anything else is checked and evaluated as a
    rule, by an engine of its own over the facts already there.
    """
    query = _without_lookups(bind_values(_parsed(text), values, snapshot.program), snapshot.program)
    atom = query.atom
    if atom is not None and atom.relation in snapshot.program.relations:
        pattern = _pattern(atom, snapshot)
        if pattern is not None:
            return _look_up(text, atom, pattern, snapshot)
    try:
        return _evaluate(query, snapshot)
    except TidelogError as error:
        # The head that a query lacks would make every variable look unused.
        raise TidelogError(each for each in error.diagnostics if each.severity is Severity.ERROR) from None


def _parsed(text: str) -> ParsedQuery:
    """Return the query that a text is; a mistake without a hint gets one that shows how to write a query."""
    try:
        return parse_query(Source("query", text))
    except TidelogError as error:
        usual = "write for example path(1, x), x > 3"
        raise TidelogError(replace(each, hint=each.hint or usual) for each in error.diagnostics) from None


def _without_lookups(query: ParsedQuery, program: Program) -> ParsedQuery:
    """Return the query with an atom for each value of a key that it asks for."""
    functional = {name: relation.has_value for name, relation in program.relations.items()}
    raise_if_any(lookup_mistakes(query.body, functional))
    return replace(query, body=expand_in_body(query.body))


# --- one atom: a look-up ---------------------------------------------------------------------


def _pattern(atom: tree.Atom, snapshot: Snapshot) -> list[int | None] | None:
    """Return the code each column must have (None: any), or None if a look-up is not enough."""
    relation = snapshot.program.relations[atom.relation]
    if len(atom.terms) != relation.arity:
        return None
    pattern: list[int | None] = []
    for term, column in zip(atom.terms, relation.columns, strict=True):
        code = _code(term, column, snapshot)
        if code is None and not isinstance(term, tree.Variable | tree.Wildcard):
            return None
        pattern.append(code)
    return pattern


def _code(term: tree.Term, column: Column, snapshot: Snapshot) -> int | None:
    """Return the code of a constant; None leaves a term to the checks."""
    if isinstance(term, tree.Variable | tree.Wildcard):
        return None
    reader = ConstantReader(snapshot.codec)
    value = reader.value(term, column.type)
    return None if reader.mistakes else snapshot.codec.encode(value, column.type)


def _look_up(text: str, atom: tree.Atom, pattern: Sequence[int | None], snapshot: Snapshot) -> Answer:
    engine, codec = snapshot.engine, snapshot.codec
    relation = snapshot.program.relations[atom.relation]
    found = engine.match(relation.name, pattern)
    size = len(found[0]) if found else engine.size(relation.name)
    kept = np.ones(size, dtype=np.bool_)
    first: dict[str, int] = {}
    for position, term in enumerate(atom.terms):
        if isinstance(term, tree.Variable):
            if term.name in first:
                kept &= found[position] == found[first[term.name]]
            else:
                first[term.name] = position
    named = {name: position for name, position in first.items() if not name.startswith("_")}
    columns = [Column(name, relation.columns[position].type) for name, position in named.items()]
    codes = [found[position][kept] for position in named.values()]
    if not codes:
        return Answer(text, columns, codec, [], min(1, int(kept.sum())))
    if len(named) < len(first) or any(isinstance(term, tree.Wildcard) for term in atom.terms):
        codes = _distinct(codes)
    return Answer(text, columns, codec, codes, len(codes[0]))


def _distinct(codes: Sequence[Codes]) -> list[Codes]:
    if len(codes) == 1:
        return [np.unique(codes[0])]
    rows = np.unique(np.stack(codes, axis=1), axis=0)
    return [np.ascontiguousarray(rows[:, column]) for column in range(len(codes))]


# --- anything else: a rule of its own ----------------------------------------------------------


def _evaluate(query: ParsedQuery, snapshot: Snapshot) -> Answer:
    program, engine = snapshot.program, snapshot.engine
    raise_if_any(_name_mistakes(query.body, program))
    name = _unused_name(program)
    span = query.body.span
    declared = declare_all(program, span)
    # The variables' types are known once the rule has been checked; the answer's columns need them.
    checked, _ = build_program(tree.SyntaxTree((*declared, *_rule(name, (), query.body))))
    types = {
        node.name: node.type
        for rule in checked.rules
        for node in walk_nodes.walk(rule.body)
        if isinstance(node, nodes.Variable)
    }
    # Without a rule left (`edge(x, y), false`) there is nothing to find and nothing to type.
    columns = tuple(Column(variable, types.get(variable, "number")) for variable in _variables(query.body))
    if not checked.rules:
        no_codes = [np.empty(0, dtype=np.int64) for _ in columns]
        return Answer(query.source.text, columns, snapshot.codec, no_codes, 0)
    held = (
        tree.Rule((tree.Atom(relation.name, (), span=span),), span=span)
        for relation in program.relations.values()
        if relation.arity == 0 and engine.size(relation.name) > 0
    )
    asked, _ = build_program(tree.SyntaxTree((*declared, *held, *_rule(name, columns, query.body))))
    asking = snapshot.make_engine(asked)
    for relation, pattern in sorted(_needs(query.body, snapshot), key=repr):
        asking.insert(relation, engine.match(relation, pattern))
    asking.evaluate(SilentObserver())
    return Answer(query.source.text, columns, snapshot.codec, asking.facts(name), asking.size(name))


def _name_mistakes(body: tree.Body, program: Program) -> Iterator[Diagnostic]:
    """Yield what is wrong with relations and numbers of terms, by the declarations as they were written."""
    for atom in walk_tree.deep_atoms((body,)):
        found = find_relation(atom, program, is_asked=True)
        if isinstance(found, Diagnostic) and virtual_relation(atom.relation, program) is None:
            yield found


def _needs(body: tree.Body, snapshot: Snapshot) -> set[tuple[str, tuple[int | None, ...]]]:
    """Return which facts each atom can match: a relation, and the codes its columns must have.

    An atom with a constant, negated or inside an aggregate too, needs no other facts than those that
    agree with it.
    """
    needs: set[tuple[str, tuple[int | None, ...]]] = set()
    for atom in walk_tree.deep_atoms((body,)):
        if atom.terms:
            found = virtual_relation(atom.relation, snapshot.program)
            if found is not None:
                width = snapshot.program.relations[found[0].missing].arity
                needs |= {(found[0].among, (None,)), (found[0].missing, (None,) * width)}
                continue
            columns = snapshot.program.relations[atom.relation].columns
            terms = zip(atom.terms, columns, strict=True)
            needs.add((atom.relation, tuple(_code(term, column, snapshot) for term, column in terms)))
    whole = {relation for relation, pattern in needs if not any(code is not None for code in pattern)}
    return {need for need in needs if need[0] not in whole or all(code is None for code in need[1])}


def _rule(name: str, columns: Sequence[Column], body: tree.Body) -> tuple[tree.Item, ...]:
    """Return `.decl name(columns)`, `.output name` and `name(columns) :- body.`"""
    span = body.span
    fields = tuple(tree.Field(column.name, column.type, span=span) for column in columns)
    head = tree.Atom(name, tuple(tree.Variable(column.name, span=span) for column in columns), span=span)
    return (
        tree.RelationDeclaration(name, fields, span=span),
        tree.Directive(tree.DirectiveKind.OUTPUT, name, span=span),
        tree.Rule((head,), body, span=span),
    )


def _unused_name(program: Program) -> str:
    name = "query"
    while name in program.relations:
        name += "_"
    return name


def _variables(body: tree.Body) -> tuple[str, ...]:
    """Return the names of the query's variables in order; those of aggregates and negations are their own."""
    roots: tuple[walk_tree.Node, ...] = (body,)
    ends = (tree.Aggregate, tree.Negation)
    return tuple(
        dict.fromkeys(
            node.name
            for node in walk_tree.walk_down(roots, walk_tree.children, ends)
            if isinstance(node, tree.Variable) and not node.name.startswith("_")
        )
    )
