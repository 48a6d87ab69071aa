"""Outputs of an evaluated program."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tidelog import io
from tidelog.errors import Diagnostic
from tidelog.program.nodes import Relation
from tidelog.views.snapshot import Snapshot

if TYPE_CHECKING:
    from tidelog.engine.protocol import Codes
    from tidelog.io.write import SortedFacts
    from tidelog.values import Codec


def write_outputs(
    snapshot: Snapshot,
    directory: Path,
    *,
    floats: str = "souffle",
    warnings: list[Diagnostic] | None = None,
    in_parts: bool = False,
) -> None:
    """Write every `.output` relation as its directive says; all are published or none.

    The directory `-` is standard output. `floats` is how a directive without `floats` writes them. Lines
    that cannot be read back are an error, or are written and added to `warnings`. With `in_parts` an output
    is a folder of files, which workers write if they have the facts.
    """
    with io.Staging() as staging:
        for directive in snapshot.program.directives:
            if directive.kind != "output":
                continue
            relation = snapshot.program.relations[directive.relation]
            changed = replace(directive, parameters={"floats": floats, **directive.parameters})
            if in_parts:
                from tidelog.views.write_parts import write_parts  # noqa: PLC0415 - only with Spark

                if write_parts(snapshot, relation, changed, directory, staging, warnings):
                    continue
            columns, codec = facts_to_write(snapshot, relation)
            io.write_relation(
                relation, changed, columns, codec, directory, staging=staging, warnings=warnings
            )


def facts_to_write(
    snapshot: Snapshot, relation: Relation
) -> "tuple[list[Codes] | SortedFacts | None, Codec]":
    """Return the facts of a relation, and the codec that knows them; None if a flag does not hold.

    Many facts that workers have are read some rows at a time, after they have sorted them.
    """
    engine, codec = snapshot.engine, snapshot.codec
    if not relation.arity:
        return ([] if engine.size(relation.name) else None), codec
    if hasattr(engine, "code_frame"):
        from tidelog.views.write_parts import sorted_facts  # noqa: PLC0415 - only with Spark

        found = sorted_facts(snapshot, relation)
        if found is not None:
            return found
    return engine.facts(relation.name), codec


def print_sizes(snapshot: Snapshot, target: TextIO) -> None:
    """Print one line for every `.printsize`: the relation, a tab, its number of facts."""
    for directive in snapshot.program.directives:
        if directive.kind == "printsize":
            target.write(f"{directive.relation}\t{snapshot.engine.size(directive.relation)}\n")
