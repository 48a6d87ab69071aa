"""How a session keeps what proofs need: iterations, or heights."""

from collections.abc import Collection
from dataclasses import replace

from tidelog.program.inputs import find_changeable
from tidelog.program.nodes import Program
from tidelog.session.engines import EngineKind

HEIGHT = "height"


def check_provenance(provenance: object) -> None:
    """Raise if a session is asked to keep something that is not a metric."""
    if isinstance(provenance, str):
        from tidelog.explain.proofs.metric import named_metric  # noqa: PLC0415 - only who asks pays

        named_metric(provenance)


def with_provenance(kind: EngineKind, provenance: object, inputs: Collection[str]) -> EngineKind:
    """Return the sort of engine whose iterations are heights, if that is asked for.

    Only the local engine tells iterations; for others heights are found when asked for.
    """
    if provenance != HEIGHT or not kind.counts_heights:
        return kind
    plain = kind.passes

    def passes(program: Program) -> Program:
        from tidelog.plan.heights import count_heights  # noqa: PLC0415 - only who asks pays

        return count_heights(plain(program), find_changeable(program, inputs))

    return replace(kind, passes=passes)
