"""Text to tree with spans, and back."""

from tidelog.syntax.formatter import format_text
from tidelog.syntax.parser import parse, parse_atom
from tidelog.syntax.printer import print_node, print_tree

__all__ = ["format_text", "parse", "parse_atom", "print_node", "print_tree"]
