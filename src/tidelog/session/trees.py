"""Trees in a session: facts of a tree, and edit scripts as changes."""

from collections.abc import Container, Mapping

from tidelog.session.changes import Change
from tidelog.trees.edits import EditScript


def script_changes(script: EditScript, relations: Container[str]) -> Mapping[str, Change]:
    """Return what an edit script inserts and deletes, of the relations that the program has.

    A program that declares only some of a tree's relations is told of those alone: no rule of it
    could read the others.
    """
    return {name: Change(change.insert, change.delete) for name, change in script.changes(relations).items()}
