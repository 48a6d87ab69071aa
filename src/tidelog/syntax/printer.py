"""From tree to text."""

from collections.abc import Iterable
from typing import Final, assert_never

from tidelog.syntax.layout import lay_out
from tidelog.syntax.macros import quote
from tidelog.syntax.terms import BINARY_LEVEL, BINARY_LEVELS
from tidelog.syntax.tree import (
    Aggregate,
    AlgebraicDeclaration,
    Application,
    Atom,
    BranchDeclaration,
    BranchTerm,
    Cast,
    Component,
    ComponentReference,
    Conjunction,
    Constraint,
    Counter,
    Directive,
    Disjunction,
    Element,
    Field,
    FloatLiteral,
    FunctorDeclaration,
    Instance,
    Item,
    LatticeDeclaration,
    Lookup,
    Negation,
    NilLiteral,
    NumberLiteral,
    PlanOrder,
    Pragma,
    RecordDeclaration,
    RecordTerm,
    RelationDeclaration,
    Rule,
    StringLiteral,
    Subsumption,
    SubtypeDeclaration,
    SyntaxTree,
    Term,
    Truth,
    UnionDeclaration,
    UnsignedLiteral,
    UserApplication,
    Variable,
    Wildcard,
)

Node = Term | Element | Conjunction | Item | Field | BranchDeclaration | PlanOrder | ComponentReference

# How tightly a printed term holds together; operands that hold less tightly need brackets.
_UNARY: Final = len(BINARY_LEVELS)
_POWER: Final = _UNARY + 1
_PRIMARY: Final = _UNARY + 2
_PREFIX_TEXT: Final = {"neg": "-", "bnot": "bnot ", "lnot": "lnot "}


def print_tree(tree: SyntaxTree) -> str:
    """Return a program in canonical layout: one item to a line, long ones broken.

    `parse` of the text gives an equal tree.
    """
    lines: list[str] = []
    before: Item | None = None
    for item in tree.items:
        if before is not None and _is_rule(before) != _is_rule(item):
            lines.append("")
        lines.extend(_lines(item))
        before = item
    return lay_out("\n".join(lines))


def _lines(item: Item) -> list[str]:
    """Return an item on one line, a component with a line for each of its items."""
    if not isinstance(item, Component):
        return [print_node(item)]
    overrides = [f".override {name}" for name in item.overrides]
    inside = [line for part in item.items for line in _lines(part)]
    return [_component_head(item), *overrides, *inside, "}"]


def _is_rule(item: Item) -> bool:
    return isinstance(item, Rule | Subsumption)


def print_node(node: Node) -> str:  # noqa: C901, PLR0912 - one case for every kind of node
    """Return a node on one line.

    print_node(parse_atom("path( 1,x )")) -> "path(1, x)"
    """
    match node:
        case Atom(relation, (*terms, value), is_keyed=True):
            return f"{relation}[{_list(terms)}] = {print_node(value)}"
        case Atom(relation, terms):
            return f"{relation}({_list(terms)})"
        case Constraint(("match" | "contains") as op, left, right):
            return f"{op}({print_node(left)}, {print_node(right)})"
        case Constraint(op, left, right):
            return f"{print_node(left)} {op} {print_node(right)}"
        case Truth(value):
            return "true" if value else "false"
        case Negation(element):
            return f"!{print_node(element)}"
        case Disjunction():
            return f"({_body(node)})"
        case Conjunction(elements):
            return ", ".join(print_node(element) for element in elements)
        case Field(name, type_name, is_lattice):
            return f"{name}: {type_name}{'<>' * is_lattice}" if name else type_name
        case BranchDeclaration(name, fields):
            return f"{name} {{ {_list(fields)} }}" if fields else f"{name} {{}}"
        case PlanOrder(is_leapfrog=True):
            return ".plan leapfrog"
        case PlanOrder(orders):
            return ".plan " + ", ".join(
                f"{version}:({', '.join(map(str, atoms))})" for version, atoms in orders
            )
        case ComponentReference(name, parameters):
            return name + (f"<{', '.join(parameters)}>" if parameters else "")
        case (
            SubtypeDeclaration()
            | UnionDeclaration()
            | RecordDeclaration()
            | AlgebraicDeclaration()
            | RelationDeclaration()
            | FunctorDeclaration()
            | LatticeDeclaration()
            | Directive()
            | Pragma()
            | Rule()
            | Subsumption()
            | Component()
            | Instance()
        ):
            return _item(node)
        case _:
            return _term(node, 0)


def _list(nodes: Iterable[Node]) -> str:
    return ", ".join(print_node(node) for node in nodes)


def _body(body: Disjunction) -> str:
    return " ; ".join(print_node(alternative) for alternative in body.alternatives)


# --- terms ---------------------------------------------------------------------------------


def _term(term: Term, lowest: int) -> str:
    """Return a term, in brackets if it holds together less tightly than `lowest`."""
    text, tightness = _term_parts(term)
    return text if tightness >= lowest else f"({text})"


