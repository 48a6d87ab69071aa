"""Short names for what passes make: the same content has the same one, whatever else the program has."""

import hashlib


def content_digest(content: object) -> str:
    """Return a digest of nodes of a program."""
    # `repr` has no spans: what is written in two places is the same.
    return hashlib.blake2b(repr(content).encode(), digest_size=6).hexdigest()
