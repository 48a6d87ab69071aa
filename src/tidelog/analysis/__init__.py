"""Analyses of a code base: sessions over its files, what they find, and findings as SARIF."""
