"""Arrow, loaded when it is first used: small programs need none of it.

    from tidelog.values.arrow import pa

Annotations with `pa` are texts; evaluating them would load it. `pc` has its functions, `pq` Parquet files.
"""

from typing import TYPE_CHECKING

__all__ = ["pa", "pc", "pq"]

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    from importlib import import_module

    class _Later:
        """A module that is imported when something of it is asked for."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> object:
            value = getattr(import_module(self._module), name)
            setattr(self, name, value)
            return value

    pa = _Later("pyarrow")
    pc = _Later("pyarrow.compute")
    pq = _Later("pyarrow.parquet")
