"""Bytes damaged as disks, networks and wrong tools damage them."""

import random
from collections.abc import Sequence


def damage(chance: random.Random, data: bytes, pieces: Sequence[bytes], operations: int) -> bytes:
    """Return the bytes after some operations; `pieces` are what such data is made of."""
    held = bytearray(data)
    for _ in range(operations):
        place = chance.randint(0, len(held))
        end = min(len(held), place + chance.choice((1, 1, 2, 4, 16, 100)))
        match chance.randrange(7):
            case 0:
                del held[place:end]
            case 1:
                held[place:place] = held[place:end]
            case 2:
                held[place:place] = chance.choice(pieces)
            case 3:
                held[place:end] = chance.choice(pieces)
            case 4 if place < len(held):
                held[place] = chance.randrange(256)
            case 5 if chance.random() < 0.5:
                del held[place:]
            case _:
                held[place:place] = chance.randbytes(chance.choice((1, 1, 2, 5)))
    return bytes(held)
