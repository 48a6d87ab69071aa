"""The version of the package, for comparing driver and workers."""

from importlib import import_module


def own_version() -> str:
    """Return the version of tidelog in this process.

    The package itself imports sessions, and so is looked up and not imported here.
    """
    return str(import_module("tidelog").__version__)
