"""The oracle: naive substitution over plain sets, for the whole language."""

from tidelog.engine.reference.engine import ReferenceEngine

__all__ = ["ReferenceEngine"]
