"""Walks over rules as written."""

from collections.abc import Iterator

from tidelog.syntax import tree


def variables_of(rule: tree.Rule | tree.Subsumption) -> Iterator[tree.Variable]:
    """Yield every variable of a rule in the order of the text."""
    atoms = rule.heads if isinstance(rule, tree.Rule) else (rule.less, rule.greater)
    for atom in atoms:
        yield from _in_element(atom)
    if rule.body is not None:
        yield from _in_element(rule.body)


def _in_element(element: tree.Element) -> Iterator[tree.Variable]:
    match element:
        case tree.Atom():
            for term in element.terms:
                yield from _in_term(term)
        case tree.Constraint():
            yield from _in_term(element.left)
            yield from _in_term(element.right)
        case tree.Negation():
            yield from _in_element(element.element)
        case tree.Disjunction():
            for alternative in element.alternatives:
                for part in alternative.elements:
                    yield from _in_element(part)
        case tree.Truth():
            pass


def _in_term(term: tree.Term) -> Iterator[tree.Variable]:
    match term:
        case tree.Variable():
            yield term
        case tree.RecordTerm() | tree.BranchTerm() | tree.Application() | tree.UserApplication():
            for part in term.terms:
                yield from _in_term(part)
        case tree.Cast():
            yield from _in_term(term.term)
        case tree.Aggregate():
            for each in (term.init, term.target):
                if each is not None:
                    yield from _in_term(each)
            yield from _in_element(term.body)
        case _:
            pass
