"""The proof of a finding with the lines of source that its facts are about."""

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.trees.edits import PARENT, ROOT
from tidelog.trees.schema import FIRST, NEXT

if TYPE_CHECKING:
    from tidelog.analysis.follow import Finding, Follow
    from tidelog.explain.proofs.proof import Proof


def explain(follow: "Follow", finding: "Finding", depth: int) -> str:
    """Return why something is found: facts with their rules, and the line of source of each.

    undefined(`t`, "t")  [names.dl:18]
      a.py:9 | r = [s for s in p if t]
      reads(`t`, "t", `[s for s in p if t]`)  [scopes.dl:129]
        ...

    Facts of the tree itself are left out: the lines show them.
    """
    proof = follow.db.why((finding.relation, finding.fact))
    return "\n".join(_Telling(follow).lines(proof, "", depth, ""))


@dataclass
class _Telling:
    follow: "Follow"
    seen: set[object] = field(default_factory=set)

    def lines(self, proof: "Proof", indent: str, depth: int, above: str) -> Iterator[str]:
        """Yield a fact, its line of source unless that stands `above`, and what it rests on."""
        atom = proof.atom
        shown, span = self.follow.tell(atom.relation, atom.fact)
        rule = proof.rule
        note = "" if rule is None else f"  [{rule.span.source.name.rsplit('/', 1)[-1]}:{rule.span.line}]"
        yield f"{indent}{shown}{note}"
        line = ""
        if span is not None:
            line = f"{span.source.name}:{span.line} | {span.source.line_text(span.line).strip()}"
            if line != above:
                yield f"{indent}  {line}"
        if depth <= 0 or atom in self.seen:
            return
        self.seen.add(atom)
        for premise in proof.premises:
            if not _is_of_tree(premise.relation):
                yield from self.lines(premise, f"{indent}  ", depth - 1, line or above)
        for absent in proof.negated:
            if not _is_of_tree(absent.relation):
                yield f"{indent}  !{self.follow.tell(absent.relation, absent.pattern)[0]}"


def _is_of_tree(relation: str) -> bool:
    return relation in {FIRST, NEXT, PARENT, ROOT} or relation.startswith(("Node_", "Link_"))
