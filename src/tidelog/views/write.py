"""Outputs of an evaluated program."""

from dataclasses import replace
from pathlib import Path
from typing import TextIO

from tidelog import io
from tidelog.errors import Diagnostic
from tidelog.views.snapshot import Snapshot


def write_outputs(
    snapshot: Snapshot, directory: Path, *, floats: str = "souffle", warnings: list[Diagnostic] | None = None
) -> None:
    """Write every `.output` relation as its directive says; all are published or none.

    The directory `-` is standard output. `floats` is how a directive without `floats` writes them. Lines
    that cannot be read back are an error, or are written and added to `warnings`.
    """
    with io.Staging() as staging:
        for directive in snapshot.program.directives:
            if directive.kind != "output":
                continue
            relation = snapshot.program.relations[directive.relation]
            holds = relation.arity > 0 or snapshot.engine.size(relation.name) > 0
            columns = snapshot.engine.facts(relation.name) if holds else None
            changed = replace(directive, parameters={"floats": floats, **directive.parameters})
            io.write_relation(
                relation, changed, columns, snapshot.codec, directory, staging=staging, warnings=warnings
            )


def print_sizes(snapshot: Snapshot, target: TextIO) -> None:
    """Print one line for every `.printsize`: the relation, a tab, its number of facts."""
    for directive in snapshot.program.directives:
        if directive.kind == "printsize":
            target.write(f"{directive.relation}\t{snapshot.engine.size(directive.relation)}\n")
