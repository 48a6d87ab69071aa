"""Where a stratum runs, and why there."""

from collections.abc import Iterator

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.term_source import AGGREGATES, is_known
from tidelog.engine.spark.placement import reason_against_codes
from tidelog.plan import operators as ops
from tidelog.program import nodes
from tidelog.program.walk_nodes import walk
from tidelog.values import Kind


@dataclass(frozen=True, slots=True)
class DevicePlacement:
    """Where a stratum ran, `device` or `host`, and why it did not run on the device."""

    relations: tuple[str, ...]
    where: str
    reason: str = ""


def reason_for_host(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why the local engine must run a stratum, or None if kernels over codes can."""
    if not any(rule.body for rule in stratum.rules):
        return "no rule derives anything"
    return reason_against_codes(stratum, program) or next(_reasons(stratum), None)


def _reasons(stratum: nodes.Stratum) -> Iterator[str]:
    for node in walk(stratum.rules):
        match node:
            case nodes.Application() if not is_known(node):
                yield f"the functor `{node.functor}` is not available on the device"
            case nodes.Aggregate() if (node.functor, node.kind) not in AGGREGATES:
                yield f"the aggregate `{node.functor}` of {node.kind.value}s is rounded once, on the host"
            case nodes.Aggregate() if not node.outer:
                yield "an aggregate over a whole relation has no groups to share among threads"
            case nodes.Generator() if node.kind is Kind.FLOAT:
                yield "a range of floats is made on the host"
            case _:
                continue


def reason_for_plan(plan: ops.StratumPlan) -> str | None:
    """Return why kernels cannot run a plan, None if they can."""
    if any(isinstance(operator, ops.Leapfrog) for operator in plan.operators()):
        return "a rule joins all its atoms at once (leapfrog)"
    return None
