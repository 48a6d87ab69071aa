"""Strongly connected parts of a graph, by Tarjan's algorithm without recursion."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(graph: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:  # noqa: C901 - one loop
    """Return the strongly connected parts, each before the parts that lead to it.

    Successors come first; the order follows that of the mapping, so equal graphs give equal answers.

        strongly_connected({"path": ["edge", "path"], "edge": []})  # [["edge"], ["path"]]
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on_stack: set[Node] = set()
    stack: list[Node] = []
    found: list[list[Node]] = []
    for root in graph:
        if root in index:
            continue
        work: list[tuple[Node, int]] = [(root, -1)]
        while work:
            node, start = work.pop()
            if start < 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            descended = False
            successors = graph[node]
            for place in range(max(start, 0), len(successors)):
                successor = successors[place]
                if successor not in index:
                    work.append((node, place))
                    work.append((successor, -1))
                    descended = True
                    break
                if successor in on_stack:
                    low[node] = min(low[node], low[successor])
            if descended:
                continue
            if low[node] == index[node]:
                part: list[Node] = []
                while not part or part[-1] != node:
                    part.append(stack.pop())
                    on_stack.discard(part[-1])
                found.append(part)
    return found
