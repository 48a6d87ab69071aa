"""What makes a command start quickly."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _Refuse(MetaPathFinder):
    """A finder that says pandas is not installed."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        """Refuse pandas and leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def spare_pandas() -> None:
    """Let pyarrow do without pandas in this process, unless it is loaded already.

    At its first conversion pyarrow imports pandas if it is installed, to recognise its objects. The
    command line never meets any, and the import takes longer than a small program. pyarrow asks
    once and remembers; everyone else can import pandas as before.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa  # noqa: PLC0415 - asked in this very moment

    refusal = _Refuse()
    sys.meta_path.insert(0, refusal)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)
