"""The proof of a finding with the lines of source that its facts are about."""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.source import Span
from tidelog.trees.edits import PARENT, ROOT
from tidelog.trees.schema import FIRST, NEXT

if TYPE_CHECKING:
    from tidelog.analysis.follow import Finding, Follow
    from tidelog.explain.proofs.proof import Proof


@dataclass(frozen=True, slots=True)
class WhyStep:
    """A fact of a proof: how deep it is, as people read it, its rule, and where its first node stands."""

    depth: int
    text: str
    rule: Span | None = None
    span: Span | None = None

    @property
    def note(self) -> str:
        """Return the file and the line of the rule."""
        return "" if self.rule is None else f"{self.rule.source.name.rsplit('/', 1)[-1]}:{self.rule.line}"

    @property
    def line(self) -> str:
        """Return the line of source that the fact is about, with its place."""
        span = self.span
        if span is None:
            return ""
        return f"{span.source.name}:{span.line} | {span.source.line_text(span.line).strip()}"


def explain(follow: "Follow", finding: "Finding", depth: int, metric: str | None = None) -> str:
    """Return why something is found: facts with their rules, and the line of source of each.

    undefined(`t`, "t")  [names.dl:18]
      a.py:9 | r = [s for s in p if t]
      reads(`t`, "t", `[s for s in p if t]`)  [scopes.dl:129]
        ...

    Facts of the tree itself are left out: the lines show them.
    """
    return "\n".join(written_steps(why_steps(follow, finding, depth, metric)))


def why_steps(
    follow: "Follow", finding: "Finding", depth: int, metric: str | None = None
) -> Iterator[WhyStep]:
    """Yield the facts of a proof, each before what it rests on; `metric` asks for a smallest proof."""
    proof = follow.db.why((finding.relation, finding.fact), metric=metric)
    yield from _Telling(follow, depth).steps(proof, 0)


def written_steps(steps: Iterable[WhyStep]) -> Iterator[str]:
    """Yield the lines of a proof; a line of source is not repeated below itself."""
    above: list[str] = []
    for step in steps:
        indent = "  " * step.depth
        yield f"{indent}{step.text}{f'  [{step.note}]' if step.note else ''}"
        del above[step.depth :]
        line = step.line
        shown = next((each for each in reversed(above) if each), "")
        if line and line != shown:
            yield f"{indent}  {line}"
        above.append(line)


@dataclass
class _Telling:
    follow: "Follow"
    depth: int
    seen: set[object] = field(default_factory=set)

    def steps(self, proof: "Proof", depth: int) -> Iterator[WhyStep]:
        """Yield a fact, and what it rests on."""
        atom = proof.atom
        shown, span = self.follow.tell(atom.relation, atom.fact)
        yield WhyStep(depth, shown, None if proof.rule is None else proof.rule.span, span)
        if depth >= self.depth or atom in self.seen:
            return
        self.seen.add(atom)
        for premise in proof.premises:
            if not _is_of_tree(premise.relation):
                yield from self.steps(premise, depth + 1)
        for absent in proof.negated:
            if not _is_of_tree(absent.relation):
                yield WhyStep(depth + 1, f"!{self.follow.tell(absent.relation, absent.pattern)[0]}")


def _is_of_tree(relation: str) -> bool:
    return relation in {FIRST, NEXT, PARENT, ROOT} or relation.startswith(("Node_", "Link_"))
