"""A sorted multiset with a summary of all its values.

Every node of a balanced tree keeps the summary of the values below it, in order. Inserting or deleting a
value recomputes the summaries on one path, so a change costs the logarithm of the number of values. The
summaries may come from any associative operation: it needs no inverse and need not commute.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Any, Generic, TypeVar

from tidelog.dataclass import dataclass

Summary = TypeVar("Summary")


@dataclass(slots=True)
class _Node(Generic[Summary]):
    """A distinct value, its multiplicity, and the summary of its subtree."""

    key: Any
    value: Any
    priority: int
    count: int
    own: Summary
    whole: Summary
    left: "_Node[Summary] | None" = None
    right: "_Node[Summary] | None" = None


@dataclass(slots=True)
class ScanTree(Generic[Summary]):
    """Values by key, summarised.

    `summarise(value, count)` is the summary of `count` copies of a value, `merge(left, right)` that
    of two neighbours; neither may change its arguments.

        tree = ScanTree(lambda text, count: text * count, lambda left, right: left + right)
        tree.change("b", "b", 1); tree.change("a", "a", 2)
        tree.whole()  ->  "aab"
    """

    summarise: Callable[[Any, int], Summary]
    merge: Callable[[Summary, Summary], Summary]
    _root: "_Node[Summary] | None" = None
    # Priorities need not be random, only unrelated to the order of keys; the same changes give the same tree.
    _seed: int = field(default=0x9E3779B97F4A7C15)

    def change(self, key: Any, value: Any, diff: int) -> None:
        """Insert `diff` copies of a value, or delete them with a negative diff; they must be there."""
        self._root = self._changed(self._root, key, value, diff)

    def whole(self) -> Summary | None:
        """Return the summary of all values, or None if there are none."""
        return None if self._root is None else self._root.whole

    def _changed(
        self, node: "_Node[Summary] | None", key: Any, value: Any, diff: int
    ) -> "_Node[Summary] | None":
        if node is None:
            assert diff > 0, "a deleted value was there"
            own = self.summarise(value, diff)
            self._seed = (self._seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            return _Node(key, value, self._seed, diff, own, own)
        child = None
        if key == node.key:
            node.count += diff
            if not node.count:
                return self._joined(node.left, node.right)
            node.own = self.summarise(node.value, node.count)
        elif key < node.key:
            child = node.left = self._changed(node.left, key, value, diff)
        else:
            child = node.right = self._changed(node.right, key, value, diff)
        if child is not None and child.priority > node.priority:
            return self._turned(node, child)
        return self._summed(node)

    def _turned(self, node: "_Node[Summary]", above: "_Node[Summary]") -> "_Node[Summary]":
        """Rotate a child above its parent."""
        if above is node.left:
            node.left, above.right = above.right, node
        else:
            node.right, above.left = above.left, node
        self._summed(node)
        return self._summed(above)

    def _joined(
        self, left: "_Node[Summary] | None", right: "_Node[Summary] | None"
    ) -> "_Node[Summary] | None":
        if left is None or right is None:
            return right if left is None else left
        if left.priority > right.priority:
            left.right = self._joined(left.right, right)
            return self._summed(left)
        right.left = self._joined(left, right.left)
        return self._summed(right)

    def _summed(self, node: "_Node[Summary]") -> "_Node[Summary]":
        whole = node.own
        if node.left is not None:
            whole = self.merge(node.left.whole, whole)
        if node.right is not None:
            whole = self.merge(whole, node.right.whole)
        node.whole = whole
        return node
