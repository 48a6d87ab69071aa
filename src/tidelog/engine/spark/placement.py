"""Where a stratum runs, and why."""

from collections.abc import Iterator, Sequence

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.spark.sent_functions import reason_against_sending
from tidelog.errors import Diagnostic, Severity
from tidelog.program import nodes
from tidelog.program.walk_nodes import walk


def reason_against_codes(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum needs more than codes that are divided, or None if it does not.

    It needs the values behind codes, or all facts in one place.
    """
    return reason_for_one_place(stratum, program) or reason_for_values(stratum, program)


def reason_against_workers(
    stratum: nodes.Stratum, program: nodes.Program, functions: UserFunctions
) -> str | None:
    """Return why workers cannot call the functions of a stratum, or None if they can."""
    for name in sorted(functions_of(stratum, program)):
        functor = program.functors.get(name)
        if functor is not None and functor.is_stateful:
            return f"the functor `{name}` is stateful, and its state is here"
        reason = reason_against_sending(name, functions.get(name))
        if reason is not None:
            return reason
    return None


def reason_for_one_place(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why all facts of a stratum must be in one place, or None if they can be divided.

    Whatever settles a whole iteration at once (choices, lattices, equivalences, subsumption, size limits)
    needs that, unless it is divided: see `law_columns` and `equivalences`.
    """
    law = program.law_of(stratum)
    if law is not None:
        return law
    for name in stratum.relations:
        if program.relations[name].keys:
            return f"`{name}` has keys"
    return reason_for_numbering(stratum)


def reason_for_numbering(stratum: nodes.Stratum) -> str | None:
    """Return that a stratum gives numbers one after the other, or None if it does not."""
    is_counting = any(isinstance(node, nodes.Counter) for node in walk(stratum.rules))
    return "a rule counts with autoinc()" if is_counting else None


def reason_for_values(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum needs the values behind codes, or None if it works on codes alone."""
    return next(_reasons(stratum, program), None)


def functions_of(stratum: nodes.Stratum, program: nodes.Program) -> frozenset[str]:
    """Return the names of the functions that a stratum calls."""
    found: set[str] = set()
    for name in stratum.relations:
        for column in program.relations[name].columns:
            if column.is_lattice:
                lattice = program.lattices[column.type]
                joins = (lattice.lub, lattice.glb, lattice.widen, lattice.narrow)
                found.update(join for join in joins if join is not None and join not in nodes.INTRINSIC_JOINS)
    for node in walk((*stratum.rules, *stratum.subsumptions)):
        match node:
            case nodes.UserApplication():
                found.add(node.name)
            case nodes.Aggregate() if node.functor.startswith("@"):
                found.add(node.functor.removeprefix("@"))
            case _:
                continue
    return frozenset(found)


def _reasons(stratum: nodes.Stratum, program: nodes.Program) -> Iterator[str]:
    for name in stratum.relations:
        yield from _reasons_of_law(program.relations[name], program)
    for node in walk((*stratum.rules, *stratum.subsumptions)):
        match node:
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


def _reasons_of_law(relation: nodes.Relation, program: nodes.Program) -> Iterator[str]:
    if relation.choices and not all(program.kind_of(each.type).is_numeric for each in relation.columns):
        yield f"the choice-domain of `{relation.name}` goes by the order of the values behind codes"
    for place in relation.lattice_columns:
        lattice = program.lattices[relation.columns[place].type]
        if lattice.extreme is None or lattice.widen is not None:
            yield f"functions join the values of `{relation.name}`"


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
