"""The relations of a schema as declarations that programs include."""

import re
from collections.abc import Container, Iterator

from tidelog.trees.edits import PARENT, ROOT
from tidelog.trees.schema import (
    ANY,
    FIRST,
    NEXT,
    NodeLink,
    NodeType,
    Schema,
    link_relation,
    node_relation,
)


def declare(
    schema: Schema,
    used: Container[tuple[str, str]] | None = None,
    title: str = "",
    program: str | None = None,
) -> str:
    """Return declarations with comments: `Node_T(id)`, `Link_T_f(id, to)`, `first`, `next`.

    `used` are the links, by type and name, that are declared; all of them unless given. With the text
    of a program, only the relations that it names are declared. The virtual relations
    `undef_Node_T(id)` and `undef_Link_T_f(id)` need no declaration.
    """
    wanted = None if program is None else _named_in(program)
    lines = [line for name, part in _parts(schema, used) if wanted is None or name in wanted for line in part]
    return "\n".join([*_header(title), *lines, ""])


def _named_in(program: str) -> set[str]:
    """Return the words of a program; a virtual relation needs those that it is answered from."""
    words = set(re.findall(r"\w+", program))
    for word in tuple(words):
        if word.startswith("undef_"):
            missing = word.removeprefix("undef_")
            words |= {missing, node_relation(ANY)}
            parts = missing.removeprefix("Link_").split("_")
            words |= {node_relation("_".join(parts[:end])) for end in range(1, len(parts))}
    return words


Part = tuple[str, tuple[str, ...]]


def _header(title: str) -> Iterator[str]:
    yield f"// Relations of {title or 'a tree'}, generated."
    yield "// undef_Node_T(id) holds for the nodes that are not of type T, and undef_Link_T_f(id) for the"
    yield "// nodes of type T without a link f. Both can be used in rules and need no declaration."
    yield ".type Node <: number"


def _parts(schema: Schema, used: Container[tuple[str, str]] | None) -> Iterator[Part]:
    """Yield the name and the lines of each declaration."""
    yield _decl("The roots.", ROOT, "id: Node")
    doc = "The node that a node hangs on; an element hangs on its list."
    yield _decl(doc, PARENT, "id: Node, parent: Node")
    yield _decl("The first element of a list.", FIRST, "id: Node, to: Node")
    yield _decl("The sibling after an element.", NEXT, "id: Node, to: Node")
    for name in schema.supertypes:
        doc = "All nodes." if name == ANY else schema.docs.get(name, f"All nodes that are `{name}`.")
        yield _decl(doc, node_relation(name), "id: Node")
    for node_type in schema.types:
        yield from _of_type(node_type, used)


def _of_type(node_type: NodeType, used: Container[tuple[str, str]] | None) -> Iterator[Part]:
    doc = node_type.doc or f"Nodes of type `{node_type.name}`."
    above = [name for name in node_type.supertypes if name != ANY]
    if above:
        doc += f" Also {', '.join(f'`{name}`' for name in above)}."
    yield _decl(doc, node_relation(node_type.name), "id: Node")
    for link in node_type.links:
        if link.name != FIRST and (used is None or (node_type.name, link.name) in used):
            yield _decl(_link_doc(link), link_relation(node_type.name, link.name), "id: Node, to: Node")
    for value in node_type.values:
        if used is None or (node_type.name, value.name) in used:
            doc = (value.doc or f"The `{value.name}`") + (", if any." if value.optional else ".")
            relation = link_relation(node_type.name, value.name)
            yield _decl(doc, relation, f"id: Node, value: {value.kind.value}")


def _link_doc(link: NodeLink) -> str:
    kinds = " or ".join(f"`{name}`" for name in link.types)
    doc = link.doc or f"To `{link.name}`"
    if link.multiple:
        return f"{doc}, of type {kinds}: the first of them, if any; `next` leads on."
    return f"{doc}, of type {kinds}" + (", if any." if link.optional else ".")


def _decl(doc: str, relation: str, columns: str) -> Part:
    comment = [f"/// {line}" for line in doc.splitlines()]
    return relation, ("", *comment, f".decl {relation}({columns})", f".input {relation}")
