"""The steps of an incremental proof."""

from enum import StrEnum

from tidelog.dataclass import dataclass


class Role(StrEnum):
    """What became of a fact in the epoch."""

    INSERTED = "inserted"
    DELETED = "deleted"
    APPEARED = "appeared"
    VANISHED = "vanished"
    UNTOUCHED = "untouched"


@dataclass(frozen=True, slots=True)
class StoryStep:
    """A fact of an incremental proof, the rule applied, and what it was applied to.

    `inserted` and `deleted` facts are changes of the input and stand alone, as do `untouched` ones. A
    fact that was shown above stands without its premises.
    """

    fact: str
    role: Role
    rule: str | None = None
    premises: tuple["StoryStep", ...] = ()
    is_shown_above: bool = False
