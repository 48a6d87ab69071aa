"""Arguments of the types that a signature names, to compile kernels for before they are called."""

import ast
import re
from importlib import import_module
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt

_ARRAY: Final = re.compile(r"(?P<dtype>.+):(?P<dimensions>\d+)(?P<layout>[CFA])(?P<frozen>r?)")
_SCALARS: Final[dict[str, object]] = {"bool": False, "int64": 0, "float64": 0.0}


def samples_of(signature: str) -> tuple[Any, ...]:
    """Return arguments whose `signature_of` is the signature."""
    return tuple(map(_sample, _items(signature)))


def _items(text: str) -> list[str]:
    """Return the parts of a text between spaces that are not in brackets."""
    items, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == " " and depth == 0:
            items.append(text[begin:place])
            begin = place + 1
    return [*items, text[begin:]] if text else []


def _sample(name: str) -> object:
    found = _ARRAY.fullmatch(name)
    if found is not None:
        return _array(found)
    if name.endswith(")"):
        kind, _, inner = name.removesuffix(")").partition("(")
        items = samples_of(inner)
        return _class(kind)(*items) if kind else items
    return _SCALARS[name] if name in _SCALARS else np.dtype(name).type(0)


def _class(name: str) -> Any:
    module, _, kind = name.rpartition(".")
    return getattr(import_module(module), kind)


def _array(found: re.Match[str]) -> npt.NDArray[Any]:
    dimensions, layout = int(found["dimensions"]), found["layout"]
    array = np.zeros((4,) * dimensions, _dtype(found["dtype"]), order="F" if layout == "F" else "C")
    if layout == "A":
        array = array[(slice(None, None, 2),) * dimensions]
    array.flags.writeable = not found["frozen"]
    return array


def _dtype(text: str) -> np.dtype[Any]:
    """Return a dtype from its short name, or from the form in which records are shown."""
    if not text.startswith("dtype("):
        return np.dtype(text)
    call = cast("ast.Call", ast.parse(text, mode="eval").body)
    options = {each.arg or "": ast.literal_eval(each.value) for each in call.keywords}
    dtype: np.dtype[Any] = np.dtype(*map(ast.literal_eval, call.args), **options)
    return dtype
