"""Aggregates under change, and best paths beside direct implementations."""
