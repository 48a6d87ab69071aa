"""Where a stratum runs, and why."""

from collections.abc import Iterator, Sequence

from tidelog.errors import Diagnostic, Severity
from tidelog.program import nodes
from tidelog.program.walk_nodes import walk


def reason_for_driver(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum must run in the driver, or None if partners can run it.

    Only the driver knows the texts of codes and can make new codes; and whatever settles a whole
    iteration at once (choices, lattices, equivalences, subsumption, size limits) needs all facts in one
    place.
    """
    law = program.law_of(stratum)
    if law is not None:
        return law
    with_keys = (name for name in stratum.relations if program.relations[name].keys)
    reasons = (*(f"`{name}` has keys" for name in with_keys), *_reasons(stratum, program))
    return next(iter(reasons), None)


def _reasons(stratum: nodes.Stratum, program: nodes.Program) -> Iterator[str]:
    for node in walk(stratum.rules):
        match node:
            case nodes.Counter():
                yield "a rule counts with autoinc()"
            case nodes.UserApplication():
                yield f"a rule applies the function `{node.name}`"
            case nodes.RecordTerm() | nodes.BranchTerm():
                yield "a rule makes or takes apart records"
            case nodes.Application() if not _is_numeric(node, program):
                yield f"the functor `{node.functor}` needs the texts behind codes"
            case nodes.Aggregate() if node.functor.startswith("@"):
                yield f"a rule folds with the function `{node.functor[1:]}`"
            case nodes.Aggregate() if not node.kind.is_numeric and node.functor != "count":
                yield f"the aggregate `{node.functor}` needs the order of the values behind codes"
            case nodes.Constraint() if node.op not in ("=", "!=") and not node.kind.is_numeric:
                yield f"the constraint `{node.op}` needs the values behind codes"
            case _:
                continue


def _is_numeric(node: nodes.Application, program: nodes.Program) -> bool:
    kinds = [node.kind, program.kind_of(node.type), *(program.kind_of(term.type) for term in node.terms)]
    return all(kind.is_numeric for kind in kinds)


def in_driver(names: Sequence[str], facts: int, reason: str, hint: str) -> Diagnostic:
    """Return the warning that a large stratum runs in the driver."""
    listed = ", ".join(f"`{name}`" for name in names if not name.startswith("_"))
    return Diagnostic(
        code="spark-in-driver",
        message=f"{listed or 'a stratum'} reads {facts:,} facts in the driver, not on workers: {reason}",
        hint=hint,
        severity=Severity.WARNING,
    )
