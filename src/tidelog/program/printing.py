"""A checked program as core Datalog that people can read."""

import json
from typing import assert_never

from tidelog.program import nodes
from tidelog.program.lattice_tables import table_of
from tidelog.program.nodes import CONCAT
from tidelog.values import PRIMITIVES, Field, Kind, ValueType

INFIX = frozenset(
    "+ - * / % ^ band bor bxor bshl bshr bshru land lor lxor".split()  # noqa: SIM905 - reads as a list of words
)


def print_program(program: nodes.Program) -> str:
    """Return the types and functors, then stratum by stratum its relations and rules.

    // stratum 1: path (recursive)
    .decl path(x: number, y: number)
    path(x, y) :- edge(x, y).
    """
    declared = [print_type(each) for each in program.types.values() if each.name not in PRIMITIVES]
    declared.extend(print_functor(each) for each in program.functors.values() if table_of(each.name) is None)
    declared.extend(print_lattice(lattice) for lattice in program.lattices.values())
    declared.extend(f".pragma {_quoted(key)} {_quoted(value)}" for key, value in program.pragmas.items())
    sections = ["\n".join(declared)] if declared else []
    for number, stratum in enumerate(program.strata):
        names = ", ".join(stratum.relations)
        lines = [f"// stratum {number}: {names}{' (recursive)' if stratum.is_recursive else ''}"]
        lines.extend(print_relation(program.relations[name]) for name in stratum.relations)
        lines.extend(
            print_directive(directive)
            for directive in program.directives
            if directive.relation in stratum.relations
        )
        lines.extend(print_rule(rule) for rule in stratum.rules)
        lines.extend(print_rule(rule) for rule in stratum.subsumptions)
        sections.append("\n".join(lines))
    return "\n\n".join(sections) + "\n"


def print_type(declared: ValueType) -> str:
    """Return the declaration of a type."""
    if declared.base is not None:
        return f".type {declared.name} <: {declared.base}"
    if declared.members:
        return f".type {declared.name} = {' | '.join(declared.members)}"
    if declared.kind is Kind.RECORD:
        return f".type {declared.name} = [{_fields(declared.fields)}]"
    branches = " | ".join(f"{branch.name} {{{_fields(branch.fields)}}}" for branch in declared.branches)
    return f".type {declared.name} = {branches}"


def print_functor(functor: nodes.UserFunctor) -> str:
    """Return the declaration of a user functor."""
    parameters = ", ".join(f"x{place}: {name}" for place, name in enumerate(functor.parameters, 1))
    stateful = " stateful" if functor.is_stateful else ""
    return f".functor {functor.name}({parameters}): {functor.result}{stateful}"


def print_lattice(lattice: nodes.Lattice) -> str:
    """Return the declaration of a lattice."""
    operators = [f"Lub -> {_operator(lattice.lub)}"]
    if lattice.glb is not None:
        operators.append(f"Glb -> {_operator(lattice.glb)}")
    if lattice.bottom is not None:
        operators.append(f"Bottom -> {print_term(lattice.bottom)}")
    for operator, functor in (("Widen", lattice.widen), ("Narrow", lattice.narrow)):
        if functor is not None:
            operators.append(f"{operator} -> {_operator(functor)}")
    return f".lattice {lattice.type}<> {{ {', '.join(operators)} }}"


def _operator(name: str) -> str:
    relation = table_of(name)
    if relation is not None:
        return f"{relation}[_, _]"
    return f"{nodes.INTRINSIC_JOINS.get(name, f'@{name}')}(_, _)"


def print_relation(relation: nodes.Relation) -> str:
    """Return the declaration of a relation."""
    columns = ", ".join(
        f"{column.name}: {column.type}{'<>' if column.is_lattice else ''}" for column in relation.columns
    )
    words = [f".decl {relation.name}({columns})", *relation.qualifiers]
    if relation.choices:
        domains = (
            "(" + ", ".join(relation.columns[place].name for place in domain) + ")"
            for domain in relation.choices
        )
        words.append("choice-domain " + ", ".join(domains))
    if relation.keys:
        words.append("keys " + ", ".join(relation.columns[place].name for place in relation.keys))
    line = " ".join(words)
    if relation.size_limit is not None:
        line += f"\n.limitsize {relation.name}(n={relation.size_limit})"
    return line


