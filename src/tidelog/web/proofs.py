"""Proofs node by node: what the page shows of a fact, its rule and what the rule rests on."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.derivation import Absence, Aggregation, Derivation, Premise
from tidelog.explain.proofs.proof import Proof
from tidelog.explain.proofs.rules import QuotedRule
from tidelog.explain.proofs.steps import Equivalence, Input
from tidelog.views.fact_text import write_value
from tidelog.web.replies import Plain, mistake
from tidelog.web.settings import Limits
from tidelog.web.sources import plain_span

# One proof or all derivations, of a fact, in an epoch.
ProofKey = tuple[str, str, int]

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
    """Writes nodes as JSON, down to a depth and no more than `proof_nodes` of them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.proof_nodes

    def node(self, proof: Proof, path: tuple[int, ...], depth: int) -> Plain:
        """Return a node with its premises where the depth allows, else `premises` is null."""
        self._left -= 1
        step = proof.step
        plain: dict[str, object] = {
            "kind": "fact",
            "text": self._cut(str(proof.atom)),
            "path": list(path),
            "is_input": isinstance(step, Input),
            "has_more": False,
            "premises": None,
        }
        if isinstance(step, Input):
            plain["premises"] = []
            return plain
        if isinstance(step, Derivation):
            plain["rule"] = plain_rule(step.rule)
            plain["bindings"] = [[name, self._cut(write_value(value))] for name, value in step.bindings]
        else:
            plain["note"] = _law(step)
        plain["has_more"] = True
        if depth > 0 and self._left > 0:
            plain["premises"] = premises = self._premises(proof, path, depth)
            plain["has_more"] = bool(premises)
        return plain

    def _premises(self, proof: Proof, path: tuple[int, ...], depth: int) -> list[Plain]:
        places = {each.atom: place for place, each in enumerate(proof.premises)}
        step = proof.step
        if not isinstance(step, Derivation):
            return [self.node(each, (*path, place), depth - 1) for place, each in enumerate(proof.premises)]
        shown: list[Plain] = []
        for part in step.parts:
            if isinstance(part, Premise):
                place = places[part.atom]
                shown.append(self.node(proof.premises[place], (*path, place), depth - 1))
            elif isinstance(part, Absence):
                shown.append(self._absence(part))
            else:
                shown.append({"kind": "constraint", "text": self._cut(str(part)), "premises": []})
        shown += [self._aggregation(each, proof, path, places, depth) for each in step.aggregations]
        return shown

    def _absence(self, part: Absence) -> Plain:
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
        path: tuple[int, ...],
        places: dict[GroundAtom, int],
        depth: int,
    ) -> Plain:
        members = [places[atom] for atom in aggregation.group][: max(0, self._left)]
        return {
            "kind": "aggregate",
            "text": self._cut(str(aggregation)),
            "note": f"= {self._cut(write_value(aggregation.value))}",
            "has_more": bool(members),
            "premises": [self.node(proof.premises[place], (*path, place), depth - 1) for place in members],
        }

    def _cut(self, text: str) -> str:
        most = self._limits.cell_characters
        return text if len(text) <= most else f"{text[:most]}…"


def plain_rule(rule: QuotedRule) -> Plain:
    """Return a quoted rule as JSON: its name, text and place."""
    return {"id": rule.id, "name": rule.name, "text": rule.text, "place": plain_span(rule.span)}


def _law(step: object) -> str:
    if isinstance(step, Equivalence):
        return "because the relation is an equivalence"
    return "the least upper bound of these"
