"""clingo, the answer-set solver: its grounder computes a plain program alone."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.rules import PlainAtom, PlainProgram, PlainRule, is_variable


def can_run(program: PlainProgram) -> bool:
    """Return whether all columns are numbers that fit clingo's 32 bits, as those of our data do."""
    return all(kind == "number" for kinds in program.columns.values() for kind in kinds)


def run(program: PlainProgram, facts: Path, jobs: int) -> Callable[[], dict[str, int]]:  # noqa: ARG001 - one thread
    """Evaluate, and return how to count."""
    import clingo  # noqa: PLC0415 - only where it is measured

    control = clingo.Control()
    for relation, filename in program.inputs.items():
        lines = (facts / filename).read_text(encoding="utf-8").replace("\t", ",").splitlines()
        control.add("base", [], "".join(f"r_{relation}({line}).\n" for line in lines))
    control.add("base", [], "\n".join(map(_rule, program.rules)))
    control.ground([("base", [])])

    def count() -> dict[str, int]:
        atoms = control.symbolic_atoms
        return {
            name: sum(1 for _ in atoms.by_signature(f"r_{name}", len(program.columns[name])))
            for name in program.printed
        }

    return count


def _rule(rule: PlainRule) -> str:
    body = [_atom(atom) for atom in rule.body]
    body.extend(f"{_term(left)} != {_term(right)}" for left, right in rule.unequal)
    return f"{_atom(rule.head)} :- {', '.join(body)}."


def _atom(atom: PlainAtom) -> str:
    return f"{'not ' if atom.is_negated else ''}r_{atom.relation}({', '.join(map(_term, atom.terms))})"


def _term(term: str) -> str:
    return f"V_{term}" if is_variable(term) else term
