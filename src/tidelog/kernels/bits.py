"""Questions about the bits of a word that take one instruction."""

import numpy as np

from tidelog.kernels import emitted


def _leading_zeros(word: np.uint64) -> np.uint64:
    """Return how many bits of a word are zero above the highest that is set; 64 if none is."""
    return np.uint64(64 - int(word).bit_length())


leading_zeros = emitted(_leading_zeros, "tidelog.kernels.emitted", "leading_zeros")
