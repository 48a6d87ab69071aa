"""Columns of a relation as arrays on a GPU."""

from typing import Any, Final

import numpy as np

from tidelog.engine.protocol import FactReader
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Relation
from tidelog.values import Codec, Kind

_TYPES: Final = {Kind.NUMBER: np.int64, Kind.UNSIGNED: np.uint64, Kind.FLOAT: np.float64}


def device_arrays(engine: FactReader, relation: Relation, codec: Codec) -> dict[str, Any]:
    """Return the columns of a relation on the device where the engine has them, else copied to it."""
    kinds = {column.name: codec.resolve(column.type).kind for column in relation.columns}
    others = [name for name, kind in kinds.items() if kind not in _TYPES]
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        message = (
            f"{names} of `{relation.name}` has values that are not numbers, which a GPU has no array for"
        )
        hint = "use `to_arrow()`, or a rule that leaves these columns out"
        raise TidelogError([Diagnostic(code="no-device-array", message=message, hint=hint)])
    running = getattr(engine, "evaluating", engine)
    read = getattr(running, "device_columns", None)
    columns = None if read is None else read(relation.name)
    if columns is None:
        from tidelog.engine.cuda.cupy_device import open_device  # noqa: PLC0415 - an optional package

        columns = [open_device().copied(codes) for codes in engine.facts(relation.name)]
    parts = zip(kinds.items(), columns, strict=True)
    return {name: codes.view(_TYPES[kind]) for (name, kind), codes in parts}
