"""Relations that say what is absent: answered from others, never stored.

For the relations of a tree, `Node_T(id)` and `Link_T_f(id, to)`, these are

    undef_Node_T(id)      nodes that are not of type T
    undef_Link_T_f(id)    nodes of type T without a link f

A program uses them like any relation and does not declare them: their definitions are put where they
are used, as those of `inline` relations are.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.program.rename_items import Plain
from tidelog.source import Span
from tidelog.syntax import tree
from tidelog.syntax.walk_tree import deep_atoms

PREFIX: Final = "undef_"
_NODE: Final = "Node_"
_LINK: Final = "Link_"
_ALL_NODES: Final = "Node_Any"


@dataclass(frozen=True, slots=True)
class Virtual:
    """A relation of the members of `among` that are not the first column of a fact of `missing`."""

    name: str
    among: str
    missing: str


def find_virtual(name: str, relations: Mapping[str, object]) -> Virtual | None:
    """Return what a name stands for if it names no relation but could be virtual.

    `Link_A_b_c` is a link of the type with the longest name: of `A_b` if there is such a type.
    """
    if name in relations or not name.startswith(PREFIX):
        return None
    missing = name.removeprefix(PREFIX)
    if missing not in relations:
        return None
    if missing.startswith(_NODE) and _ALL_NODES in relations:
        return Virtual(name, _ALL_NODES, missing)
    if missing.startswith(_LINK):
        parts = missing.removeprefix(_LINK).split("_")
        for end in range(len(parts) - 1, 0, -1):
            among = _NODE + "_".join(parts[:end])
            if among in relations:
                return Virtual(name, among, missing)
    return None


def define_virtual_relations(items: Sequence[Plain]) -> tuple[Plain, ...]:
    """Return the items with a declaration and a rule for every virtual relation they use.

    .decl undef_Link_If_orelse(id: Node) inline
    undef_Link_If_orelse(id) :- Node_If(id), !Link_If_orelse(id, _).
    """
    sources = {id(item.span.source): item.span.source for item in items}
    if not any(PREFIX in source.text for source in sources.values()):
        return tuple(items)
    declared = {item.name: item for item in items if isinstance(item, tree.RelationDeclaration)}
    added: dict[str, tuple[Plain, ...]] = {}
    for item in items:
        for atom in deep_atoms((item,)):
            virtual = find_virtual(atom.relation, declared)
            if virtual is not None and virtual.name not in added:
                added[virtual.name] = _define(virtual, declared, atom.span)
    return (*items, *(item for pair in added.values() for item in pair))


def _define(
    virtual: Virtual, declared: Mapping[str, tree.RelationDeclaration], span: Span
) -> tuple[Plain, ...]:
    column = declared[virtual.among].columns[0]
    member = tree.Variable("id", span=span)
    wildcards = [tree.Wildcard(span=span) for _ in declared[virtual.missing].columns[1:]]
    absent = tree.Negation(tree.Atom(virtual.missing, (member, *wildcards), span=span), span=span)
    elements = (tree.Atom(virtual.among, (member,), span=span), absent)
    body = tree.Disjunction((tree.Conjunction(elements, span=span),), span=span)
    return (
        tree.RelationDeclaration(
            virtual.name, (tree.Field("id", column.type, span=span),), ("inline",), span=span
        ),
        tree.Rule((tree.Atom(virtual.name, (member,), span=span),), body, span=span),
    )
