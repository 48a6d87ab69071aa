"""Proofs node by node: what the page shows of a fact, its rule and what the rule rests on."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Absence, Aggregation, Derivation, Premise
from tidelog.explain.proofs.proof import Proof
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.steps import Equivalence, Input, LatticeMove
from tidelog.views.fact_text import write_value
from tidelog.web.chains import ProofChain
from tidelog.web.replies import mistake
from tidelog.web.schema import NodeReply, QuotedRuleReply
from tidelog.web.settings import Limits
from tidelog.web.sources import plain_span

# One proof or all derivations, of a fact, in an epoch.
ProofKey = tuple[str, str, int]
# The numbers of the premises that lead from the root to a node.
Path = tuple[int, ...]

_KEPT: Final = 64


class Proofs:
    """The proofs asked for lately, so that opening a node goes on from there.

    A node is named by the fact at the root and the numbers of the premises that lead to it.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[ProofKey, Sequence[Proof]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: ProofKey, make: Callable[[], Sequence[Proof]]) -> Sequence[Proof]:
        """Return the proofs of a key; several threads may make them at once, and one is kept.

        Those of other epochs cannot be opened any further and are forgotten.
        """
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = make()
            with self._lock:
                self._kept[key] = found
                for old in [each for each in self._kept if each[2] != key[2]]:
                    del self._kept[old]
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return found


def find_node(root: Proof, path: Sequence[object]) -> Proof:
    """Return the node at the end of a path of premises."""
    node = root
    for place in path:
        if not isinstance(place, int) or not 0 <= place < len(node.premises):
            raise mistake("bad-request", "the proof has no such node", "ask for the fact again")
        node = node.premises[place]
    return node


class NodeWriter:
    """Writes nodes as JSON, down to a depth and no more than `proof_nodes` of them.

    Long chains of steps are folded: a proof of a thousand levels is a few lines.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.proof_nodes

    def node(self, proof: Proof, path: Path, depth: int) -> NodeReply:
        """Return a node with its premises where the depth allows, else `premises` is null."""
        plain = self._alone(proof, path)
        if plain.get("has_more") and depth > 0 and self._left > 0:
            plain["premises"] = premises = self._premises(proof, path, depth)
            plain["has_more"] = bool(premises)
        return plain

    def steps(self, start: Proof, path: Path, first: int, most: int) -> list[NodeReply]:
        """Return steps of the chain that begins at a node, one below the other."""
        chain = ProofChain(start)
        shown: list[NodeReply] = []
        for number, (step, place) in enumerate(zip(chain.steps, chain.places, strict=True)):
            if first <= number < first + most:
                plain = self._alone(step, path)
                plain["premises"] = premises = self._premises(step, path, 1, without=place)
                plain["has_more"] = bool(premises)
                shown.append(plain)
            path = (*path, place)
        return shown

    def _alone(self, proof: Proof, path: Path) -> NodeReply:
        """Return a node whose premises are still to be looked for."""
        self._left -= 1
        step = proof.step
        plain: NodeReply = {
            "kind": "fact",
            "text": self._cut(str(proof.atom)),
            "path": list(path),
            "is_input": isinstance(step, Input),
            "has_more": not isinstance(step, Input),
            "premises": [] if isinstance(step, Input) else None,
        }
        if isinstance(step, Derivation):
            plain["rule"] = plain_rule(step.rule)
            plain["bindings"] = [(name, self._cut(write_value(value))) for name, value in step.bindings]
        elif not isinstance(step, Input):
            plain["note"] = _law(step)
        return plain

    def _premise(self, proof: Proof, place: int, path: Path, depth: int) -> NodeReply:
        """Return a premise, or the chain that begins with it."""
        premise, below = proof.premises[place], (*path, place)
        chain = ProofChain(premise)
        if not chain.is_long:
            return self.node(premise, below, depth - 1)
        end = (*below, *chain.places)
        return {
            "kind": "fold",
            "text": f"{len(chain.steps):,} steps",
            "path": list(below),
            "count": len(chain.steps),
            "rules": chain.rules,
            "is_cut": chain.is_cut,
            "has_more": True,
            "premises": None,
            "end": self.node(chain.end, end, depth - 1),
        }

    def _premises(self, proof: Proof, path: Path, depth: int, without: int | None = None) -> list[NodeReply]:
        places = {each.atom: place for place, each in enumerate(proof.premises)}
        step = proof.step
        if not isinstance(step, Derivation):
            return [self._premise(proof, place, path, depth) for place in range(len(proof.premises))]
        shown: list[NodeReply] = []
        for part in step.parts:
            if isinstance(part, Premise):
                if places[part.atom] != without:
                    shown.append(self._premise(proof, places[part.atom], path, depth))
            elif isinstance(part, Absence):
                shown.append(self._absence(part))
            else:
                shown.append({"kind": "constraint", "text": self._cut(str(part)), "premises": []})
        shown += [self._aggregation(each, proof, path, places, depth) for each in step.aggregations]
        return shown

    def _absence(self, part: Absence) -> NodeReply:
        fact = None if part.atom is None else str(part.atom)
        return {
            "kind": "negated",
            "text": self._cut(str(part)),
            "fact": fact,
            "note": "does not hold",
            "premises": [],
        }

    def _aggregation(
        self,
        aggregation: Aggregation,
        proof: Proof,
        path: Path,
        places: dict[GroundAtom, int],
        depth: int,
    ) -> NodeReply:
        members = [places[atom] for atom in aggregation.group][: max(0, self._left)]
        return {
            "kind": "aggregate",
            "text": self._cut(str(aggregation)),
            "note": f"= {self._cut(write_value(aggregation.value))}",
            "has_more": bool(members),
            "premises": [self._premise(proof, place, path, depth) for place in members],
        }

    def _cut(self, text: str) -> str:
        most = self._limits.cell_characters
        return text if len(text) <= most else f"{text[:most]}…"


def plain_rule(rule: QuotedRule) -> QuotedRuleReply:
    """Return a quoted rule as JSON: its name, text and place."""
    return {"id": rule.id, "name": rule.name, "text": rule.text, "place": plain_span(rule.span)}


def _law(step: object) -> str:
    if isinstance(step, Equivalence):
        return "because the relation is an equivalence"
    if isinstance(step, LatticeMove) and step.kind != "join":
        return f"{step.kind} of the first: {', '.join(map(str, step.applied))}"
    return "the least upper bound of these"
