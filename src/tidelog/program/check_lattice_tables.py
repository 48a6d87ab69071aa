"""Relations in which lattices look values up are complete before anything else runs."""

from collections.abc import Iterator

from tidelog.errors import Diagnostic
from tidelog.program.draft import Draft
from tidelog.program.lattice_tables import below, tables_of


def check_lattice_tables(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each operator whose relation depends on input facts or on the lattice itself."""
    inputs = {each.relation for each in draft.declarations.directives if each.kind == "input"}
    for name, lattice in draft.lattices.items():
        for operator, relation in tables_of(lattice).items():
            span = draft.declarations.lattices[name].span
            if relation not in draft.relations:
                yield Diagnostic(
                    code="bad-lattice",
                    message=f"`{operator}` of `{name}` looks values up in `{relation}`, which is inlined",
                    span=span,
                    hint=f"declare `{relation}` without `inline`",
                )
                continue
            for other in sorted(below([relation], draft.strata)):
                columns = draft.relations[other].columns
                is_circle = any(each.is_lattice and tables_of(draft.lattices[each.type]) for each in columns)
                what = "has values of such a lattice" if is_circle else "has input facts"
                if is_circle or other in inputs:
                    yield Diagnostic(
                        code="bad-lattice",
                        message=f"`{operator}` of `{name}` looks values up in `{relation}`, which depends on"
                        f" `{other}`, and that {what}",
                        span=span,
                        hint=f"define `{relation}` by facts and rules of the program alone",
                    )
