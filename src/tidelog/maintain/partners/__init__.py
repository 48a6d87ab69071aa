"""Maintenance by equal partners: the sweeps of `maintain.sweeps`, with facts sent to their owners."""
