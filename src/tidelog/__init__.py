"""Tidelog: an incremental Datalog engine for Python.

>>> import tidelog
>>> db = tidelog.open('''
...     .decl edge(x: number, y: number)
...     .decl path(x: number, y: number)
...     path(x, y) :- edge(x, y).
...     path(x, z) :- path(x, y), edge(y, z).
... ''', facts={"edge": [(1, 2), (2, 3)]})
>>> list(db["path"])
[(1, 2), (1, 3), (2, 3)]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.analysis.open_tree import open_tree
    from tidelog.errors import Diagnostic, TidelogError
    from tidelog.explain.blame.answers import Blame, Repair
    from tidelog.explain.guards.guards import Guard, GuardError
    from tidelog.explain.proofs.metric import Metric
    from tidelog.explain.proofs.proof import Proof
    from tidelog.explain.proofs.refutation import Refutation
    from tidelog.explain.proofs.semiring import Semiring
    from tidelog.session import Change, Session, aggregate, functor
    from tidelog.session import open_session as open  # noqa: A004 - `tidelog.open` is how people say it
    from tidelog.session.prepare import read_program
    from tidelog.values import Branch
    from tidelog.views import Answer, Delta, RelationView

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Blame",
    "Branch",
    "Change",
    "Delta",
    "Diagnostic",
    "Guard",
    "GuardError",
    "Metric",
    "Proof",
    "Refutation",
    "RelationView",
    "Repair",
    "Semiring",
    "Session",
    "TidelogError",
    "__version__",
    "aggregate",
    "functor",
    "open",
    "open_tree",
    "read_program",
]

# Where each public name lives. They are imported when first asked for: the stages below load
# Arrow and NumPy, and `tidelog version` should not wait for those.
_HOMES: Final = {
    "Answer": ("tidelog.views", "Answer"),
    "Blame": ("tidelog.explain.blame.answers", "Blame"),
    "Branch": ("tidelog.values", "Branch"),
    "Change": ("tidelog.session", "Change"),
    "Delta": ("tidelog.views", "Delta"),
    "Diagnostic": ("tidelog.errors", "Diagnostic"),
    "Guard": ("tidelog.explain.guards.guards", "Guard"),
    "GuardError": ("tidelog.explain.guards.guards", "GuardError"),
    "Metric": ("tidelog.explain.proofs.metric", "Metric"),
    "Proof": ("tidelog.explain.proofs.proof", "Proof"),
    "Refutation": ("tidelog.explain.proofs.refutation", "Refutation"),
    "RelationView": ("tidelog.views", "RelationView"),
    "Repair": ("tidelog.explain.blame.answers", "Repair"),
    "Semiring": ("tidelog.explain.proofs.semiring", "Semiring"),
    "Session": ("tidelog.session", "Session"),
    "TidelogError": ("tidelog.errors", "TidelogError"),
    "aggregate": ("tidelog.session", "aggregate"),
    "functor": ("tidelog.session", "functor"),
    "open": ("tidelog.session", "open_session"),
    "open_tree": ("tidelog.analysis.open_tree", "open_tree"),
    "read_program": ("tidelog.session.prepare", "read_program"),
}


def __getattr__(name: str) -> object:
    """Return a public name from the stage that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
