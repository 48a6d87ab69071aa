"""Diagnostics: what is wrong with a user's program, facts or request."""

from tidelog.errors.diagnostic import Diagnostic, Severity, TidelogError, raise_if_any
from tidelog.errors.render import render

__all__ = ["Diagnostic", "Severity", "TidelogError", "raise_if_any", "render"]
