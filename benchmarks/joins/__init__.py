"""Joins of cyclic bodies, index structures side by side, and what following a trace costs."""
