"""A proof as a graph of numbered nodes, as the forms for other programs need it."""

from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.items import is_leaf_relation

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node with its number, its premises' numbers, and whether it was expanded."""

    number: int
    proof: "Proof"
    premises: tuple[int, ...]
    is_expanded: bool


def number_nodes(proof: "Proof", depth: int | None) -> list[GraphNode]:
    """Return each distinct node down to a depth once; the root is the first, number 0.

    A node at that depth is not expanded, so its step is not looked for; facts that only inputs can
    prove are.
    """
    numbers: dict[int, int] = {}
    ordered: list[tuple[Proof, bool]] = []
    level = [proof]
    remaining = depth
    while level:
        following: list[Proof] = []
        for node in level:
            if id(node) not in numbers:
                numbers[id(node)] = len(ordered)
                is_expanded = remaining is None or remaining > 0 or is_leaf_relation(node)
                ordered.append((node, is_expanded))
                if is_expanded:
                    following.extend(node.premises)
        level = following
        remaining = None if remaining is None else remaining - 1
    return [
        GraphNode(
            number,
            node,
            tuple(numbers[id(premise)] for premise in node.premises) if is_expanded else (),
            is_expanded,
        )
        for number, (node, is_expanded) in enumerate(ordered)
    ]
