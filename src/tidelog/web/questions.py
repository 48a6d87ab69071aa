"""The questions about one fact: why, why not, and on which input facts it rests."""

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.explain.proofs.proof import Proof
from tidelog.session import Session
from tidelog.views.fact_text import write_fact
from tidelog.web.proofs import NodeWriter, Proofs, find_node
from tidelog.web.refutations import RefutationWriter
from tidelog.web.replies import Plain, mistake
from tidelog.web.settings import Limits

_MOST_DERIVATIONS: Final = 20
_MOST_SUPPORT: Final = 1000


class Questions:
    """Answers why and why not; proofs asked for lately are kept, so that nodes open quickly."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._proofs = Proofs()

    def why(self, body: Mapping[str, object]) -> Plain:
        """Return a node of a proof: the fact at the root, or the one at the end of `path`.

        `derivation` is the number of one of several derivations; without it any proof is taken.
        """
        fact, depth = self._fact(body), self._depth(body)
        path, number = body.get("path", []), body.get("derivation")
        if not isinstance(path, list):
            raise mistake("bad-request", "`path` is a list of numbers")
        roots = self._derivations(fact) if isinstance(number, int) else self._roots(fact)
        place = number if isinstance(number, int) else 0
        if not 0 <= place < len(roots):
            raise mistake("bad-request", f"the fact has no derivation {place}")
        node = find_node(roots[place], path)
        return {"proof": NodeWriter(self._limits).node(node, tuple(path), depth)}

    def derivations(self, body: Mapping[str, object]) -> Plain:
        """Return the ways in which a fact is derived, each with its premises."""
        roots = self._derivations(self._fact(body))
        writer = NodeWriter(self._limits)
        shown = [writer.node(root, (), 1) for root in roots[:_MOST_DERIVATIONS]]
        return {"proofs": shown, "is_cut": len(roots) > _MOST_DERIVATIONS}

    def support(self, body: Mapping[str, object]) -> Plain:
        """Return the input facts that a proof rests on."""
        found = self._roots(self._fact(body))[0].support()
        facts = [write_fact(name, fact) for name, facts in found.items() for fact in facts]
        return {"facts": sorted(facts)[:_MOST_SUPPORT], "is_cut": len(facts) > _MOST_SUPPORT}

    def why_not(self, body: Mapping[str, object]) -> Plain:
        """Return how near each rule comes to deriving a fact that does not hold."""
        refutation = self._session.why_not(self._fact(body), depth=min(self._depth(body), 4))
        return {"refutation": RefutationWriter(self._limits).refutation(refutation)}

    def _roots(self, fact: str) -> Sequence[Proof]:
        key = ("one", fact, self._session.epoch)
        return self._proofs.get(key, lambda: [self._session.why(fact)])

    def _derivations(self, fact: str) -> Sequence[Proof]:
        key = ("all", fact, self._session.epoch)
        return self._proofs.get(key, lambda: self._session.why_all(fact, limit=_MOST_DERIVATIONS + 1))

    def _fact(self, body: Mapping[str, object]) -> str:
        fact = body.get("fact")
        if not isinstance(fact, str) or not fact.strip():
            raise mistake("bad-request", "`fact` is the text of a fact, such as `edge(1, 2)`")
        if len(fact) > 2 * self._limits.fact_characters:
            raise mistake(
                "request-too-large", f"a fact has at most {self._limits.fact_characters:,} characters"
            )
        return fact.strip().removesuffix(".")

    def _depth(self, body: Mapping[str, object]) -> int:
        depth = body.get("depth", 1)
        if not isinstance(depth, int) or depth < 0:
            raise mistake("bad-request", "`depth` is a number from 0 on")
        return min(depth, self._limits.proof_depth)
