"""The node that holds the tree of a file."""

from typing import Final

from tidelog.trees.schema import ANY, NodeLink, NodeType, ValueKind, ValueLink

FILE: Final = "File"
FILE_TYPE: Final = NodeType(
    FILE,
    links=(NodeLink("tree", (ANY,), doc="To what the file contains"),),
    values=(ValueLink("path", ValueKind.SYMBOL, doc="The path of the file"),),
    doc="A file of a code base.",
)
