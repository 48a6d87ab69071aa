"""A Python text read again after an edit: only the statements around the edit are parsed.

Top-level statements before and after the edit are taken over from the tree of the old text. What is
parsed between them must be whole statements by itself; if it is not, the whole text has to be read.
"""

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass
from tidelog.source import Source
from tidelog.trees.nodes import NONE, Int64s, Nodes, make_nodes
from tidelog.trees.places import NodePlaces
from tidelog.trees.schema import Schema

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Old:
    """The nodes and the text of a module that was read before; rows 0 and 1 are the module and its body."""

    nodes: Nodes
    places: NodePlaces
    text: bytes

    @property
    def statements(self) -> Int32s:
        """Return the rows of the top-level statements."""
        return np.array(self.nodes.children(1), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class RereadWindow:
    """What has to be parsed: the old statements from `first` up to `last`, and where they stand.

    In both texts that is from the byte `start` to `rest` bytes before the end.
    """

    first: int
    last: int
    start: int
    rest: int


def old_module(nodes: Nodes, places: NodePlaces | None, schema: Schema, above: int) -> Old | None:
    """Return what is known of a module that was read before, or None if it is of no use.

    `above` is the number of nodes above the module.
    """
    if places is None or "\r" in places.source.text or nodes.count < above + 3:
        return None
    own = nodes.slice(above)
    if schema.types[own.types[1]].name != "List_stmt" or own.sizes[1] != own.count - 1:
        return None
    starts, ends = places.starts[above:], places.ends[above:]
    return Old(
        own, NodePlaces(places.source, starts, ends), places.source.text.encode(errors="surrogatepass")
    )


def find_window(old: Old, new: bytes) -> RereadWindow:
    """Return the smallest part around the edit that begins and ends between statements."""
    text = old.text
    same_front, same_back = _common_ends(text, new)
    rows = old.statements
    starts = [_line_start(text, int(_first_byte(old, int(row)))) for row in rows]
    ends = [_line_end(text, int(old.places.ends[row])) for row in rows]
    first = 0
    start = 0
    for place, end in enumerate(ends):
        is_last_on_line = place + 1 == len(ends) or starts[place + 1] >= end
        if end > same_front or end > len(new):
            break
        if is_last_on_line and _is_rest_empty(text, int(old.places.ends[rows[place]]), end):
            first, start = place + 1, end
    last = len(ends)
    rest = 0
    for place in range(len(ends) - 1, first - 1, -1):
        is_first_on_line = place == 0 or ends[place - 1] <= starts[place]
        left = len(text) - starts[place]
        if left > same_back or starts[place] < start or len(new) - left < start:
            break
        if is_first_on_line:
            last, rest = place, left
    return RereadWindow(first, last, start, rest)


def splice(
    old: Old, window: RereadWindow, new: tuple[Nodes, NodePlaces], source: Source, schema: Schema
) -> tuple[Nodes, NodePlaces] | None:
    """Return the nodes of the new text: what is before the window, what is new, and what is after it.

    `new` is the module of the window alone. None is returned if no statement is left.
    """
    middle, places = new
    nodes = old.nodes
    rows = [*old.statements.tolist(), nodes.count]
    front, back = rows[window.first], rows[window.last]
    inner = slice(2, middle.count) if middle.count > 2 else slice(0, 0)
    parts = [(nodes, slice(0, front)), (middle, inner), (nodes, slice(back, nodes.count))]
    if front == 2 and middle.count <= 2 and back == nodes.count:
        return None
    types = np.concatenate([part.types[rows] for part, rows in parts])
    links = np.concatenate([part.links[rows] for part, rows in parts])
    parents = [_shifted(parts[0][0].parents[parts[0][1]], 0)]
    parents.append(_shifted(middle.parents[inner], front - 2))
    parents.append(_shifted(nodes.parents[back:], front + max(middle.count - 2, 0) - back))
    values = np.concatenate(
        [part.values[part.value_starts[rows.start] : part.value_starts[rows.stop]] for part, rows in parts]
    )
    made = make_nodes(types, links, np.concatenate(parents), values, schema.value_counts)
    delta = len(source.text.encode(errors="surrogatepass")) - len(old.text)
    starts, ends = (
        np.concatenate([known[:front], _moved(found[inner], window.start), _moved(known[back:], delta)])
        for known, found in ((old.places.starts, places.starts), (old.places.ends, places.ends))
    )
    return made, NodePlaces(source, starts, ends)


def _shifted(parents: Int32s, by: int) -> Int32s:
    """Return parents that stand `by` rows further on; the module and its body stay where they are."""
    return np.where(parents <= 1, parents, parents + by).astype(np.int32)


def _moved(offsets: Int64s, by: int) -> Int64s:
    return np.where(offsets == NONE, NONE, offsets + by)


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
