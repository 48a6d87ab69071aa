"""Nemo, the rule engine written in Rust (the package is `nemo-python`)."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.rules import PlainAtom, PlainProgram, PlainRule, is_variable


def can_run(program: PlainProgram) -> bool:
    """Return True: plain programs are what Nemo is for."""
    return bool(program.rules)


def run(program: PlainProgram, facts: Path, jobs: int) -> Callable[[], dict[str, int]]:  # noqa: ARG001 - one thread
    """Evaluate, and return how to count."""
    import nmo_python  # noqa: PLC0415 - only where it is measured

    engine = nmo_python.NemoEngine(nmo_python.load_string(_text(program, facts)))
    engine.reason()
    return lambda: {name: sum(1 for _ in engine.result(name)) for name in program.printed}


def _text(program: PlainProgram, facts: Path) -> str:
    kinds = {"number": "int", "symbol": "string"}
    lines: list[str] = []
    for relation, filename in program.inputs.items():
        if (facts / filename).stat().st_size == 0:
            continue  # an empty file is no table to Nemo
        columns = ", ".join(kinds[kind] for kind in program.columns[relation])
        lines.append(f'@import {relation} :- tsv{{resource = "{facts / filename}", format = ({columns})}} .')
    lines.extend(_rule(rule) for rule in program.rules)
    lines.extend(f"@output {relation} ." for relation in program.printed)
    return "\n".join(lines)


def _rule(rule: PlainRule) -> str:
    body = [_atom(atom) for atom in rule.body]
    body.extend(f"{_term(left)} != {_term(right)}" for left, right in rule.unequal)
    return f"{_atom(rule.head)} :- {', '.join(body)} ."


def _atom(atom: PlainAtom) -> str:
    return f"{'~' if atom.is_negated else ''}{atom.relation}({', '.join(map(_term, atom.terms))})"


def _term(term: str) -> str:
    return f"?{term}" if is_variable(term) else term
