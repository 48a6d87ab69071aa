"""Trees by path that are made when somebody asks for them, as those of a saved forest are.

A step of a forest touches few files, and only these need a tree.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from tidelog.dataclass import dataclass
from tidelog.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class WaitingTree:
    """A tree yet to be made; its ids are between `least` and `most`, and `digest` tells them from others."""

    make: Callable[[], Tree]
    least: int
    most: int
    digest: str


class LazyTrees(Mapping[str, Tree]):
    """Trees by path; those that wait are made on first use, and kept."""

    def __init__(self, entries: Mapping[str, Tree | WaitingTree]) -> None:
        self._entries = dict(entries)
        self._made: dict[str, Tree] = {}

    def __getitem__(self, path: str) -> Tree:
        entry = self._entries[path]
        if not isinstance(entry, WaitingTree):
            return entry
        made = self._made.get(path)
        if made is None:
            made = self._made[path] = entry.make()
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: object) -> bool:
        return path in self._entries

    def changed(self, deleted: Collection[str], read: Mapping[str, Tree]) -> "LazyTrees":
        """Return the trees without some, and with others in their places or behind all."""
        entries = {path: entry for path, entry in self._entries.items() if path not in deleted}
        later = LazyTrees({**entries, **read})
        later._made = {path: tree for path, tree in self._made.items() if path not in read}
        return later

    def digest_of(self, path: str) -> str | None:
        """Return what was saved to tell the ids of a tree from others; None if nothing was."""
        entry = self._entries[path]
        return entry.digest if isinstance(entry, WaitingTree) else None

    def near(self, node: int) -> Iterator[tuple[str, Tree]]:
        """Yield the trees that may have a node."""
        for path, entry in self._entries.items():
            if not isinstance(entry, WaitingTree) or entry.least <= node <= entry.most:
                yield path, self[path]
