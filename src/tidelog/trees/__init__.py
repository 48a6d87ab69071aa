"""Trees as relations: encoding, edit scripts and tree diff.

Names are imported when they are first used, so that sessions without trees start as quickly as ever.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tidelog.trees.edits import (
        Attach,
        ColumnChanges,
        Detach,
        Edit,
        EditScript,
        FactChanges,
        Load,
        NodeRef,
        Unload,
        Update,
    )
    from tidelog.trees.forest import Forest, ForestStep
    from tidelog.trees.schema import NodeLink, NodeType, Schema, ValueKind, ValueLink
    from tidelog.trees.tree import Tree, TreeStep

__all__ = [
    "Attach",
    "ColumnChanges",
    "Detach",
    "Edit",
    "EditScript",
    "FactChanges",
    "Forest",
    "ForestStep",
    "Load",
    "NodeLink",
    "NodeRef",
    "NodeType",
    "Schema",
    "Tree",
    "TreeStep",
    "Unload",
    "Update",
    "ValueKind",
    "ValueLink",
]

_MODULES: Final = {
    **dict.fromkeys(
        (
            "Attach",
            "ColumnChanges",
            "Detach",
            "Edit",
            "EditScript",
            "FactChanges",
            "Load",
            "NodeRef",
            "Unload",
            "Update",
        ),
        "tidelog.trees.edits",
    ),
    **dict.fromkeys(("Forest", "ForestStep"), "tidelog.trees.forest"),
    **dict.fromkeys(("NodeLink", "NodeType", "Schema", "ValueKind", "ValueLink"), "tidelog.trees.schema"),
    **dict.fromkeys(("TreeStep", "Tree"), "tidelog.trees.tree"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
