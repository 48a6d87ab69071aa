"""A forest in a file: its nodes, ids, places and texts, so that nothing need be parsed again.

The file is an image, so what of it is read depends on the files whose trees are asked for.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.io.staging import Staging, unwritable
from tidelog.source import Source
from tidelog.trees.forest import Forest
from tidelog.trees.languages import Language, find_language
from tidelog.trees.lazy_trees import LazyTrees, WaitingTree
from tidelog.trees.nodes import Nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT, Numbers, TreeValue
from tidelog.trees.tree import Tree
from tidelog.values.image import ImageWriter, MappedImage

AnyArray = npt.NDArray[Any]

# What files with forests were called before they were images.
OLD_NAME: Final = "trees.npz"
_FORM: Final = 2
_PARTS: Final = ("types", "links", "parents", "sizes")
_KINDS: Final = {"int": int, "float": float, "bool": bool}


def save_forest(path: Path, forest: Forest) -> None:
    """Replace the file by the forest atomically."""
    trees = list(forest.files.values())
    nodes = [tree.nodes for tree in trees]
    texts = [_text(tree).encode(errors="surrogatepass") for tree in trees]
    values = list(enumerate(forest.language.pool.values))
    arrays = {name: _joined([getattr(each, name) for each in nodes], np.int32) for name in _PARTS}
    arrays |= {
        "values": _joined([each.values for each in nodes]),
        "value_starts": _joined([each.value_starts for each in nodes]),
        "ids": _joined([tree.ids for tree in trees]),
        "starts": _joined([tree.places.starts for tree in trees if tree.places is not None]),
        "ends": _joined([tree.places.ends for tree in trees if tree.places is not None]),
        "texts": np.frombuffer(b"".join(texts), np.uint8),
    }
    with Staging() as staging:
        staged = staging.path_for(path)
        try:
            with ImageWriter(staged) as image:
                image.finish(
                    {
                        "form": _FORM,
                        "language": forest.language.name,
                        "types": [each.name for each in forest.language.schema.types],
                        "next_id": forest.next_id,
                        "files": [
                            [path, len(tree), tree.nodes.values.size, len(text), *_ids_of(tree, path)]
                            for (path, tree), text in zip(forest.files.items(), texts, strict=True)
                        ],
                        "values": [value for _, value in values if type(value) is str],
                        "other_values": [
                            [number, type(value).__name__, value]
                            for number, value in values
                            if type(value) is not str
                        ],
                        "arrays": {name: image.add(array) for name, array in arrays.items()},
                    }
                )
        except OSError as cause:
            raise unwritable(path, cause) from cause


def load_forest(path: Path) -> Forest | None:
    """Return the forest of a file; None if there is none, or it was made with other types."""
    image = MappedImage.open(path)
    try:
        return None if image is None else _forest(image, image.about)
    except (ValueError, KeyError, TypeError, IndexError, TidelogError):
        return None


def digest_of_ids(forest: Forest) -> str:
    """Return what tells the ids of two forests apart."""
    digest = hashlib.sha256(str(forest.next_id).encode())
    files = forest.files
    for path in sorted(files):
        known = files.digest_of(path) if isinstance(files, LazyTrees) else None
        digest.update((known or _digest_of_tree(files[path], path)).encode())
    return digest.hexdigest()


def _ids_of(tree: Tree, path: str) -> tuple[int, int, str]:
    """Return the least and the largest id of a tree, and a digest of its ids."""
    return int(tree.ids.min(initial=tree.next_id)), int(tree.ids.max(initial=0)), _digest_of_tree(tree, path)


def _digest_of_tree(tree: Tree, path: str) -> str:
    digest = hashlib.sha256(path.encode(errors="surrogatepass"))
    digest.update(tree.ids.tobytes())
    return digest.hexdigest()


def _forest(image: MappedImage, about: Mapping[str, Any]) -> Forest:
    language = find_language(str(about["language"]))
    if about["form"] != _FORM or about["types"] != [each.name for each in language.schema.types]:
        raise ValueError("it was made by another version")
    others: dict[int, TreeValue] = {
        number: _KINDS[kind](value) for number, kind, value in about["other_values"]
    }
    numbers = language.pool.extend(about["values"], others)
    if numbers is not None:
        # The last one is for values that are absent.
        numbers = np.append(numbers, ABSENT)
    arrays = {name: image.array(number) for name, number in about["arrays"].items()}
    saved = _SavedTrees(language, arrays, numbers, int(about["next_id"]))
    entries: dict[str, WaitingTree] = {}
    row = value = character = 0
    for number, (path, count, values, characters, least, most, digest) in enumerate(about["files"]):
        place = _Place(path, number, slice(row, row + count), slice(value, value + values), character)
        make = partial(saved.tree, place, characters)
        entries[path] = WaitingTree(make, least, most, digest)
        row, value, character = row + count, value + values, character + characters
    return Forest(language, LazyTrees(entries), int(about["next_id"]))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file is in the arrays: its number, the rows of its nodes, its values and its text."""

    path: str
    number: int
    rows: slice
    values: slice
    first_character: int


@dataclass(frozen=True, slots=True)
class _SavedTrees:
    """Makes trees of arrays that all files share; `numbers` lead to values of the pool, if they differ."""

    language: Language
    arrays: Mapping[str, AnyArray]
    numbers: Numbers | None
    next_id: int

    def tree(self, place: _Place, characters: int) -> Tree:
        """Return the tree of a file."""
        arrays, rows = self.arrays, place.rows
        text = arrays["texts"][place.first_character : place.first_character + characters].tobytes()
        values = arrays["values"][place.values]
        # Where values begin has one number more for each file.
        starts = arrays["value_starts"][rows.start + place.number : rows.stop + place.number + 1]
        types, links, parents, subtrees = (arrays[name][rows] for name in _PARTS)
        nodes = Nodes(
            types, links, parents, subtrees, starts, values if self.numbers is None else self.numbers[values]
        )
        source = Source(place.path, text.decode(errors="surrogatepass"))
        places = NodePlaces(source, arrays["starts"][rows], arrays["ends"][rows])
        schema, pool = self.language.schema, self.language.pool
        return Tree(schema, pool, nodes, arrays["ids"][rows], self.next_id, self.language, places)


def _text(tree: Tree) -> str:
    return "" if tree.places is None else tree.places.source.text


def _joined(parts: Sequence[AnyArray], dtype: type = np.int64) -> AnyArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
