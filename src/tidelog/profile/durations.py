"""Seconds for people."""


def duration(seconds: float) -> str:
    """Return seconds in three digits with the unit that fits: `12.3 s`, `4.21 ms`, `96 µs`."""
    factor, unit = (1.0, "s") if seconds >= 1.0 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    digits = ".3g" if seconds < 1000.0 else ",.0f"
    return f"{seconds * factor:{digits}} {unit}"
