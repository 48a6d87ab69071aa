"""The codec of a program that another one grows into."""

from copy import copy

from tidelog.values import Codec, TypeTable


def codec_beside(codec: Codec, types: TypeTable) -> Codec:
    """Return a codec that knows more types and gives the same codes; the other one stays as it is."""
    other = copy(codec)
    other.types = {**codec.types, **types}
    return other
