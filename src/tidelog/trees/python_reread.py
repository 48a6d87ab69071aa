"""A Python text read again after an edit: only the statements around the edit are parsed.

The edit lies within a block, a list of statements that takes whole lines: the module, the body of a class or
of a function, one branch of an `if`. Statements of the innermost such block before and after the edit are
taken over from the tree of the old text, and so is everything around the block. What is parsed between them
must be whole statements by itself; if it is not, the whole text has to be read.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.trees.nodes import NONE, Int64s, Nodes, make_nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.schema import Schema

# The type of a block, and what is between it and the statement that it belongs to.
_STATEMENTS: Final = "List_stmt"
_BETWEEN: Final = frozenset({"List_excepthandler", "List_match_case", "ExceptHandler", "match_case"})


@dataclass(frozen=True, slots=True, eq=False)
class Old:
    """The nodes and the text of a module that was read before; rows 0 and 1 are the module and its body."""

    nodes: Nodes
    places: NodePlaces
    text: bytes
    schema: Schema


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """A list of statements in the old text: its row, and the bytes from its first line to after its last."""

    row: int
    start: int
    end: int
    indent: bytes = b""


@dataclass(frozen=True, slots=True)
class RereadWindow:
    """What has to be parsed: the statements of a block from `first` up to `last`, and where they stand.

    In both texts that is from the byte `start` to `rest` bytes before the end.
    """

    block: StatementBlock
    first: int
    last: int
    start: int
    rest: int

    def part(self, new: bytes) -> bytes:
        """Return what has to be parsed."""
        return new[self.start : len(new) - self.rest]


def old_module(nodes: Nodes, places: NodePlaces | None, schema: Schema, above: int) -> Old | None:
    """Return what is known of a module that was read before, or None if it is of no use.

    `above` is the number of nodes above the module.
    """
    if places is None or "\r" in places.source.text or nodes.count < above + 3:
        return None
    own = nodes.slice(above)
    if schema.types[own.types[1]].name != _STATEMENTS or own.sizes[1] != own.count - 1:
        return None
    starts, ends = places.starts[above:], places.ends[above:]
    text = places.source.text.encode(errors="surrogatepass")
    return Old(own, NodePlaces(places.source, starts, ends), text, schema)


def find_windows(old: Old, new: bytes) -> Iterator[RereadWindow]:
    """Yield parts around the edit that begin and end between statements of one block, the smallest first.

    What is written after the last line of a block belongs to this block or to one around it.
    """
    common = _common_ends(old.text, new)
    for block in reversed(_blocks_around(old, len(new), *common)):
        yield _window(old, block, new, common)


def _window(old: Old, block: StatementBlock, new: bytes, common: tuple[int, int]) -> RereadWindow:
    """Return the smallest such part of one block."""
    text = old.text
    same_front, same_back = common
    rows = old.nodes.children(block.row)
    starts = [_line_start(text, _first_byte(old, row)) for row in rows]
    ends = [_line_end(text, int(old.places.ends[row])) for row in rows]
    first = 0
    start = block.start
    for place, end in enumerate(ends):
        is_last_on_line = place + 1 == len(ends) or starts[place + 1] >= end
        if end > same_front or end > len(new):
            break
        if is_last_on_line and _is_rest_empty(text, int(old.places.ends[rows[place]]), end):
            first, start = place + 1, end
    last = len(ends)
    rest = len(text) - block.end
    for place in range(len(ends) - 1, first - 1, -1):
        is_first_on_line = place == 0 or ends[place - 1] <= starts[place]
        left = len(text) - starts[place]
        if left > same_back or starts[place] < start or len(new) - left < start:
            break
        if is_first_on_line:
            last, rest = place, left
    return RereadWindow(block, first, last, start, rest)


def _blocks_around(old: Old, new_size: int, same_front: int, same_back: int) -> list[StatementBlock]:
    """Return the blocks outside of which both texts are the same, the module first."""
    blocks = [StatementBlock(1, 0, len(old.text))]
    while True:
        rows = old.nodes.children(blocks[-1].row)
        # What two texts have in common at the front may reach into the statement after the edit.
        place = int(np.searchsorted(old.places.starts[rows], same_front, "right"))
        found = (
            inner
            for row in rows[max(place - 2, 0) : place]
            for inner in _blocks_of(old, row)
            if inner.start <= same_front
            and len(old.text) - inner.end <= same_back
            and inner.start + len(old.text) - inner.end <= new_size
        )
        inner = next(found, None)
        if inner is None:
            return blocks
        blocks.append(inner)


def _blocks_of(old: Old, row: int) -> Iterator[StatementBlock]:
    """Yield the blocks of a compound statement that take whole lines."""
    for child in old.nodes.children(row):
        name = old.schema.types[old.nodes.types[child]].name
        if name in _BETWEEN:
            yield from _blocks_of(old, child)
        elif name == _STATEMENTS:
            rows = old.nodes.children(child)
            first, last = _first_byte(old, rows[0]), int(old.places.ends[rows[-1]])
            if old.text.startswith(b"elif", first):
                # Nothing but its own blocks can be read without the `if`.
                yield from _blocks_of(old, rows[0])
                continue
            start, end = _line_start(old.text, first), _line_end(old.text, last)
            indent = old.text[start:first]
            is_apart = not indent.strip() and end <= len(old.text)
            if is_apart and _is_rest_empty(old.text, last, end):
                yield StatementBlock(child, start, end, indent)


def splice(
    old: Old, window: RereadWindow, new: tuple[Nodes, NodePlaces], source: Source
) -> tuple[Nodes, NodePlaces] | None:
    """Return the nodes of the new text: what is before the window, what is new, and what is after it.

    `new` is a module of what was parsed, with its places in the whole text. None is returned if no statement
    is left in the block, or if it does not end with a statement.
    """
    middle, places = new
    nodes, row = old.nodes, window.block.row
    rows = [*nodes.children(row), row + int(nodes.sizes[row])]
    front, back = rows[window.first], rows[window.last]
    inner = slice(2, middle.count) if middle.count > 2 else slice(0, 0)
    if front == row + 1 and middle.count <= 2 and back == rows[-1]:
        return None
    by = front + inner.stop - inner.start - back
    parts = [(nodes, slice(0, front)), (middle, inner), (nodes, slice(back, nodes.count))]
    types = np.concatenate([part.types[rows] for part, rows in parts])
    links = np.concatenate([part.links[rows] for part, rows in parts])
    of_middle, after = middle.parents[inner], nodes.parents[back:]
    parents = (
        nodes.parents[:front],
        np.where(of_middle <= 1, row, of_middle + (front - 2)),
        np.where(after < front, after, after + by),
    )
    values = np.concatenate(
        [part.values[part.value_starts[rows.start] : part.value_starts[rows.stop]] for part, rows in parts]
    )
    joined = np.concatenate(parents).astype(np.int32)
    made = make_nodes(types, links, joined, values, old.schema.value_counts)
    text = source.text.encode(errors="surrogatepass")
    # Decorators and annotations come after a body, but stand before it in the text.
    is_after = old.places.starts[back:] >= len(old.text) - window.rest
    starts, ends = (
        np.concatenate([known[:front], found[inner], known[back:] + is_after * (len(text) - len(old.text))])
        for known, found in ((old.places.starts, places.starts), (old.places.ends, places.ends))
    )
    if window.block.indent and not _end_anew(old, window.block, made, ends, text):
        return None
    return made, NodePlaces(source, starts, ends)


def _end_anew(old: Old, block: StatementBlock, made: Nodes, ends: Int64s, text: bytes) -> bool:
    """Write where the statements around a block end now; return False if its last line says otherwise.

    Those that ended with the block still do; others end after it, where the text is the same.
    """
    before = int(old.places.ends[old.nodes.children(block.row)[-1]])
    now = int(ends[made.children(block.row)[-1]])
    if not _is_rest_empty(text, now, _line_end(text, now)):
        return False
    row = block.row
    while row != NONE:
        if ends[row] != NONE:
            ends[row] = now if ends[row] == before else ends[row] + len(text) - len(old.text)
        row = int(made.parents[row])
    return True


def indent_of(part: bytes) -> bytes | None:
    """Return the white space before the first code, None if there is no code."""
    for line in part.split(b"\n"):
        code = line.lstrip()
        if code and not code.startswith(b"#"):
            return line[: len(line) - len(code)]
    return None


def _common_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes two texts have in common at the front, and how many more at the end."""
    shorter = min(len(old), len(new))
    left, right = (np.frombuffer(text, dtype=np.uint8) for text in (old, new))
    differs = left[:shorter] != right[:shorter]
    front = int(differs.argmax()) if differs.any() else shorter
    differs = left[len(old) - shorter :][::-1] != right[len(new) - shorter :][::-1]
    back = int(differs.argmax()) if differs.any() else shorter
    return front, back


def _first_byte(old: Old, row: int) -> int:
    """Return where a statement begins, decorators included."""
    starts = old.places.starts[row : row + int(old.nodes.sizes[row])]
    return int(starts[starts >= 0].min())


def _line_start(text: bytes, offset: int) -> int:
    return text.rfind(b"\n", 0, offset) + 1


def _line_end(text: bytes, offset: int) -> int:
    found = text.find(b"\n", offset)
    # Without a newline the text could go on in the same line.
    return found + 1 if found >= 0 else len(text) + 1


def _is_rest_empty(text: bytes, end: int, line_end: int) -> bool:
    """Say whether nothing but white space or a comment follows a statement in its line."""
    rest = text[end:line_end].strip()
    return not rest or rest.startswith(b"#")
