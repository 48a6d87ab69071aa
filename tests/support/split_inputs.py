"""Random programs in which no relation is input and derived at once, as `.proofs` asks for."""

import re
from collections.abc import Callable

from support.strategies import RandomEpoch, RandomProgram
from tidelog.values import Fact


def split_inputs(program: RandomProgram) -> tuple[RandomProgram, Callable[[RandomEpoch], RandomEpoch]]:
    """Return the program with relations of their own for the input facts of derived ones, and their epochs.

    .input p                .decl p_in(c0: number)
                            .input p_in
                            p(c0) :- p_in(c0).
    """
    names = {name: f"{name}_in" for name in program.inputs if name.startswith("p")}
    lines = []
    for line in program.text.splitlines():
        declared = re.match(r"\.decl (\w+)\((.*?)\)", line)
        if line.removeprefix(".input ") not in names or not line.startswith(".input "):
            lines.append(line)
        if declared and declared[1] in names:
            name, columns = declared[1], declared[2].replace("<>", "")
            terms = ", ".join(column.split(":")[0] for column in columns.split(", ")) if columns else ""
            lines.append(f".decl {names[name]}({columns})\n.input {names[name]}")
            lines.append(f"{name}({terms}) :- {names[name]}({terms}).")

    def renamed(facts: dict[str, tuple[Fact, ...]]) -> dict[str, tuple[Fact, ...]]:
        return {names.get(name, name): rows for name, rows in facts.items()}

    changed = RandomProgram("\n".join(lines), renamed(program.inputs), renamed(program.input_types))
    return changed, lambda epoch: RandomEpoch(renamed(epoch.inserts), renamed(epoch.deletes))
