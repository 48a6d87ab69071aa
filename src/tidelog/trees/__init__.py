"""Trees as relations: encoding, edit scripts and tree diff."""

from tidelog.trees.edits import Attach, Detach, Edit, EditScript, FactChanges, Load, NodeRef, Unload, Update
from tidelog.trees.schema import NodeLink, NodeType, Schema, ValueKind, ValueLink
from tidelog.trees.tree import Step, Tree

__all__ = [
    "Attach",
    "Detach",
    "Edit",
    "EditScript",
    "FactChanges",
    "Load",
    "NodeLink",
    "NodeRef",
    "NodeType",
    "Schema",
    "Step",
    "Tree",
    "Unload",
    "Update",
    "ValueKind",
    "ValueLink",
]
