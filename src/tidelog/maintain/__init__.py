"""Strategies that turn a state and a change into the next state and a delta."""

from tidelog.maintain.engine import LocalMaintainedEngine

__all__ = ["LocalMaintainedEngine"]
