"""Proofs as graphs for Graphviz and Mermaid."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.explain.proofs.derivation import Absence, HeldConstraint
from tidelog.explain.proofs.graph import GraphNode, number_nodes
from tidelog.explain.proofs.items import note_of

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


def write_dot(proof: "Proof", depth: int | None = None) -> str:
    """Return a `digraph`: facts as boxes, rules on the edges' tails, leaves without a frame."""
    lines = ["digraph proof {", "  rankdir=BT;", '  node [shape=box, fontname="monospace"];']
    for node in number_nodes(proof, depth):
        style = ", style=filled, fillcolor=lightgrey" if _is_input(node) else ""
        lines.append(f"  n{node.number} [label={_quoted(_label(node))}{style}];")
        lines.extend(f"  n{premise} -> n{node.number};" for premise in node.premises)
        for place, leaf in enumerate(_leaves(node)):
            lines.append(f"  n{node.number}_{place} [label={_quoted(leaf)}, shape=plaintext];")
            lines.append(f"  n{node.number}_{place} -> n{node.number} [style=dotted];")
    return "\n".join([*lines, "}", ""])


def write_mermaid(proof: "Proof", depth: int | None = None) -> str:
    """Return a `flowchart`: facts as boxes, input facts rounded, leaves on dotted edges."""
    lines = ["flowchart BT"]
    for node in number_nodes(proof, depth):
        opening, closing = ('(["', '"])') if _is_input(node) else ('["', '"]')
        lines.append(f"  n{node.number}{opening}{_escaped(_label(node))}{closing}")
        lines.extend(f"  n{premise} --> n{node.number}" for premise in node.premises)
        for place, leaf in enumerate(_leaves(node)):
            lines.append(f'  n{node.number}_{place}>"{_escaped(leaf)}"] -.-> n{node.number}')
    return "\n".join([*lines, ""])


def _is_input(node: GraphNode) -> bool:
    return node.is_expanded and node.proof.kind == "input"


def _label(node: GraphNode) -> str:
    if not node.is_expanded:
        return f"{node.proof.atom}\n..."
    return str(node.proof.atom) if _is_input(node) else f"{node.proof.atom}\n{note_of(node.proof)}"


def _leaves(node: GraphNode) -> Iterator[str]:
    """Yield the constraints and negated atoms of a node, and the values of its aggregates."""
    derivation = node.proof.derivation if node.is_expanded else None
    if derivation is not None:
        yield from (str(part) for part in derivation.parts if isinstance(part, Absence | HeldConstraint))


def _quoted(text: str) -> str:
    # Graphviz reads the escapes \" and \n in quotes; json writes exactly these and keeps other letters.
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    """Return a text that Mermaid shows as it is: quotes and markup as entities."""
    special = {"&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "#": "#35;", "\n": "<br>", "`": "#96;"}
    return "".join(special.get(char, char) for char in text)
