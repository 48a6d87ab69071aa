"""Maintenance by equal partners: the sweeps of `maintain.update`, with facts sent to their owners."""
