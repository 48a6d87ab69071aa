"""Blame and repair against delta debugging."""
