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
    from tidelog.engine.epoch import StratumReport
    from tidelog.engine.protocol import Observer
    from tidelog.engine.recorder import SessionStatistics
    from tidelog.errors import Diagnostic, TidelogError
    from tidelog.explain.blame.answers import Blame, InputChange, Repair, Violation
    from tidelog.explain.guards.guards import Guard, GuardError
    from tidelog.explain.proofs.atom import GroundAtom
    from tidelog.explain.proofs.check import CheckedProof
    from tidelog.explain.proofs.derivation import Absence, Aggregation, Derivation
    from tidelog.explain.proofs.guided import GuidedRefutation
    from tidelog.explain.proofs.metric import Metric
    from tidelog.explain.proofs.proof import Proof
    from tidelog.explain.proofs.refutation import NearMiss, Refutation
    from tidelog.explain.proofs.rules import QuotedRule
    from tidelog.explain.proofs.semiring import Semiring
    from tidelog.options import OpenOptions
    from tidelog.profile.profile import Profile
    from tidelog.program.nodes import Program
    from tidelog.program.text import WrittenRule
    from tidelog.session import Change, Session, aggregate, functor
    from tidelog.session import open_session as open  # noqa: A004 - `tidelog.open` is how people say it
    from tidelog.session.demand import Demand
    from tidelog.session.epoch_view import EpochView
    from tidelog.session.prepare import read_program
    from tidelog.session.ranges import Ranges
    from tidelog.session.subscriptions import DeltaStream, Subscription
    from tidelog.session.transaction import Transaction
    from tidelog.values import Branch
    from tidelog.views import Answer, Delta, FactSet, FixedFacts, RelationDelta, RelationView
    from tidelog.views.delta_between import DeltaBetween

__version__ = "0.1.0"

__all__ = [
    "Absence",
    "Aggregation",
    "Answer",
    "Blame",
    "Branch",
    "Change",
    "CheckedProof",
    "Delta",
    "DeltaBetween",
    "DeltaStream",
    "Demand",
    "Derivation",
    "Diagnostic",
    "EpochView",
    "FactSet",
    "FixedFacts",
    "GroundAtom",
    "Guard",
    "GuardError",
    "GuidedRefutation",
    "InputChange",
    "Metric",
    "NearMiss",
    "Observer",
    "OpenOptions",
    "Profile",
    "Program",
    "Proof",
    "QuotedRule",
    "Ranges",
    "Refutation",
    "RelationDelta",
    "RelationView",
    "Repair",
    "Semiring",
    "Session",
    "SessionStatistics",
    "StratumReport",
    "Subscription",
    "TidelogError",
    "Transaction",
    "Violation",
    "WrittenRule",
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
    "Absence": ("tidelog.explain.proofs.derivation", "Absence"),
    "Aggregation": ("tidelog.explain.proofs.derivation", "Aggregation"),
    "Answer": ("tidelog.views", "Answer"),
    "Blame": ("tidelog.explain.blame.answers", "Blame"),
    "Branch": ("tidelog.values", "Branch"),
    "Change": ("tidelog.session", "Change"),
    "CheckedProof": ("tidelog.explain.proofs.check", "CheckedProof"),
    "Delta": ("tidelog.views", "Delta"),
    "DeltaBetween": ("tidelog.views.delta_between", "DeltaBetween"),
    "DeltaStream": ("tidelog.session.subscriptions", "DeltaStream"),
    "Demand": ("tidelog.session.demand", "Demand"),
    "Derivation": ("tidelog.explain.proofs.derivation", "Derivation"),
    "Diagnostic": ("tidelog.errors", "Diagnostic"),
    "EpochView": ("tidelog.session.epoch_view", "EpochView"),
    "FactSet": ("tidelog.views", "FactSet"),
    "FixedFacts": ("tidelog.views", "FixedFacts"),
    "GroundAtom": ("tidelog.explain.proofs.atom", "GroundAtom"),
    "Guard": ("tidelog.explain.guards.guards", "Guard"),
    "GuardError": ("tidelog.explain.guards.guards", "GuardError"),
    "GuidedRefutation": ("tidelog.explain.proofs.guided", "GuidedRefutation"),
    "InputChange": ("tidelog.explain.blame.answers", "InputChange"),
    "Metric": ("tidelog.explain.proofs.metric", "Metric"),
    "NearMiss": ("tidelog.explain.proofs.refutation", "NearMiss"),
    "Observer": ("tidelog.engine.protocol", "Observer"),
    "OpenOptions": ("tidelog.options", "OpenOptions"),
    "Profile": ("tidelog.profile.profile", "Profile"),
    "Program": ("tidelog.program.nodes", "Program"),
    "Proof": ("tidelog.explain.proofs.proof", "Proof"),
    "QuotedRule": ("tidelog.explain.proofs.rules", "QuotedRule"),
    "Refutation": ("tidelog.explain.proofs.refutation", "Refutation"),
    "RelationDelta": ("tidelog.views", "RelationDelta"),
    "RelationView": ("tidelog.views", "RelationView"),
    "Repair": ("tidelog.explain.blame.answers", "Repair"),
    "Semiring": ("tidelog.explain.proofs.semiring", "Semiring"),
    "Session": ("tidelog.session", "Session"),
    "SessionStatistics": ("tidelog.engine.recorder", "SessionStatistics"),
    "StratumReport": ("tidelog.engine.epoch", "StratumReport"),
    "Ranges": ("tidelog.session.ranges", "Ranges"),
    "Subscription": ("tidelog.session.subscriptions", "Subscription"),
    "TidelogError": ("tidelog.errors", "TidelogError"),
    "Transaction": ("tidelog.session.transaction", "Transaction"),
    "Violation": ("tidelog.explain.blame.answers", "Violation"),
    "WrittenRule": ("tidelog.program.text", "WrittenRule"),
    "aggregate": ("tidelog.session", "aggregate"),
    "functor": ("tidelog.session", "functor"),
    "open": ("tidelog.session", "open_session"),
    "open_tree": ("tidelog.analysis.open_tree", "open_tree"),
    "read_program": ("tidelog.session.prepare", "read_program"),
}


def load_ipython_extension(shell: object) -> None:
    """Register the notebook magics: `%load_ext tidelog`, then `%%tidelog`."""
    import_module("tidelog.notebook.magic").register(shell)


def __getattr__(name: str) -> object:
    """Return a public name from the stage that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
