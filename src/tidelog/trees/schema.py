"""What a tree may look like: types of nodes, their links to other nodes and to values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tidelog.dataclass import dataclass

# The supertype of all types.
ANY: Final = "Any"
# The supertype of all lists.
ANY_LIST: Final = "AnyList"
# The link from a list to its first element, and from each element to the one after it.
FIRST: Final = "first"
NEXT: Final = "next"


class ValueKind(Enum):
    """The type of column that holds a value."""

    SYMBOL = "symbol"
    NUMBER = "number"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class ValueLink:
    """A link from a node to a value: a name, a number, a piece of text."""

    name: str
    kind: ValueKind
    optional: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class NodeLink:
    """A link from a node to nodes of certain types; `types` may name supertypes.

    A `multiple` link leads to the first of several nodes, each of which leads to the one after it.
    """

    name: str
    types: tuple[str, ...]
    optional: bool = False
    multiple: bool = False
    doc: str = ""


@dataclass(frozen=True, slots=True)
class NodeType:
    """A type that nodes have, with all its supertypes but `Any`, and its links."""

    name: str
    supertypes: tuple[str, ...] = ()
    links: tuple[NodeLink, ...] = ()
    values: tuple[ValueLink, ...] = ()
    doc: str = ""

    def link_code(self, name: str) -> int:
        """Return the place of a link among the links."""
        return next(code for code, link in enumerate(self.links) if link.name == name)

    def __repr__(self) -> str:
        return f"<node type {self.name}>"


def list_type(element: str, types: Iterable[str] = (), doc: str = "") -> NodeType:
    """Return the type of lists whose elements have one of the types, or the type `element`."""
    link = NodeLink(FIRST, tuple(types) or (element,), optional=True, multiple=True)
    return NodeType(f"List_{element}", (ANY_LIST,), (link,), doc=doc or f"A list of `{element}`.")


@dataclass(frozen=True)
class Schema:
    """The types of a family of trees; a node holds its type's place in `types` as a code.

    `docs` describe supertypes. A schema that is longer than another but starts with its types can
    take its place.
    """

    types: tuple[NodeType, ...]
    docs: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """Return the code of every type by its name."""
        return {node_type.name: code for code, node_type in enumerate(self.types)}

    @cached_property
    def value_counts(self) -> npt.NDArray[np.int64]:
        """Return how many value links the nodes of each type have."""
        return np.array([len(each.values) for each in self.types], dtype=np.int64)

    @cached_property
    def supertypes(self) -> tuple[str, ...]:
        """Return the names that are only supertypes, `Any` first."""
        names = dict.fromkeys(name for each in self.types for name in each.supertypes)
        return (ANY, *(name for name in names if name not in self.codes))

    @cached_property
    def _names_of(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset((each.name, ANY, *each.supertypes)) for each in self.types)

    def names_of(self, code: int) -> frozenset[str]:
        """Return a type's name and the names of all its supertypes."""
        return self._names_of[code]

    def type(self, name: str) -> NodeType:
        """Return the type of this name."""
        return self.types[self.codes[name]]

    def accepts(self, link: NodeLink, code: int) -> bool:
        """Say whether a link may lead to nodes of a type."""
        return not self._names_of[code].isdisjoint(link.types)

    @cached_property
    def members(self) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Return for each type and supertype which type codes belong to it."""
        found = {name: np.zeros(len(self.types), dtype=np.bool_) for name in (*self.supertypes, *self.codes)}
        for code, names in enumerate(self._names_of):
            for name in names:
                found[name][code] = True
        return found

    @cached_property
    def single_links(self) -> npt.NDArray[np.bool_]:
        """Return by type code and link code whether a link leads to one node.

        The last type and the last link stand for none, and are not such a link.
        """
        widest = max((len(each.links) for each in self.types), default=0) + 1
        table = np.zeros((len(self.types) + 1, widest), dtype=np.bool_)
        for code, node_type in enumerate(self.types):
            for place, link in enumerate(node_type.links):
                table[code, place] = not link.multiple
        return table


def identifier(name: str) -> str:
    """Return a name that can be part of a relation's name: `type-name` becomes `type_name`."""
    kept = re.sub(r"\W", "_", name, flags=re.ASCII)
    return kept or "_"


def node_relation(type_name: str) -> str:
    """Return the name of the relation of the nodes of a type."""
    return f"Node_{type_name}"


def link_relation(type_name: str, link: str) -> str:
    """Return the name of the relation of one of a type's links."""
    return link if link in (FIRST, NEXT) else f"Link_{type_name}_{link}"
