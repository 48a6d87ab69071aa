"""The version of the package, for stages that it imports itself."""

from importlib import import_module


def own_version() -> str:
    """Return the version of tidelog in this process.

    Importing the package would import sessions, so its version is looked up instead.
    """
    return str(import_module("tidelog").__version__)
