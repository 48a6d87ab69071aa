"""A proof drawn as in logic: premises side by side over a line, the conclusion below it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.derivation import Derivation
from tidelog.explain.proofs.items import Item, is_leaf_relation, items_of

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof

_GAP: Final = "  "
# A picture with more blocks than these is wider than anybody reads.
_MOST_BLOCKS: Final = 2000


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of one length, the conclusion last."""

    lines: tuple[str, ...]

    @property
    def width(self) -> int:
        """Return the length of the lines."""
        return len(self.lines[-1])


def draw_horizontal(proof: "Proof", depth: int | None = None) -> str:
    """Return the proof with each rule as a line, numbered as in its relation.

            new("ins", "L3")
            ----------------(R1)
         assign("u", "ins")  vpt("ins", "L3")
         --------------------------------------(R2)
                    vpt("u", "L3")

    Constraints stand beside the premises, one under the other. A fact that is needed twice is proved twice.
    Facts below the depth are followed by `...`.
    """
    block = _Drawing(depth).draw(proof)
    return "\n".join(line.rstrip() for line in block.lines)


@dataclass
class _Drawing:
    depth: int | None
    count: int = 0

    def draw(self, proof: "Proof") -> _Block:
        """Return the block of a proof; an explicit stack, for proofs may be thousands of steps deep."""
        finished: list[_Block] = []
        waiting: list[tuple[Item, int, tuple[Item, ...] | None]] = [(Item(str(proof.atom), proof), 0, None)]
        while waiting:
            item, depth, below = waiting.pop()
            if below is None:
                self.count += 1
                text, below = self._look_at(item, depth)
                if not below:
                    finished.append(_Block((text,)))
                    continue
                waiting.append((item, depth, below))
                waiting.extend((each, depth + 1, None) for each in reversed(below))
                continue
            parts = finished[len(finished) - len(below) :]
            del finished[len(finished) - len(below) :]
            finished.append(_over(item, below, parts))
        (block,) = finished
        return block

    def _look_at(self, item: Item, depth: int) -> tuple[str, tuple[Item, ...]]:
        """Return what stands for an item, and what is above it."""
        proof = item.proof
        if proof is None:
            return item.text, item.below
        is_cut = (self.depth is not None and depth >= self.depth) or self.count > _MOST_BLOCKS
        if is_cut:
            return item.text if is_leaf_relation(proof) else f"{item.text} ...", ()
        return item.text, items_of(proof)


def _over(item: Item, below: Sequence[Item], parts: Sequence[_Block]) -> _Block:
    """Return the parts side by side over a line, with the item under it."""
    premises = [part for each, part in zip(below, parts, strict=True) if each.proof or each.below]
    tests = [each.text for each in below if not (each.proof or each.below)]
    if tests:
        width = max(map(len, tests))
        lines = [test.ljust(width) for test in tests]
        # The first one is level with the conclusions of the premises, the others go on below.
        rows = _side_by_side([*premises, _Block((lines[0],))])
        start = len(rows[0]) - width
        rows += [" " * start + line for line in lines[1:]]
    else:
        rows = _side_by_side(premises)
    width = max(len(rows[0]), len(item.text))
    rule = f"({_rule(item)})"
    rows = [row.center(width) for row in rows]
    whole = width + len(rule)
    return _Block(
        (
            *(row.ljust(whole) for row in rows),
            "-" * width + rule,
            item.text.center(width).ljust(whole),
        )
    )


def _side_by_side(blocks: Sequence[_Block]) -> list[str]:
    """Return blocks in one picture, their conclusions in its last line."""
    height = max(len(block.lines) for block in blocks)
    padded = [(" " * block.width,) * (height - len(block.lines)) + block.lines for block in blocks]
    return [_GAP.join(row) for row in zip(*padded, strict=True)]


def _rule(item: Item) -> str:
    """Return the rule of a step: `R2` for the second one of its relation."""
    if item.proof is None:
        return "group"
    step = item.proof.step
    if isinstance(step, Derivation):
        return "R" + step.rule.name.rpartition("#")[2]
    return "law"
