"""Where a stratum runs, and why."""

from collections.abc import Iterator

from tidelog.program.nodes import (
    Aggregate,
    Application,
    BranchTerm,
    Constraint,
    Counter,
    Program,
    RecordTerm,
    Rule,
    Stratum,
    UserApplication,
)
from tidelog.program.walk_nodes import walk


def reason_for_driver(stratum: Stratum, program: Program) -> str | None:
    """Return why a stratum has to run in the driver, None if partners can run it.

    The driver alone knows the texts behind codes and can make new ones; and what settles a whole
    iteration at once (choices, lattices, equivalences, subsumption, size limits) needs all facts in one
    place.
    """
    for name in stratum.relations:
        relation = program.relations[name]
        if relation.is_equivalence:
            return f"`{name}` is an equivalence relation"
        if relation.choices:
            return f"`{name}` has a choice-domain"
        if any(column.is_lattice for column in relation.columns):
            return f"`{name}` has a lattice column"
        if relation.size_limit is not None:
            return f"`{name}` has a size limit"
        if relation.keys:
            return f"`{name}` has keys"
    if stratum.subsumptions:
        return f"facts of `{stratum.subsumptions[0].less.relation}` subsume one another"
    return next((reason for rule in stratum.rules for reason in _reasons(rule, program)), None)


def _reasons(rule: Rule, program: Program) -> Iterator[str]:
    for node in walk((rule,)):
        match node:
            case Counter():
                yield "a rule counts with autoinc()"
            case UserApplication():
                yield f"a rule applies the Python function `{node.name}`"
            case RecordTerm() | BranchTerm():
                yield "a rule makes or takes apart records"
            case Application() if not _is_numeric(node, program):
                yield f"the functor `{node.functor}` needs the texts behind codes"
            case Aggregate() if node.functor.startswith("@"):
                yield f"a rule folds with the Python function `{node.functor[1:]}`"
            case Aggregate() if not node.kind.is_numeric and node.functor != "count":
                yield f"the aggregate `{node.functor}` needs the order of the values behind codes"
            case Constraint() if node.op not in ("=", "!=") and not node.kind.is_numeric:
                yield f"the constraint `{node.op}` needs the values behind codes"
            case _:
                continue


def _is_numeric(node: Application, program: Program) -> bool:
    kinds = [node.kind, program.kind_of(node.type), *(program.kind_of(term.type) for term in node.terms)]
    return all(kind.is_numeric for kind in kinds)
