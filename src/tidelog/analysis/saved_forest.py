"""A forest in a file: its nodes, ids, places and texts, so that nothing need be parsed again."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from tidelog.errors import TidelogError
from tidelog.io.staging import Staging, unwritable
from tidelog.source import Source
from tidelog.trees.forest import Forest
from tidelog.trees.languages import find_language
from tidelog.trees.nodes import Int64s, Nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.pool import ABSENT, Pool
from tidelog.trees.tree import Tree, new_tree

AnyArray = npt.NDArray[Any]

_FORM: Final = 1
_PARTS: Final = ("types", "links", "parents", "sizes")


def save_forest(path: Path, forest: Forest) -> None:
    """Replace the file by the forest atomically."""
    trees = list(forest.files.values())
    nodes = [tree.nodes for tree in trees]
    about = {
        "form": _FORM,
        "language": forest.language.name,
        "types": [each.name for each in forest.language.schema.types],
        "next_id": forest.next_id,
        "files": list(forest.files),
        "texts": [tree.places.source.text if tree.places is not None else None for tree in trees],
        "values": [[type(value).__name__, value] for value in forest.language.pool.values],
    }
    arrays = {name: _joined([getattr(each, name) for each in nodes], np.int32) for name in _PARTS}
    arrays |= {
        "values": _joined([each.values for each in nodes]),
        "ids": _joined([tree.ids for tree in trees]),
        "starts": _joined([tree.places.starts for tree in trees if tree.places is not None]),
        "ends": _joined([tree.places.ends for tree in trees if tree.places is not None]),
        "node_counts": np.array([each.count for each in nodes], dtype=np.int64),
        "value_counts": np.array([each.values.size for each in nodes], dtype=np.int64),
        "about": np.frombuffer(json.dumps(about).encode("ascii"), dtype=np.uint8),
    }
    with Staging() as staging:
        staged = staging.path_for(path)
        try:
            with staged.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]  # arrays by name
        except OSError as cause:
            raise unwritable(path, cause) from cause


def load_forest(path: Path) -> Forest | None:
    """Return the forest of a file; None if there is none, or it was made with other types."""
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
        return _forest(arrays, json.loads(arrays["about"].tobytes()))
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile, TidelogError):
        return None


def _forest(arrays: dict[str, AnyArray], about: dict[str, object]) -> Forest:
    language = find_language(str(about["language"]))
    schema, pool = language.schema, language.pool
    if about["form"] != _FORM or about["types"] != [each.name for each in schema.types]:
        raise ValueError("it was made by another version")
    numbers = _numbers(pool, about["values"])  # type: ignore[arg-type]  # checked by using it
    arrays["values"] = numbers[arrays["values"]]
    counts = schema.value_counts
    files: dict[str, Tree] = {}
    row = value = 0
    sizes = zip(arrays["node_counts"].tolist(), arrays["value_counts"].tolist(), strict=True)
    named = zip(about["files"], about["texts"], strict=True)  # type: ignore[call-overload]  # as above
    for (path, text), (count, value_count) in zip(named, sizes, strict=True):
        rows = slice(row, row + count)
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(counts[arrays["types"][rows]], out=starts[1:])
        types, links, parents, subtrees = (arrays[name][rows] for name in _PARTS)
        nodes = Nodes(types, links, parents, subtrees, starts, arrays["values"][value : value + value_count])
        places = NodePlaces(Source(path, text), arrays["starts"][rows], arrays["ends"][rows])
        tree = new_tree(schema, pool, nodes, language, places)
        files[path] = replace(tree, ids=arrays["ids"][rows], next_id=int(str(about["next_id"])))
        row, value = row + count, value + value_count
    return Forest(language, files, int(str(about["next_id"])))


def _numbers(pool: Pool, values: Iterable[tuple[str, object]]) -> Int64s:
    """Return the pool's number of each value; the last one is for values that are absent."""
    kinds = {"str": str, "int": int, "float": float, "bool": bool}
    found = [pool.number(kinds[kind](value)) for kind, value in values]
    return np.array([*found, ABSENT], dtype=np.int64)


def _joined(parts: list[AnyArray], dtype: type = np.int64) -> AnyArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)
