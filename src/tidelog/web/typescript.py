"""The schema of the replies as TypeScript, for the checks of the page.

python -m tidelog.web.typescript
"""

from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    ForwardRef,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tidelog.web import schema

TYPES: Final = Path(__file__).parent / "replies.d.ts"
_PLAIN: Final = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    NoneType: "null",
    object: "unknown",
}


def write_types() -> str:
    """Return every reply as an interface."""
    kinds = [each for each in vars(schema).values() if is_typeddict(each)]
    parts = ["// Written by `python -m tidelog.web.typescript` from schema.py; a test compares the two.\n"]
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        words = (kind.__doc__ or "").splitlines()[0]
        lines = "".join(f"  {name}{_written(of)};\n" for name, of in hints.items())
        parts.append(f"/** {words} */\nexport interface {kind.__name__} {{\n{lines}}}\n")
    return "\n".join(parts)


def _written(of: Any) -> str:
    if get_origin(of) is NotRequired:
        return f"?: {_type(get_args(of)[0])}"
    return f": {_type(of)}"


def _type(of: Any) -> str:
    origin, members = get_origin(of), get_args(of)
    if of in _PLAIN:
        return _PLAIN[of]
    if is_typeddict(of):
        return str(of.__name__)
    if isinstance(of, ForwardRef):
        return of.__forward_arg__
    if origin in (UnionType, Union):
        return " | ".join(map(_type, members))
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in members)
    if origin is tuple:
        return f"[{', '.join(map(_type, members))}]"
    if origin is dict:
        return f"Record<{_type(members[0])}, {_type(members[1])}>"
    assert origin is Sequence, f"the schema has a type that nobody can write: {of}"
    inner = _type(members[0])
    return f"({inner})[]" if " " in inner else f"{inner}[]"


if __name__ == "__main__":
    TYPES.write_text(write_types(), encoding="utf-8")
