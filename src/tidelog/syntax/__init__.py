"""Text to tree with spans, and back."""

from typing import TYPE_CHECKING

from tidelog.lazily import lazily

if TYPE_CHECKING:
    from tidelog.syntax.formatter import format_text
    from tidelog.syntax.parser import parse
    from tidelog.syntax.printer import print_node, print_tree
    from tidelog.syntax.query import parse_atom, parse_query

__all__ = ["format_text", "parse", "parse_atom", "parse_query", "print_node", "print_tree"]

# Most programs are read and never written.
__getattr__ = lazily(
    __name__,
    {
        "format_text": "tidelog.syntax.formatter",
        "parse": "tidelog.syntax.parser",
        "parse_atom": "tidelog.syntax.query",
        "parse_query": "tidelog.syntax.query",
        "print_node": "tidelog.syntax.printer",
        "print_tree": "tidelog.syntax.printer",
    },
)
