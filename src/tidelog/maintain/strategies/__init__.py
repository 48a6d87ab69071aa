"""Variants of the strategy `update`: other heads, or other ways to find derivations, for the same sweeps."""
