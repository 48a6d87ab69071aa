"""How many connections and frames partners need: the model of docs/scale.md, for executors of equal size.

A test compares it with what partners count on real sockets.
"""


def connections(partners: int, on_executor: int) -> int:
    """Return the connections of all partners: within executors, and one for each pair of executors."""
    executors, rest = divmod(partners, on_executor)
    sizes = [on_executor] * executors + [rest] * bool(rest)
    return _pairs(len(sizes)) + sum(map(_pairs, sizes))


def most_connections(partners: int, on_executor: int) -> int:
    """Return the connections of a lead, which has most of them."""
    executors = -(-partners // on_executor)
    return executors - 1 + min(on_executor, partners) - 1


def frames(partners: int, on_executor: int) -> tuple[int, int]:
    """Return the frames of an exchange without rows: between executors, and within them.

    Every partner sends one to each partner of its executor, and one for each other executor by its lead.
    The lead there passes it on to the others.
    """
    executors, rest = divmod(partners, on_executor)
    sizes = [on_executor] * executors + [rest] * bool(rest)
    between = partners * (len(sizes) - 1)
    within = sum(size * (size - 1) + (partners - size) * (size - 1) for size in sizes)
    return between, within


def head_bytes(partners: int) -> int:
    """Return the bytes of a frame without rows: length, origin, kind, targets and the message's header."""
    return 8 + 4 + 1 + (partners + 7) // 8 + 4 + len('{"numbers": [0], "text": "", "tables": []}')


def _pairs(count: int) -> int:
    return count * (count - 1) // 2