def print_directive(directive: nodes.Directive) -> str:
    """Return a directive."""
    parameters = ", ".join(f"{key}={json.dumps(value)}" for key, value in directive.parameters.items())
    return f".{directive.kind} {directive.relation}" + (f"({parameters})" if parameters else "")


def print_rule(rule: nodes.Rule | nodes.Subsumption) -> str:
    """Return a rule on one line."""
    if isinstance(rule, nodes.Subsumption):
        head = f"{print_literal(rule.less)} <= {print_literal(rule.greater)}"
        body = ", ".join(print_literal(literal) for literal in rule.body) or "true"
    else:
        head = print_literal(rule.head)
        body = ", ".join(print_literal(literal) for literal in rule.body)
    return f"{head} :- {body}." if body else f"{head}."


def print_literal(literal: nodes.Literal) -> str:
    """Return an atom, negated atom, constraint or generator."""
    match literal:
        case nodes.Atom():
            return f"{literal.relation}({_terms(literal.terms)})"
        case nodes.NegatedAtom():
            return f"!{print_literal(literal.atom)}"
        case nodes.Constraint(op="match" | "contains" | "!match" | "!contains"):
            return f"{literal.op}({print_term(literal.left)}, {print_term(literal.right)})"
        case nodes.Constraint(right=nodes.Aggregate(negates=True, body=body)):
            return f"!({', '.join(map(print_literal, body))})"
        case nodes.Constraint():
            return f"{print_term(literal.left)} {literal.op} {print_term(literal.right)}"
        case nodes.Generator():
            bounds = [literal.start, literal.stop, *([] if literal.step is None else [literal.step])]
            return f"{print_term(literal.target)} = range({_terms(tuple(bounds))})"
        case _:
            assert_never(literal)


def print_term(term: nodes.Term) -> str:
    """Return a term."""
    match term:
        case nodes.Variable():
            return term.name
        case nodes.Wildcard():
            return "_"
        case nodes.Constant():
            return _constant(term)
        case nodes.RecordTerm():
            return f"[{_terms(term.terms)}]"
        case nodes.BranchTerm():
            return f"${term.name}" + (f"({_terms(term.terms)})" if term.terms else "")
        case nodes.Application():
            return _application(term)
        case nodes.UserApplication():
            return f"@{term.name}({_terms(term.terms)})"
        case nodes.Counter():
            return "autoinc()"
        case nodes.Aggregate():
            return _aggregate(term)
        case _:
            assert_never(term)


def _terms(terms: tuple[nodes.Term, ...]) -> str:
    return ", ".join(print_term(term) for term in terms)


def _constant(term: nodes.Constant) -> str:
    if term.value is None:
        return "nil"
    if isinstance(term.value, str):
        return _quoted(term.value)
    # Beyond the numbers the digits alone would not say that this is an unsigned.
    is_unsigned = isinstance(term.value, int) and term.value >= 1 << 63
    return f"{term.value}u" if is_unsigned else repr(term.value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _fields(fields: tuple[Field, ...]) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in fields)


def _application(term: nodes.Application) -> str:
    if term.functor in INFIX and len(term.terms) == 2:
        return f"({print_term(term.terms[0])} {term.functor} {print_term(term.terms[1])})"
    if term.functor == "neg":
        return f"-{print_term(term.terms[0])}"
    if term.functor in ("bnot", "lnot"):
        return f"({term.functor} {print_term(term.terms[0])})"
    return f"{term.functor}({_terms(term.terms)})"


def _aggregate(term: nodes.Aggregate) -> str:
    words = [term.functor]
    if term.functor.startswith("@"):
        words = [f"@{term.functor}"]
    elif term.functor == CONCAT:
        words = [f"@@{CONCAT}"]
    if term.init is not None:
        words.append(f"{print_term(term.init)},")
    if term.target is not None:
        words.append(print_term(term.target))
    body = ", ".join(print_literal(literal) for literal in term.body)
    return f"{' '.join(words)} : {{ {body} }}"
