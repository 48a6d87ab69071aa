"""Logica, which compiles rules to SQL; DuckDB runs the SQL.

Logica repeats a recursive query until a signal stops it, so the program says itself when it is settled:
when two iterations in a row have the same number of facts.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable
from itertools import count as count_from
from pathlib import Path

from benchmarks.peers.rules import PlainAtom, PlainProgram, PlainRule, is_variable


def can_run(program: PlainProgram) -> bool:
    """Return whether the derived relations are one recursive group of positive rules."""
    derived = set(program.derived)
    return (
        derived == set(program.printed)
        and not derived & set(program.inputs)
        and not any(atom.is_negated for rule in program.rules for atom in rule.body)
    )


def run(program: PlainProgram, facts: Path, jobs: int) -> Callable[[], dict[str, int]]:  # noqa: ARG001 - DuckDB decides
    """Evaluate, and return how to count."""
    from logica.tools import run_in_terminal  # noqa: PLC0415 - only where it is measured

    with tempfile.NamedTemporaryFile("w", suffix=".l", encoding="utf-8") as file:
        file.write(_text(program, facts))
        file.flush()
        with contextlib.redirect_stdout(io.StringIO()):
            header, rows = run_in_terminal.Run(
                file.name, "Answer", output_format="header_rows", display_mode="silent"
            )
    sizes = dict(zip(header, rows[0], strict=True))
    return lambda: {name: int(sizes[f"n_{name}"]) for name in program.printed}


def _text(program: PlainProgram, facts: Path) -> str:
    derived = program.derived
    lines = ['@Engine("duckdb");']
    for relation, filename in program.inputs.items():
        width = len(program.columns[relation])
        names = ", ".join(f"'c{i}'" for i in range(width))
        columns = ", ".join(f"c{i}: x{i}" for i in range(width))
        head = ", ".join(f"x{i}" for i in range(width))
        table = f"(read_csv('{facts / filename}', delim='\t', header=false, names=[{names}]))"
        lines.append(f"{_name(relation)}({head}) :- `{table}`({columns});\n@Ground({_name(relation)});")
    lines.append(f"@Recursive({_name(derived[0])}, -1, stop: Settled);")
    lines.extend(_rule(rule) for rule in program.rules)
    for relation in derived:
        head = ", ".join(f"x{i}" for i in range(len(program.columns[relation])))
        lines.append(f"{_name(relation)}Facts() += 1 :- {_name(relation)}({head});")
    # The signal has to take part in the recursion that it stops.
    first = ", ".join(f"x{i}" for i in range(len(program.columns[derived[0]])))
    lines.append(f"{_name(derived[0])}({first}) distinct :- {_name(derived[0])}({first}), ~Settled();")
    total = " + ".join(f"{_name(relation)}Facts()" for relation in derived)
    lines.append(f"AllFacts() Max= n :- n == {total};")
    lines.append("FactsBefore() Max= n :- n == AllFacts();")
    lines.append("Settled() distinct :- FactsBefore() == AllFacts();")
    sizes = ", ".join(f"n_{relation}: {_name(relation)}Facts()" for relation in derived)
    lines.append(f"Answer({sizes});")
    return "\n".join(lines)


def _rule(rule: PlainRule) -> str:
    fresh = count_from()
    body = [_atom(atom, fresh) for atom in rule.body]
    body.extend(f"{left} != {right}" for left, right in rule.unequal)
    return f"{_atom(rule.head, fresh)} distinct :- {', '.join(body)};"


def _atom(atom: PlainAtom, fresh: "count_from[int]") -> str:
    terms = (term if is_variable(term) or term != "_" else f"any{next(fresh)}" for term in atom.terms)
    return f"{_name(atom.relation)}({', '.join(terms)})"


def _name(relation: str) -> str:
    return "R" + relation[:1].upper() + relation[1:]
