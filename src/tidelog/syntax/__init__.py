"""Text to tree with spans, and back."""

from tidelog.syntax.parser import parse, parse_atom

__all__ = ["parse", "parse_atom"]
