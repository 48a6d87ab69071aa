"""clingo, the answer-set solver: its grounder computes a plain program alone."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.rules import PlainAtom, PlainProgram, PlainRule, is_variable


def can_run(program: PlainProgram) -> bool:
    """Return True: plain programs are grounded alone. Numbers must fit 32 bits, as those of our data do."""
    return bool(program.rules)


def run(program: PlainProgram, facts: Path, jobs: int) -> Callable[[], dict[str, int]]:  # noqa: ARG001 - one thread
    """Evaluate, and return how to count."""
    import clingo  # noqa: PLC0415 - only where it is measured

    control = clingo.Control()
    for relation, filename in program.inputs.items():
        control.add("base", [], _facts(relation, program.columns[relation], facts / filename))
    control.add("base", [], "\n".join(map(_rule, program.rules)))
    control.ground([("base", [])])

    def count() -> dict[str, int]:
        atoms = control.symbolic_atoms
        return {
            name: sum(1 for _ in atoms.by_signature(f"r_{name}", len(program.columns[name])))
            for name in program.printed
        }

    return count


def _facts(relation: str, kinds: tuple[str, ...], path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if "symbol" not in kinds:
        return "".join(f"r_{relation}({line}).\n" for line in text.replace("\t", ",").splitlines())
    lines: list[str] = []
    for line in text.replace("\\", "\\\\").replace('"', '\\"').split("\n")[:-1]:
        values = zip(line.split("\t"), kinds, strict=True)
        lines.append(", ".join(value if kind == "number" else f'"{value}"' for value, kind in values))
    return "".join(f"r_{relation}({line}).\n" for line in lines)


def _rule(rule: PlainRule) -> str:
    body = [_atom(atom) for atom in rule.body]
    body.extend(f"{_term(left)} != {_term(right)}" for left, right in rule.unequal)
    return f"{_atom(rule.head)} :- {', '.join(body)}."


def _atom(atom: PlainAtom) -> str:
    return f"{'not ' if atom.is_negated else ''}r_{atom.relation}({', '.join(map(_term, atom.terms))})"


def _term(term: str) -> str:
    return f"V_{term}" if is_variable(term) else term
