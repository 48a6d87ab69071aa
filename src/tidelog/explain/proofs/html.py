"""A proof as HTML: branches are `<details>`, so that they open and close without a script."""

from html import escape
from typing import TYPE_CHECKING, Final

from tidelog.explain.proofs.items import Item, is_leaf_relation, items_of, note_of, written_bindings

if TYPE_CHECKING:
    from tidelog.explain.proofs.proof import Proof

_STYLE: Final = """
.tidelog-proof { font: 14px/1.5 ui-monospace, monospace; color-scheme: light dark; }
.tidelog-proof ul { list-style: none; margin: 0 0 0 .6em; padding-left: 1em; border-left: 1px solid #8886; }
.tidelog-proof summary { cursor: pointer; }
.tidelog-proof .note { opacity: .65; font-size: .85em; margin-left: .8em; }
.tidelog-proof .input { font-weight: 600; }
.tidelog-proof .leaf { opacity: .85; }
.tidelog-proof pre { margin: .2em 0 .4em 1em; padding: .3em .6em; white-space: pre-wrap; }
.tidelog-proof pre { border-left: 3px solid #48c8; }
"""
_NODE_LIMIT: Final = 20_000
_OPEN_DEPTH: Final = 3


def write_page(proof: "Proof", depth: int | None = None) -> str:
    """Return a whole page that needs nothing else."""
    title = escape(str(proof.atom))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>why {title}</title>'
        '<meta name="viewport" content="width=device-width"><style>body { margin: 2em; }</style></head>'
        f"<body>{write_fragment(proof, depth)}</body></html>\n"
    )


def write_fragment(proof: "Proof", depth: int | None = None) -> str:
    """Return the proof as a part of a page, with its style."""
    parts = [f'<div class="tidelog-proof"><style>{_STYLE}</style><ul>']
    seen: set[int] = set()
    # Closing tags wait among the items: proofs may be deeper than Python's stack.
    waiting: list[tuple[Item, int] | str] = [(Item(str(proof.atom), proof), 0)]
    count = 0
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            parts.append(piece)
            continue
        item, at = piece
        count += 1
        if count > _NODE_LIMIT:
            parts.append('<li class="leaf">...</li>')
            continue
        opening, below, closing = _write_item(item, at, depth, seen)
        parts.append(opening)
        if below:
            waiting.append(closing)
            following = at + 1 if item.proof is not None else at
            waiting.extend((each, following) for each in reversed(below))
    parts.append("</ul></div>")
    return "".join(parts)


def _write_item(item: Item, at: int, depth: int | None, seen: set[int]) -> tuple[str, tuple[Item, ...], str]:
    """Return how an item begins, what stands below it, and how it ends."""
    proof = item.proof
    if proof is None:
        text = f"{escape(item.text)}{_note(item.note)}"
        if not item.below:
            return f'<li class="leaf">{text}</li>', (), ""
        return f'<li><details open=""><summary>{text}</summary><ul>', item.below, "</ul></details></li>"
    if depth is not None and at >= depth and not is_leaf_relation(proof):
        return f"<li>{escape(item.text)}{_note('...')}</li>", (), ""
    note = ", ".join(part for part in (note_of(proof), item.note) if part)
    below = items_of(proof)
    if id(proof) in seen and below:
        return f"<li>{escape(item.text)}{_note('as above')}</li>", (), ""
    seen.add(id(proof))
    if not below:
        style = ' class="input"' if proof.kind == "input" else ""
        return f"<li{style}>{escape(item.text)}{_note(note)}</li>", (), ""
    rule = ""
    if proof.rule is not None:
        quoted = escape(proof.rule.text)
        bound = escape(written_bindings(proof.bindings))
        rule = f"<pre>{quoted}\n<small>{bound}</small></pre>"
    is_open = ' open=""' if at < _OPEN_DEPTH else ""
    head = f"<li><details{is_open}><summary>{escape(item.text)}{_note(note)}</summary>{rule}<ul>"
    return head, below, "</ul></details></li>"


def _note(note: str) -> str:
    return f'<span class="note">{escape(note)}</span>' if note else ""
