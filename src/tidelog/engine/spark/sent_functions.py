"""Python functions of the user, sent to workers with a job's code."""

import sys
import sysconfig
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

from tidelog.engine.libraries import LibraryFunctor
from tidelog.engine.protocol import UserFunctions


def pack_functions(functions: UserFunctions) -> bytes:
    """Return functions as bytes; raises what cloudpickle raises if one cannot be sent.

    Modules that are not installed, such as those beside a script, need not be where workers are: their
    functions are sent as code, those of installed modules by name.
    """
    if not functions:
        return b""
    cloudpickle = _cloudpickle()
    with ExitStack() as stack:
        for module in {id(m): m for m in map(_module_beside, functions.values()) if m is not None}.values():
            if module.__name__ not in cloudpickle.list_registry_pickle_by_value():
                cloudpickle.register_pickle_by_value(module)
                stack.callback(cloudpickle.unregister_pickle_by_value, module)
        return bytes(cloudpickle.dumps(dict(functions)))


def unpack_functions(content: bytes) -> UserFunctions:
    """Return functions that the driver packed; called in the worker."""
    if not content:
        return {}
    # From our own driver, over Spark's channels.
    found: UserFunctions = _cloudpickle().loads(content)
    return found


def _cloudpickle() -> Any:
    from pyspark import cloudpickle  # noqa: PLC0415 - Spark is loaded when it is used

    return cloudpickle


def reason_against_sending(name: str, function: object) -> str | None:
    """Return why workers cannot call a function, or None if they can."""
    if isinstance(function, LibraryFunctor):
        return f"the function `{name}` is in a C library of the driver's machine"
    try:
        pack_functions({name: function})  # type: ignore[dict-item]
    except Exception as error:  # noqa: BLE001 - whatever an object raises when it is pickled
        return f"the function `{name}` cannot be sent to workers: {error}"
    return None


def _module_beside(function: object) -> ModuleType | None:
    """Return the module of a function if it is not installed."""
    module = sys.modules.get(str(getattr(function, "__module__", None)))
    file = getattr(module, "__file__", None)
    if module is None or file is None or module.__name__ == "__main__":
        return None
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib")}
    own = Path(__file__).resolve().parents[2]
    place = Path(file).resolve()
    return None if any(place.is_relative_to(each) for each in (*installed, own)) else module
