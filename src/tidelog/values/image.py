"""Arrays in one file that is mapped and not read: a page of it is read when somebody looks at it.

    image = ImageWriter(path)
    number = image.add(array)
    image.finish({"rows": number})

    mapped = MappedImage.open(path)
    rows = mapped.array(mapped.about["rows"])

Arrays of an image can be written to; what is written stays in this process. The file ends with what it is
about and with the places of its arrays. That part has a checksum; the arrays have none, because checking them
would be reading them.
"""

import json
import mmap
import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Protocol, Self

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
ArrayOf = Callable[[int], AnyArray]

# Behind the description: its length and checksum, and this.
_MAGIC: Final = b"tidelog image 1\n"
_DIGEST_BYTES: Final = 16
_END_BYTES: Final = 8 + _DIGEST_BYTES + len(_MAGIC)
_ALIGNED: Final = 4096
# Pieces of this size that are all zero are holes in the file.
_PIECE: Final = 1 << 16


class Add(Protocol):
    """Adds an array to an image, with room for so many rows, and returns its number."""

    def __call__(self, array: AnyArray, rows: int = 0) -> int:
        """Return the number of an array that will have at least so many rows."""


class ImageWriter:
    """Writes arrays to a new file; the file is whole, and on the disk, after `finish`."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._places: list[tuple[str, tuple[int, ...], int]] = []
        self._end = 0

    def add(self, array: AnyArray, rows: int = 0) -> int:
        """Write an array; return its number. It will have so many rows at least, zero behind its own."""
        content = np.ascontiguousarray(array)
        first = -(-self._end // _ALIGNED) * _ALIGNED
        shape = (max(rows, len(content)), *content.shape[1:])
        self._places.append((content.dtype.str, shape, first))
        content_bytes = content.reshape(-1).view(np.uint8)
        for start in range(0, content_bytes.size, _PIECE):
            piece = content_bytes[start : start + _PIECE]
            if piece.any():
                self._file.seek(first + start)
                self._file.write(piece.data)
        self._end = first + int(np.prod(shape)) * content.itemsize
        return len(self._places) - 1

    def finish(self, about: Mapping[str, object]) -> None:
        """Write what the arrays are about, and close the file."""
        text = json.dumps({"arrays": self._places, "about": about}).encode()
        # Behind holes, which the file then has.
        self._file.seek(self._end)
        self._file.write(text)
        self._file.write(len(text).to_bytes(8, "little") + _digest(text) + _MAGIC)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class MappedImage:
    """The arrays of a file, and what it says about them."""

    def __init__(self, pages: mmap.mmap, content: Mapping[str, Any]) -> None:
        self._pages = pages
        self._places: list[tuple[str, list[int], int]] = content["arrays"]
        self.about: Mapping[str, Any] = content["about"]

    @classmethod
    def open(cls, path: Path) -> "MappedImage | None":
        """Return the image in a file; None if there is none, or it is not whole."""
        try:
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                if size < _END_BYTES:
                    return None
                pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
        except (OSError, ValueError):
            return None
        end = pages[size - _END_BYTES :]
        length = int.from_bytes(end[:8], "little")
        if end[8 + _DIGEST_BYTES :] != _MAGIC or length > size - _END_BYTES:
            return None
        text = pages[size - _END_BYTES - length : size - _END_BYTES]
        if _digest(text) != end[8 : 8 + _DIGEST_BYTES]:
            return None
        return cls(pages, json.loads(text))

    def array(self, number: int) -> AnyArray:
        """Return an array by its number."""
        dtype, shape, first = self._places[number]
        kind = np.dtype(dtype)
        count = int(np.prod(shape))
        if not count:
            return np.empty(shape, kind)
        found: AnyArray = np.frombuffer(self._pages, kind, count, first)
        return found.reshape(shape)


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST_BYTES).digest()
