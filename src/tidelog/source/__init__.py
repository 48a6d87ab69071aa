"""Text positions: the bottom of the house."""

from tidelog.source.text import Source, Span

__all__ = ["Source", "Span"]
