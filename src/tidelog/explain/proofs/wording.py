"""Literals of a rule with values in the place of variables, as text."""

from collections.abc import Mapping
from typing import assert_never

from tidelog.program import nodes
from tidelog.program.printing import INFIX
from tidelog.program.written_names import written_name
from tidelog.values import Value
from tidelog.views.fact_text import write_value

Binding = Mapping[str, Value]


def word_literal(literal: nodes.Literal, binding: Binding) -> str:
    """Return a literal as text; variables without a value keep the name the user gave them.

    With `x` bound to 1, `edge(x, y)` is `edge(1, y)` and `x < 3` is `1 < 3`.
    """
    match literal:
        case nodes.Atom():
            return f"{literal.relation}({_terms(literal.terms, binding)})"
        case nodes.NegatedAtom():
            return f"!{word_literal(literal.atom, binding)}"
        case nodes.Constraint(op="match" | "contains" | "!match" | "!contains"):
            return f"{literal.op}({_terms((literal.left, literal.right), binding)})"
        case nodes.Constraint(right=nodes.Aggregate(negates=True, body=body)):
            return f"!({', '.join(word_literal(part, binding) for part in body)})"
        case nodes.Constraint():
            return f"{word_term(literal.left, binding)} {literal.op} {word_term(literal.right, binding)}"
        case nodes.Generator():
            bounds = (literal.start, literal.stop, *(() if literal.step is None else (literal.step,)))
            return f"{word_term(literal.target, binding)} = range({_terms(bounds, binding)})"
    assert_never(literal)


def word_term(term: nodes.Term, binding: Binding) -> str:  # noqa: C901 - one case per kind of term
    """Return a term as text; see `word_literal`."""
    match term:
        case nodes.Variable():
            if term.name in binding:
                return write_value(binding[term.name])
            return "_" if term.name.startswith("_wild'") else written_name(term.name)
        case nodes.Wildcard():
            return "_"
        case nodes.Constant():
            return write_value(term.value)
        case nodes.RecordTerm():
            return f"[{_terms(term.terms, binding)}]"
        case nodes.BranchTerm():
            return f"${term.name}({_terms(term.terms, binding)})"
        case nodes.Application():
            return _application(term, binding)
        case nodes.UserApplication():
            return f"@{term.name}({_terms(term.terms, binding)})"
        case nodes.Counter():
            return "autoinc()"
        case nodes.Aggregate():
            return _aggregate(term, binding)
    assert_never(term)


def _terms(terms: tuple[nodes.Term, ...], binding: Binding) -> str:
    return ", ".join(word_term(term, binding) for term in terms)


def _application(term: nodes.Application, binding: Binding) -> str:
    if term.functor in INFIX and len(term.terms) == 2:
        left, right = (_operand(part, binding) for part in term.terms)
        return f"{left} {term.functor} {right}"
    if term.functor == "neg":
        return f"-{_operand(term.terms[0], binding)}"
    return f"{term.functor}({_terms(term.terms, binding)})"


def _operand(term: nodes.Term, binding: Binding) -> str:
    """Return an operand, in parentheses where it is an operation of its own."""
    text = word_term(term, binding)
    is_infix = isinstance(term, nodes.Application) and term.functor in INFIX
    return f"({text})" if is_infix else text


def _aggregate(term: nodes.Aggregate, binding: Binding) -> str:
    words = [term.functor]
    if term.init is not None:
        words.append(f"{word_term(term.init, binding)},")
    if term.target is not None:
        words.append(word_term(term.target, binding))
    body = ", ".join(word_literal(literal, binding) for literal in term.body)
    return f"{' '.join(words)} : {{ {body} }}"
