"""The files of a code base as one tree, brought up to date file by file."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import repeat
from pathlib import Path

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.suggest import counted
from tidelog.source import Span
from tidelog.trees.edits import EditScript
from tidelog.trees.facts import tree_facts
from tidelog.trees.file_type import FILE
from tidelog.trees.languages import Language, find_language
from tidelog.trees.lazy_trees import LazyTrees
from tidelog.trees.nodes import NONE, Int64s, Nodes, join_nodes
from tidelog.trees.parallel_read import pays, read_trees
from tidelog.trees.places import NodePlaces
from tidelog.trees.tree import Tree, new_tree


@dataclass(frozen=True, slots=True)
class ForestStep:
    """The way from one state of the files to the next.

    `mistakes` are about files that could not be read: they keep the tree they had.
    """

    script: EditScript
    forest: "Forest"
    mistakes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class Forest:
    """Files by path, each with a tree below a `File` node; all share one space of ids.

        forest = Forest.of("python")
        step = forest.update({"a.py": "x = 1", "b.py": "import a"})
        step = step.forest.update({"a.py": "x = 2", "b.py": None})

    A forest never changes; `update` returns the next one. Only files that are named are read and
    compared, so the cost of a step depends on the files it touches.
    """

    language: Language
    files: Mapping[str, Tree] = field(default_factory=dict)
    next_id: int = 1
    # The file that a node was last found in, shared by all forests that follow: where to look first.
    last_seen: dict[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, language: str = "python") -> "Forest":
        """Return a forest without files."""
        return cls(find_language(language))

    @classmethod
    def of_folder(
        cls, folder: Path | str, language: str = "python", *, jobs: int | None = None
    ) -> ForestStep:
        """Return the step from scratch to all files of the language in a folder; `jobs` as for `update`."""
        return cls.of(language).update(read_folder(Path(folder), find_language(language)), jobs=jobs)

    def __len__(self) -> int:
        return sum(map(len, self.files.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __repr__(self) -> str:
        files, nodes = counted(len(self.files), "file"), counted(len(self), "node")
        return f"<{self.language.name} forest of {files} and {nodes}>"

    # --- changes -------------------------------------------------------------------------------

    def update(self, changes: Mapping[str, str | None], *, jobs: int | None = None) -> ForestStep:
        """Return the step to the files with some texts changed, added, or deleted (None).

        Nodes live on through edits, moves between the files named here, and renamed files. A text
        with mistakes in it leaves its file as it was. Many new files are read by as many processes as there
        are processors, or `jobs`; the result does not depend on it.
        """
        read: dict[str, Tree] = {}
        mistakes: list[Diagnostic] = []
        for path, text, found in self._begin(changes, jobs):
            try:
                read[path] = with_file_node(self._read(path, text) if found is None else found, path)
            except TidelogError as error:
                mistakes += error.diagnostics
        deleted = [path for path, text in changes.items() if text is None and path in self.files]
        olds = [self.files[path] for path in dict.fromkeys([*read, *deleted]) if path in self.files]
        before = self._joined(olds)
        step = before.update(_concatenate(list(read.values()), self.language))
        new: dict[str, Tree] = {}
        first = 0
        for path, tree in read.items():
            ids = step.tree.ids[first : first + len(tree)]
            new[path] = replace(tree, ids=ids, next_id=step.tree.next_id)
            first += len(tree)
        forest = Forest(self.language, self._changed(deleted, new), step.tree.next_id, self.last_seen)
        return ForestStep(step.script, forest, tuple(mistakes))

    def _changed(self, deleted: Collection[str], read: Mapping[str, Tree]) -> Mapping[str, Tree]:
        """Return the files without some, and with others in their places or behind all."""
        if isinstance(self.files, LazyTrees):
            return self.files.changed(deleted, read)
        return {**{path: tree for path, tree in self.files.items() if path not in deleted}, **read}

    def _near(self, node: int) -> Iterable[tuple[str, Tree]]:
        """Return the files that may have a node."""
        return self.files.near(node) if isinstance(self.files, LazyTrees) else self.files.items()

    def _begin(
        self, changes: Mapping[str, str | None], jobs: int | None
    ) -> Iterator[tuple[str, str, Tree | None]]:
        """Yield the paths with a text, the text, and its tree if other processes have read it."""
        texts = {path: text for path, text in changes.items() if text is not None}
        new = {path: text for path, text in texts.items() if path not in self.files}
        found = read_trees(self.language, new, jobs) if pays(new, jobs) else repeat(None)
        for path, text in texts.items():
            yield path, text, next(found) if path in new else None

    def _read(self, path: str, text: str) -> Tree:
        before = self.files.get(path)
        if before is None:
            before = self._namesake(path, len(text))
        if before is None:
            return self.language.read(text, path)
        return self.language.read_again(text, path, before, above=1)

    def _namesake(self, path: str, size: int) -> Tree | None:
        """Return the tree of a file in another folder that may be this one before it was renamed.

        It only tells what need not be parsed again.
        """
        name = path.rsplit("/", 1)[-1]
        for other in self.files:
            tree = self.files[other] if other.rsplit("/", 1)[-1] == name else None
            if tree is not None and tree.places is not None:
                before = len(tree.places.source.text)
                if abs(before - size) <= before // 10:
                    return tree
        return None

    def _joined(self, trees: list[Tree]) -> Tree:
        joined = _concatenate(trees, self.language)
        ids = np.concatenate([tree.ids for tree in trees]) if trees else np.empty(0, dtype=np.int64)
        return replace(joined, ids=ids, next_id=self.next_id)

    # --- what it holds ---------------------------------------------------------------------------

    def tree(self) -> Tree:
        """Return all files as one tree with a root for each."""
        return self._joined(list(self.files.values()))

    def declarations(self, program: str | None = None) -> str:
        """Return the declarations of the relations, to be included by programs.

        Given the text of a program, only what the program names is declared, which is quicker to
        keep up to date.
        """
        return _concatenate([], self.language).declarations(program)

    def facts(self, relations: Container[str] | None = None) -> Mapping[str, Mapping[str, object]]:
        """Return the facts of all files as columns by relation; only those of `relations` if given."""
        tree = self.tree()
        return tree_facts(tree.schema, tree.pool, tree.nodes, tree.ids, relations)

    def find(self, node: int) -> tuple[str, Tree]:
        """Return the path and the tree of the file that a node is in."""
        for path, tree in self._near(node):
            if node in tree:
                return path, tree
        raise TidelogError([Diagnostic(code="no-such-node", message=f"no file has a node #{node}")])

    def span(self, node: int) -> Span | None:
        """Return where a node is: its file, line and column."""
        _, tree = self.find(node)
        return tree.span(node)

    def place_of(self, node: int, near: str | None = None) -> Span | None:
        """Return where a node stands, or None if there is no such node; `near` is the file to try first."""
        for path in (near, self.last_seen.get(node)):
            tree = self.files.get(path) if path is not None else None
            if tree is not None and node in tree:
                return tree.span(node)
        for path, tree in self._near(node):
            if node in tree:
                self.last_seen[node] = path
                return tree.span(node)
        return None


def read_folder(folder: Path, language: Language) -> dict[str, str]:
    """Return the texts of all files of a language below a folder, by path within it."""
    texts = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in language.suffixes and path.is_file():
            texts[path.relative_to(folder).as_posix()] = read_text(path)
    return texts


def read_text(path: Path) -> str:
    """Return the text of a file; bytes that are not UTF-8 become marks."""
    return path.read_text(encoding="utf-8", errors="replace")


def with_file_node(tree: Tree, path: str) -> Tree:
    """Return the tree below a `File` node that knows the path."""
    nodes, code = tree.nodes, tree.schema.codes[FILE]
    own = np.array([tree.pool.number(path)], dtype=np.int64)
    parents = np.where(nodes.parents == NONE, 0, nodes.parents + 1).astype(np.int32)
    links = np.where(nodes.links == NONE, 0, nodes.links).astype(np.int32)
    above = Nodes(
        np.concatenate([[np.int32(code)], nodes.types]),
        np.concatenate([[np.int32(NONE)], links]),
        np.concatenate([[np.int32(NONE)], parents]),
        np.concatenate([[np.int32(nodes.count + 1)], nodes.sizes]),
        np.concatenate([[0], nodes.value_starts + 1]),
        np.concatenate([own, nodes.values]),
    )
    return new_tree(tree.schema, tree.pool, above, tree.form, _shifted(tree.places))


def _shifted(places: NodePlaces | None) -> NodePlaces | None:
    if places is None:
        return None
    ends = np.concatenate([[0], places.ends])
    return NodePlaces(places.source, np.concatenate([[0], places.starts]), ends)


def _concatenate(trees: list[Tree], language: Language) -> Tree:
    """Return trees side by side, without their places and with ids of their own."""
    nodes = join_nodes([tree.nodes for tree in trees])
    ids: Int64s = np.arange(1, nodes.count + 1, dtype=np.int64)
    return Tree(language.schema, language.pool, nodes, ids, nodes.count + 1, language)
