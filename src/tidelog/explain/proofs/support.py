"""The input facts that a proof rests on."""

from typing import TYPE_CHECKING

from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.rules import RuleBook
from tidelog.explain.proofs.steps import Input
from tidelog.program.nodes import Aggregate, NegatedAtom, Rule
from tidelog.program.walk_nodes import aggregates_in, relations_read, walk
from tidelog.values import Fact

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


def find_support(proof: "Proof") -> dict[str, set[Fact]]:
    """Return the input facts at the leaves, and those that absences rest on; see `Proof.support`."""
    prover = proof.explorer.prover
    book = prover.book
    found: dict[str, set[Fact]] = {}
    whole: set[str] = set()
    for node in proof.nodes():
        if isinstance(node.step, Input):
            found.setdefault(node.relation, set()).add(node.fact)
        if book.has_law(node.relation):
            whole |= book.cone(node.relation)
        if isinstance(node.step, Derivation):
            rule = book.find(node.step.rule.name)
            for name in sensitive_relations(rule, book):
                whole |= book.cone(name)
    with proof.explorer.lock:
        for name in whole:
            if book.is_stored(name):
                inputs = set(prover.source.input_facts(name))
                if inputs:
                    found.setdefault(name, set()).update(inputs)
    return found


def sensitive_relations(rule: Rule, book: RuleBook) -> set[str]:
    """Return the relations that must not gain facts for an application of the rule to stay right.

    A negated or aggregated relation that only grows with the inputs cannot gain facts when inputs
    are left out, so it is not among them.
    """
    found: set[str] = set()
    for literal in rule.body:
        if isinstance(literal, NegatedAtom) and not book.only_grows(literal.atom.relation):
            found.add(literal.atom.relation)
    for aggregate in aggregates_in((rule,)):
        found |= _sensitive_in(aggregate, book)
    return found


def _sensitive_in(aggregate: Aggregate, book: RuleBook) -> set[str]:
    read = relations_read((aggregate,))
    has_negation = any(
        isinstance(each, NegatedAtom) or (isinstance(each, Aggregate) and each.negates)
        for each in walk(aggregate.body)
    )
    is_safe = not has_negation and all(book.only_grows(name) for name in read)
    return set() if is_safe else set(read)
