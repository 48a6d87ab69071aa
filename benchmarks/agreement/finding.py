"""What a tool finds, in a form in which two tools can be compared."""

from typing import NamedTuple


class Finding(NamedTuple):
    """A name that is not right, and where: the line of the name or of the import's own part."""

    kind: str
    path: str
    line: int
    name: str


# The findings that both tools make.
KINDS = ("undefined", "unused_import", "unused_variable")
