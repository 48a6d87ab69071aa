"""Cells of a notebook: `%load_ext tidelog`, then `%%tidelog` before rules, facts, changes and queries."""
