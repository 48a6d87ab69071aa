"""Long chains of steps inside proofs, which are shown as one line."""

import time
from collections.abc import Sequence
from typing import Final

from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.proof import Proof

# Shorter chains are shown step by step.
FOLDED: Final = 12
# A proof may be a million steps deep: whoever asks gets an answer after what could be found in this time.
_MOST_SECONDS: Final = 0.2
_LOOKS_PER_GLANCE: Final = 64


class ProofChain:
    """The steps from a node down, each resting on the next by recursion, and the node below the last.

    `places` are the premises that lead from each step to the next. `is_cut` says that it goes on.
    """

    def __init__(self, start: Proof) -> None:
        self.steps: list[Proof] = []
        self.places: list[int] = []
        self.is_cut = False
        self.end = start
        finish = time.thread_time() + _MOST_SECONDS
        while (place := next_place(self.end)) is not None:
            self.steps.append(self.end)
            self.places.append(place)
            self.end = self.end.premises[place]
            if len(self.steps) % _LOOKS_PER_GLANCE == 0 and time.thread_time() > finish:
                self.is_cut = True
                return

    @property
    def is_long(self) -> bool:
        """Say whether it is worth folding."""
        return len(self.steps) >= FOLDED

    @property
    def rules(self) -> Sequence[str]:
        """Return the names of the rules that its steps apply, each once."""
        return tuple(dict.fromkeys(step.rule.name for step in self.steps if step.rule is not None))


def next_place(node: Proof) -> int | None:
    """Return which premise goes on with the recursion: of the same stratum, and the last to hold."""
    if not isinstance(node.step, Derivation):
        return None
    best: tuple[int, int] | None = None
    for place, premise in enumerate(node.premises):
        depth = _depth_within(premise, node)
        if depth is not None and (best is None or depth > best[0]):
            best = depth, place
    return None if best is None else best[1]


def _depth_within(premise: Proof, node: Proof) -> int | None:
    """Return in which iteration a premise first held, None if it is not part of the node's recursion."""
    if premise.level is None or node.level is None:
        is_same = premise.relation == node.relation and isinstance(premise.step, Derivation)
        return 0 if is_same else None
    if premise.level[0] != node.level[0] or not isinstance(premise.step, Derivation):
        return None
    return premise.level[1]