def _term_parts(term: Term) -> tuple[str, int]:  # noqa: C901, PLR0912 - one case for every kind of term
    match term:
        case NumberLiteral(value):
            return str(value), _PRIMARY if value >= 0 else _UNARY
        case UnsignedLiteral(value):
            return f"{value}u", _PRIMARY
        case FloatLiteral(float_value):
            return repr(float_value), _PRIMARY
        case StringLiteral(text):
            return quote(text), _PRIMARY
        case Variable(name):
            return name, _PRIMARY
        case Wildcard():
            return "_", _PRIMARY
        case NilLiteral():
            return "nil", _PRIMARY
        case Counter():
            return "autoinc()", _PRIMARY
        case RecordTerm(terms):
            return f"[{_list(terms)}]", _PRIMARY
        case Lookup(relation, terms):
            return f"{relation}[{_list(terms)}]", _PRIMARY
        case BranchTerm(name, terms):
            return f"${name}({_list(terms)})", _PRIMARY
        case UserApplication(name, terms):
            return f"@{name}({_list(terms)})", _PRIMARY
        case Cast(inner, type_name):
            return f"as({print_node(inner)}, {type_name})", _PRIMARY
        case Aggregate():
            return _aggregate(term), _PRIMARY
        case Application():
            return _application(term)
        case _:
            assert_never(term)


def _application(term: Application) -> tuple[str, int]:
    functor, terms = term.functor, term.terms
    if functor in BINARY_LEVEL and len(terms) == 2:
        level = BINARY_LEVEL[functor]
        return f"{_term(terms[0], level)} {functor} {_term(terms[1], level + 1)}", level
    if functor == "^":
        return f"{_term(terms[0], _PRIMARY)} ^ {_term(terms[1], _UNARY)}", _POWER
    if functor in _PREFIX_TEXT:
        return f"{_PREFIX_TEXT[functor]}{_term(terms[0], _UNARY)}", _UNARY
    return f"{functor}({_list(terms)})", _PRIMARY


def _aggregate(term: Aggregate) -> str:
    target = "" if term.target is None else f"{print_node(term.target)} "
    if term.init is not None:
        return f"@{term.functor} {target}: {print_node(term.init)}, {{ {_body(term.body)} }}"
    functor = f"@{term.functor}" if term.functor.startswith("@") else term.functor
    return f"{functor} {target}: {{ {_body(term.body)} }}"


# --- items ---------------------------------------------------------------------------------


def _item(item: Item) -> str:  # noqa: C901, PLR0912 - one case for every kind of item
    match item:
        case SubtypeDeclaration(name, base):
            return f".type {name} <: {base}"
        case UnionDeclaration(name, members):
            return f".type {name} = {' | '.join(members)}"
        case RecordDeclaration(name, fields):
            return f".type {name} = [{_list(fields)}]"
        case AlgebraicDeclaration(name, branches):
            return f".type {name} = {' | '.join(print_node(branch) for branch in branches)}"
        case RelationDeclaration():
            return _relation(item)
        case FunctorDeclaration(name, parameters, result, is_stateful):
            return f".functor {name}({_list(parameters)}): {result}{' stateful' * is_stateful}"
        case LatticeDeclaration(type_name, operators):
            inside = ", ".join(f"{name} -> {print_node(term)}" for name, term in operators)
            return f".lattice {type_name}<> {{ {inside} }}"
        case Directive(kind, relation, pairs):
            inside = ", ".join(f"{key}={quote(value)}" for key, value in pairs)
            return f".{kind.value} {relation}" + (f"({inside})" if pairs else "")
        case Pragma(key, value):
            return f".pragma {quote(key)}" + (f" {quote(value)}" if value else "")
        case Rule(heads, body, plan):
            return _list(heads) + (f" :- {_body(body)}" if body else "") + "." + _plan(plan)
        case Subsumption(less, greater, body, plan):
            return f"{print_node(less)} <= {print_node(greater)} :- {_body(body)}." + _plan(plan)
        case Component():
            return _component(item)
        case Instance(name, component):
            return f".init {name} = {print_node(component)}"
        case _:
            assert_never(item)


def _relation(item: RelationDeclaration) -> str:
    parts = [f".decl {item.name}({_list(item.columns)})", *item.qualifiers]
    if item.choices:
        domains = (choice[0] if len(choice) == 1 else f"({', '.join(choice)})" for choice in item.choices)
        parts.append("choice-domain " + ", ".join(domains))
    if item.keys:
        parts.append("keys " + ", ".join(item.keys))
    return " ".join(parts)


def _plan(plan: PlanOrder | None) -> str:
    return "" if plan is None else f" {print_node(plan)}"


def _component(item: Component) -> str:
    overrides = (f".override {name}" for name in item.overrides)
    return " ".join([_component_head(item), *overrides, *(print_node(part) for part in item.items), "}"])


def _component_head(item: Component) -> str:
    head = print_node(ComponentReference(item.name, item.parameters, span=item.span))
    bases = f" : {_list(item.bases)}" if item.bases else ""
    return f".comp {head}{bases} {{"
