"""The pictures of a profile, by name."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from tidelog.profile.flame import flame_picture
from tidelog.profile.profile import Profile
from tidelog.profile.timeline import facts_picture, iterations_picture


class PictureKind(StrEnum):
    """What a picture shows."""

    FLAME = "flame"
    ITERATIONS = "iterations"
    FACTS = "facts"


_PICTURES: Final[Mapping[PictureKind, Callable[[Profile], str]]] = {
    PictureKind.FLAME: flame_picture,
    PictureKind.ITERATIONS: iterations_picture,
    PictureKind.FACTS: facts_picture,
}


def draw_picture(profile: Profile, kind: PictureKind) -> str:
    """Return a picture as SVG."""
    return _PICTURES[kind](profile)
