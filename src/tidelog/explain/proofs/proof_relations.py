"""Proofs as facts that rules and queries can read."""

from typing import TYPE_CHECKING, Final

from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.steps import Input

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.explain.proofs.atom import GroundAtom
    from tidelog.explain.proofs.proof import Proof

DECLARATIONS: Final = """\
.decl finding(fact: symbol)
.decl step(id: number, fact: symbol, rule: symbol)
.decl premise(id: number, position: number, fact: symbol)
.input finding, step, premise
"""
Rows = dict[str, list[tuple[object, ...]]]


def proof_relations(proofs: "Iterable[Proof]") -> Rows:
    """Return the facts that were asked about, the steps of their proofs, and the premises of each step.

    Facts are texts as the language writes them, and each has one step, shared by all proofs it is in. The
    rule of an input fact is `input`; positions count the premises of a step from 0.
    """
    rows: Rows = {"finding": [], "step": [], "premise": []}
    numbers: dict[GroundAtom, int] = {}
    for proof in proofs:
        rows["finding"].append((str(proof.atom),))
        waiting = [proof]
        while waiting:
            node = waiting.pop()
            if node.atom in numbers:
                continue
            number = numbers[node.atom] = len(numbers)
            rows["step"].append((number, str(node.atom), _rule(node)))
            for position, premise in enumerate(node.premises):
                rows["premise"].append((number, position, str(premise.atom)))
            waiting.extend(reversed(node.premises))
    return rows


def _rule(node: "Proof") -> str:
    match node.step:
        case Input():
            return "input"
        case Derivation():
            return node.step.rule.name
        case _:
            return "law"
