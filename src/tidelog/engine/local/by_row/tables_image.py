"""The tables of strata that are laid out as arrays of an image, and back: nothing is planned again.

Addresses in them are those of the process that wrote the image. `Sync` writes all that are in use anew.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast

from tidelog import storage, values
from tidelog.engine.local.by_row.tables import LaidOut, StrataTables
from tidelog.plan import lattice_arcs
from tidelog.storage.relation_indexes import IndexName
from tidelog.values.image import Add, ArrayOf

# Of one struct or number for each relation or stratum, and of as many as there are.
_FIXED: Final = ("relations", "strata")
_GROWING: Final = (
    *("indexes", "rules", "literals", "chains", "forwards"),
    *("variants", "uses", "backs", "code", "constants"),
)


def write_tables(tables: StrataTables, add: Add) -> dict[str, object]:
    """Add the tables to an image; return what `read_tables` needs."""
    return {
        "names": tables.names,
        "arrays": {name: add(getattr(tables, name).view("u1")) for name in (*_FIXED, *_GROWING)},
        "keys": [[relation, _as_lists(name)] for relation, name in tables.keys],
        "strata": [
            [number, list(each.own), sorted(each.names), sorted(tables.keys[key] for key in each.keys)]
            for number, each in tables.laid_out.items()
        ],
    }


def read_tables(tables: StrataTables, about: Mapping[str, Any], array_of: ArrayOf) -> bool:
    """Fill tables in which nothing is laid out; return False if they are of another program."""
    if about["names"] != tables.names:
        return False
    arrays = {name: array_of(number) for name, number in about["arrays"].items()}
    if any(arrays[name].nbytes != getattr(tables, name).nbytes for name in _FIXED):
        return False
    for name in _FIXED:
        getattr(tables, name)[:] = arrays[name].view(getattr(tables, name).dtype)
    for name in _GROWING:
        setattr(tables, name, arrays[name].view(getattr(tables, name).dtype))
    names = [(relation, _as_name(name)) for relation, name in about["keys"]]
    tables.keys = {name: number for number, name in enumerate(names)}
    tables.laid_out = {
        number: LaidOut(own, frozenset(read), frozenset(names[key] for key in keys))
        for number, own, read, keys in about["strata"]
    }
    return True


@cache
def layout_stamp() -> str:
    """Return what differs between two versions that lay texts, relations or strata out in different ways."""
    stamp = blake2b(digest_size=16)
    here = Path(__file__).parent
    folders = (here, *map(Path, storage.__path__), *map(Path, values.__path__))
    modules = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    # Timelines are kept by the arcs of their rules.
    modules += [*sorted(here.parent.glob("timelines*.py")), Path(lattice_arcs.__file__)]
    for path in modules:
        stamp.update(path.read_bytes())
    return stamp.hexdigest()


def _as_lists(name: IndexName) -> list[object]:
    return [list(each) if isinstance(each, tuple) else each for each in name]


def _as_name(name: list[Any]) -> IndexName:
    found: Any = tuple(tuple(each) if isinstance(each, list) else each for each in name)
    return cast("IndexName", found)
