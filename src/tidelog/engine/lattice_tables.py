"""Functions that look values up in relations, for operators of lattices; see `program.lattice_tables`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tidelog.dataclass import dataclass
from tidelog.engine.protocol import Settings, SilentObserver, UserFunctions
from tidelog.engine.reference import ReferenceEngine
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.lattice_tables import below, table_functor, tables_of
from tidelog.program.nodes import Program
from tidelog.values import Codec, Value
from tidelog.values.functors import canonical_value


@dataclass(frozen=True)
class TableFunction:
    """A function of two values that is known for a few of them; of a value and itself it is that value."""

    relation: str
    values: Mapping[tuple[Value, Value], Value]

    def __call__(self, left: Value, right: Value) -> Value:
        """Return the value for two others; raise a diagnostic if the relation has none."""
        found = self.values.get((left, right))
        if found is not None:
            return found
        if left == right:
            return left
        raise TidelogError(
            [
                Diagnostic(
                    code="missing-join",
                    message=f"`{self.relation}[{left!r}, {right!r}]` has no value, but a lattice needs it",
                    hint=f"add a fact or a rule for it to `{self.relation}`",
                )
            ]
        )


def with_tables(program: Program, functions: UserFunctions) -> UserFunctions:
    """Return the functions of a program with those that look values up for its lattices.

    Their relations are evaluated by the reference engine, which raises if one has two values for a key.
    """
    return {**functions, **dict(_read_tables(program, functions))}


def _read_tables(program: Program, functions: UserFunctions) -> Iterator[tuple[str, TableFunction]]:
    wanted = {name for lattice in program.lattices.values() for name in tables_of(lattice).values()}
    if not wanted:
        return
    needed = below(wanted, program.strata)
    part = replace(
        program,
        relations={name: each for name, each in program.relations.items() if name in needed},
        strata=tuple(each for each in program.strata if not needed.isdisjoint(each.relations)),
        directives=(),
    )
    codec = Codec(program.types)
    engine = ReferenceEngine(part, codec, Settings(), functions)
    engine.evaluate(SilentObserver())
    for name in sorted(wanted):
        columns = [
            map(canonical_value, codec.decode_column(codes, column.type))
            for codes, column in zip(engine.facts(name), program.relations[name].columns, strict=True)
        ]
        table = {(left, right): value for left, right, value in zip(*columns, strict=True)}
        yield table_functor(name), TableFunction(name, table)
