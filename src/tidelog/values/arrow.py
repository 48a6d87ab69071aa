"""Arrow, loaded when it is first used: small programs need none of it.

    from tidelog.values.arrow import pa

Annotations with `pa` are texts; evaluating them would load it.
"""

from typing import TYPE_CHECKING

__all__ = ["pa"]

if TYPE_CHECKING:
    import pyarrow as pa
else:
    from importlib import import_module

    class _Arrow:
        """The module `pyarrow`."""

        def __getattr__(self, name: str) -> object:
            value = getattr(import_module("pyarrow"), name)
            setattr(self, name, value)
            return value

    pa = _Arrow()
