"""A proof drawn as a tree in text."""

import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final

from tidelog.dataclass import dataclass
from tidelog.explain.proofs.items import Item, is_leaf_relation, items_of, note_of

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof

# A line needs this much room beside its branches; deeper parts get a tree of their own.
_LEAST_ROOM: Final = 24
_LINE_LIMIT: Final = 2000


def draw_text(proof: "Proof", width: int | None = None, depth: int | None = None) -> str:
    """Return the proof as a tree of lines no longer than the width.

    alias("u", "ins")  [alias#1, points.dl:9]
    ├─ vpt("u", "L3")  [vpt#2, points.dl:7]
    │  ├─ assign("u", "ins")  [input]
    │  └─ vpt("ins", "L3")  [vpt#1, points.dl:6]
    │     └─ new("ins", "L3")  [input]
    ├─ vpt("ins", "L3")  [as above]
    └─ "u" != "ins"

    A part that is too deep for the width is drawn below, under a number; a fact proved before is
    not proved again.
    """
    room = width or shutil.get_terminal_size((100, 24)).columns
    drawing = _Drawing(max(room, 2 * _LEAST_ROOM), depth)
    return "\n".join(drawing.draw(proof))


@dataclass
class _Drawing:
    width: int
    depth: int | None
    seen: set[int] = field(default_factory=set)
    parts: "list[tuple[Proof, int]]" = field(default_factory=list)
    lines: int = 0

    def draw(self, proof: "Proof") -> Iterator[str]:
        """Yield the lines of the tree, then those of the parts that did not fit."""
        yield from self._tree("", proof, 0)
        for number, (part, depth) in enumerate(self.parts, start=1):
            if self.lines > _LINE_LIMIT:
                break
            yield ""
            yield from self._tree(f"({number}) ", part, depth)
        if self.lines > _LINE_LIMIT:
            yield f"... cut after {_LINE_LIMIT:,} lines; give a depth"

    def _tree(self, start: str, proof: "Proof", depth: int) -> Iterator[str]:
        """Yield a tree; an explicit stack, for proofs may be thousands of steps deep."""
        root = Item(str(proof.atom), proof)
        waiting: list[tuple[Item, str, str, int]] = [(root, start, " " * len(start), depth)]
        while waiting and self.lines <= _LINE_LIMIT:
            item, first, rest, at = waiting.pop()
            note, below = self._look_at(item, rest, at)
            yield from self._line(item.text, note, first, rest, has_below=bool(below))
            following = [
                (
                    each,
                    rest + ("└─ " if place == len(below) - 1 else "├─ "),
                    rest + ("   " if place == len(below) - 1 else "│  "),
                    at + 1 if item.proof is not None else at,
                )
                for place, each in enumerate(below)
            ]
            waiting.extend(reversed(following))

    def _look_at(self, item: Item, indent: str, depth: int) -> tuple[str, tuple[Item, ...]]:
        """Return the note of a line and what stands below it."""
        proof = item.proof
        if proof is None:
            return item.note, item.below
        if self.depth is not None and depth >= self.depth:
            return "input" if is_leaf_relation(proof) and proof.kind == "input" else "...", ()
        note = ", ".join(part for part in (note_of(proof), item.note) if part)
        below = items_of(proof)
        if not below:
            return note, ()
        if id(proof) in self.seen:
            return "as above", ()
        if len(indent) + 3 > self.width - _LEAST_ROOM:
            self.parts.append((proof, depth))
            return f"→({len(self.parts)})", ()
        self.seen.add(id(proof))
        return note, below

    def _line(self, text: str, note: str, first: str, rest: str, *, has_below: bool) -> Iterator[str]:
        """Yield a line, broken where it is longer than the width."""
        whole = f"{text}  [{note}]" if note else text
        follow = rest + ("│   " if has_below else "    ")
        wrapped = textwrap.wrap(
            whole,
            self.width,
            initial_indent=first,
            subsequent_indent=follow,
            break_on_hyphens=False,
            drop_whitespace=True,
        )
        self.lines += len(wrapped)
        yield from wrapped if len(first) + len(whole) > self.width else [first + whole]
