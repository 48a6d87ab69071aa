"""The engine for one machine."""

from tidelog.engine.local.engine import LocalEngine

__all__ = ["LocalEngine"]
