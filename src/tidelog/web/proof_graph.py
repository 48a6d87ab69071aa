"""A proof as a picture shows it: each fact once, long chains as one box."""

from typing import Final

from tidelog.explain.proofs.items import note_of
from tidelog.explain.proofs.proof import Proof
from tidelog.explain.proofs.steps import Input
from tidelog.web.chains import ProofChain
from tidelog.web.schema import GraphNodeReply, GraphReply

# More boxes are a picture of nothing.
_MOST_NODES: Final = 60
_MOST_CHARACTERS: Final = 200


def plain_graph(root: Proof) -> GraphReply:
    """Return the nodes nearest to the root, in the order in which they are reached."""
    nodes: list[GraphNodeReply] = []
    edges: list[list[int]] = []
    numbers: dict[int, int] = {}
    waiting = [root]
    is_cut = False

    def add(node: GraphNodeReply, premises: list[int]) -> int:
        nodes.append(node)
        edges.append(premises)
        return len(nodes) - 1

    def number_of(proof: Proof) -> int:
        known = numbers.get(id(proof))
        if known is None:
            is_input = isinstance(proof.step, Input)
            node: GraphNodeReply = {
                "text": _cut(str(proof.atom)),
                "note": "input" if is_input else _cut(_rule_of(proof)),
                "kind": "input" if is_input else "derived",
                "premises": [],
            }
            known = numbers[id(proof)] = add(node, [])
            if proof is not root:
                waiting.append(proof)
        return known

    number_of(root)
    for proof in waiting:
        own = numbers[id(proof)]
        for premise in proof.premises:
            if len(nodes) >= _MOST_NODES and id(premise) not in numbers:
                is_cut = True
                continue
            chain = ProofChain(premise)
            if not chain.is_long or id(premise) in numbers:
                edges[own].append(number_of(premise))
                continue
            fold: GraphNodeReply = {
                "text": f"{len(chain.steps):,} steps{' and more' if chain.is_cut else ''}",
                "note": f"by {', '.join(chain.rules[:3])}",
                "kind": "fold",
                "premises": [],
            }
            number = add(fold, [])
            edges[own].append(number)
            edges[number].append(number_of(chain.end))
    for node, premises in zip(nodes, edges, strict=True):
        node["premises"] = premises
    return {"nodes": nodes, "is_cut": is_cut}


def _rule_of(proof: Proof) -> str:
    """Return the name of a node's rule, or the law that gives the fact."""
    return note_of(proof) if proof.rule is None else proof.rule.name


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
