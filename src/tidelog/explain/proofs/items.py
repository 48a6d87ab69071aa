"""The lines under a node of a proof, in the order of the rule's body."""

from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.derivation import Absence, Derivation, Premise
from tidelog.explain.proofs.steps import Equivalence, Input, LatticeJoin, LatticeMove
from tidelog.program.suggest import counted
from tidelog.values import Value
from tidelog.views.fact_text import write_value

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof


@dataclass(frozen=True, slots=True)
class Item:
    """A line: a premise with its proof, or a leaf (a constraint, a negated atom, an aggregate).

    An aggregate has the facts of its group below it.
    """

    text: str
    proof: "Proof | None" = None
    note: str = ""
    below: "tuple[Item, ...]" = ()


def items_of(proof: "Proof") -> tuple[Item, ...]:
    """Return what stands under a node."""
    step = proof.step
    nodes = {premise.atom: premise for premise in proof.premises}
    match step:
        case Input():
            return ()
        case Equivalence():
            return tuple(
                Item(str(pair), nodes[pair], "turned" if is_turned else "")
                for pair, is_turned in zip(step.pairs, step.turned, strict=True)
            )
        case LatticeJoin():
            return tuple(Item(str(part), nodes[part]) for part in step.parts)
        case LatticeMove():
            before, *parts = proof.premises
            return (Item(str(step.before), before, "before"), *(Item(str(x.atom), x) for x in parts))
        case Derivation():
            found = []
            for part in step.parts:
                match part:
                    case Premise():
                        found.append(Item(str(part), nodes[part.atom]))
                    case Absence():
                        found.append(Item(str(part), None, "no such fact"))
                    case _:
                        found.append(Item(str(part)))
            for aggregation in step.aggregations:
                group = tuple(Item(str(atom), nodes[atom]) for atom in aggregation.group)
                value = write_value(aggregation.value)
                found.append(
                    Item(f"{aggregation.text} is {value}", None, f"over {counted(len(group), 'fact')}", group)
                )
            return tuple(found)


def note_of(proof: "Proof") -> str:
    """Return how a node is proved, in a few words."""
    match proof.step:
        case Input():
            return "input"
        case Derivation():
            span = proof.step.rule.span
            name = proof.step.rule.name if proof.step.parts else "written"
            return f"{name}, {span.source.name}:{span.line}"
        case Equivalence():
            start, goal = proof.fact
            return "equivalence: occurs in a pair" if start == goal else "equivalence"
        case LatticeJoin():
            return "least upper bound"
        case LatticeMove(kind="join"):
            return "least upper bound with the value before"
        case LatticeMove() as move:
            return f"{move.kind}: {', '.join(map(str, move.applied)) or 'what rules make of it'}"


def is_leaf_relation(proof: "Proof") -> bool:
    """Say whether nothing but the inputs can prove facts of the relation."""
    return not proof.explorer.prover.book.rules_of(proof.relation)


def written_bindings(bindings: dict[str, Value]) -> str:
    """Return bindings as text: `x = 1, y = "a"`."""
    return ", ".join(f"{name} = {write_value(value)}" for name, value in bindings.items())
