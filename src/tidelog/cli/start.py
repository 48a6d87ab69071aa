"""What makes a command start quickly."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType


class _Refuse:
    """A finder that says pandas is not installed."""

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None) -> None:
        """Refuse pandas and leave everything else to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _ArrowLoader(SourceFileLoader):
    """Loads pyarrow and lets it look for pandas at once, and in vain."""

    def exec_module(self, module: ModuleType) -> None:
        """Load it."""
        super().exec_module(module)
        refusal = _Refuse()
        sys.meta_path.insert(0, refusal)
        try:
            module.array([0])
        finally:
            sys.meta_path.remove(refusal)


class _ArrowFinder:
    """Finds pyarrow for the loader above."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find pyarrow and leave everything else to the other finders."""
        if name != "pyarrow" or "pandas" in sys.modules:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _ArrowLoader(found.loader.name, found.loader.path)
        return found


def spare_pandas() -> None:
    """Let pyarrow do without pandas in this process, unless one of them is loaded already.

    At its first conversion pyarrow imports pandas if it is installed, to recognise its objects. The
    command line never meets any, and the import takes longer than a small program. pyarrow asks
    once and remembers; everyone else can import pandas as before.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _ArrowFinder())
