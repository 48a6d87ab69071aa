"""The questions about one fact: why, why not, and on which input facts it rests."""

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.errors import TidelogError
from tidelog.explain.proofs.proof import Proof
from tidelog.session import Session
from tidelog.values import Branch, Value
from tidelog.views.fact_text import write_fact
from tidelog.web.proof_graph import plain_graph
from tidelog.web.proofs import NodeWriter, Proofs, find_node
from tidelog.web.refutations import RefutationWriter
from tidelog.web.replies import mistake
from tidelog.web.schema import (
    DerivationsReply,
    GraphReply,
    ProofReply,
    RefutationReply,
    StepsReply,
    SupportReply,
)
from tidelog.web.settings import Limits

_MOST_DERIVATIONS: Final = 20
_MOST_SUPPORT: Final = 1000
_MOST_STEPS: Final = 200


class Questions:
    """Answers why and why not; proofs asked for lately are kept, so that nodes open quickly."""

    def __init__(self, session: Session, limits: Limits) -> None:
        self._session = session
        self._limits = limits
        self._proofs = Proofs()

    def why(self, body: Mapping[str, object]) -> ProofReply:
        """Return a node of a proof: the fact at the root, or the one at the end of `path`.

        `derivation` is the number of one of several derivations; without it any proof is taken.
        """
        node, path = self._node(body)
        epoch = self._session.epoch
        return {"proof": NodeWriter(self._limits).node(node, path, self._depth(body)), "epoch": epoch}

    def steps(self, body: Mapping[str, object]) -> StepsReply:
        """Return steps of the chain that begins at a node: `limit` of them from `offset` on."""
        node, path = self._node(body)
        limit = min(_number(body, "limit", _MOST_STEPS), _MOST_STEPS)
        offset = _number(body, "offset", 0)
        return {"steps": NodeWriter(self._limits).steps(node, path, offset, limit)}

    def graph(self, body: Mapping[str, object]) -> GraphReply:
        """Return the proof as a picture shows it."""
        return plain_graph(self._node(body)[0])

    def text(self, fact: str, form: str) -> str:
        """Return a proof as `text` or for `mermaid`; one that is very deep is cut, as it says."""
        proof = self._roots(self._fact({"fact": fact}))[0]
        match form:
            case "text":
                return proof.text(depth=self._limits.proof_depth)
            case "mermaid":
                return proof.to_mermaid(depth=self._limits.proof_depth)
        raise mistake("bad-request", f"`{form[:40]}` is not a form of a proof", "choose text or mermaid")

    def derivations(self, body: Mapping[str, object]) -> DerivationsReply:
        """Return the ways in which a fact is derived, each with its premises."""
        roots = self._derivations(self._fact(body))
        writer = NodeWriter(self._limits)
        shown = [writer.node(root, (), 1) for root in roots[:_MOST_DERIVATIONS]]
        return {"proofs": shown, "is_cut": len(roots) > _MOST_DERIVATIONS}

    def support(self, body: Mapping[str, object]) -> SupportReply:
        """Return a page of the input facts that a proof rests on: by relation, in value order."""
        found = self._roots(self._fact(body))[0].support()
        ordered = [(name, fact) for name, facts in found.items() for fact in sorted(facts, key=_order)]
        offset = min(_number(body, "offset", 0), max(0, len(ordered) - 1) // _MOST_SUPPORT * _MOST_SUPPORT)
        shown = [write_fact(name, fact) for name, fact in ordered[offset : offset + _MOST_SUPPORT]]
        return {"facts": shown, "size": len(ordered), "offset": offset}

    def why_not(self, body: Mapping[str, object]) -> RefutationReply:
        """Return how near each rule comes to deriving a fact; one that holds has no refutation."""
        try:
            refutation = self._session.why_not(self._fact(body), depth=min(self._depth(body), 4))
        except TidelogError as error:
            if error.diagnostics[0].code == "fact-holds":
                return {"refutation": None, "holds": True}
            raise
        return {"refutation": RefutationWriter(self._limits).refutation(refutation), "holds": False}

    def _node(self, body: Mapping[str, object]) -> tuple[Proof, tuple[int, ...]]:
        """Return the node that a question names, and the way to it from the root."""
        fact = self._fact(body)
        path, number = body.get("path", []), body.get("derivation")
        if not isinstance(path, list):
            raise mistake("bad-request", "`path` is a list of numbers")
        roots = self._derivations(fact) if isinstance(number, int) else self._roots(fact)
        place = number if isinstance(number, int) else 0
        if not 0 <= place < len(roots):
            raise mistake("bad-request", f"the fact has no derivation {place}")
        return find_node(roots[place], path), tuple(path)

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


def _number(body: Mapping[str, object], name: str, usual: int) -> int:
    found = body.get(name, usual)
    if not isinstance(found, int) or found < 0:
        raise mistake("bad-request", f"`{name}` is a number from 0 on")
    return found


def _order(value: Value) -> tuple[object, ...]:
    """Return what puts values of one column in order: numbers by size, texts by letter, `nil` first."""
    match value:
        case None:
            return (0,)
        case tuple():
            return (1, *map(_order, value))
        case Branch():
            return (1, value.name, *map(_order, value.fields))
        case _:
            return (1, value)
