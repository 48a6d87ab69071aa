"""What a tool finds, in a form in which two tools can be compared."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that is not right, and where: the line of the name, of the import's own part, of the `def`.

    A statement has no name.
    """

    kind: str
    path: str
    line: int
    name: str
