"""Arrays in a file that is mapped."""

from pathlib import Path

import numpy as np
import pytest

from tidelog.values.image import ImageWriter, MappedImage
from tidelog.values.memory import give_back

ARRAYS = {
    "numbers": np.arange(100_000, dtype=np.int64),
    "rows": np.arange(12, dtype=np.int32).reshape(4, 3),
    "zeros": np.zeros(1 << 20, np.uint8),
    "none": np.empty((0, 2), np.int32),
    "no columns": np.empty((5, 0), np.int32),
}


def _write(path: Path) -> dict[str, int]:
    with ImageWriter(path) as image:
        numbers = {name: image.add(array) for name, array in ARRAYS.items()}
        image.finish(numbers)
    return numbers


def test_arrays_are_those_that_were_written(tmp_path: Path):
    """Type, shape and content are the same, and what is all zero takes no room on the disk."""
    _write(tmp_path / "image")

    image = MappedImage.open(tmp_path / "image")

    assert image is not None
    for name, array in ARRAYS.items():
        found = image.array(image.about[name])
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert (found == array).all()
    assert (tmp_path / "image").stat().st_blocks * 512 < ARRAYS["numbers"].nbytes + (1 << 19)


def test_an_array_may_have_room(tmp_path: Path):
    """Rows behind those that were written are zero, and the next array is not in their place."""
    with ImageWriter(tmp_path / "image") as image:
        roomy, other = image.add(np.ones((3, 2), np.int32), 5000), image.add(np.ones(7, np.uint8))
        image.finish({})
    mapped = MappedImage.open(tmp_path / "image")
    assert mapped is not None

    array = mapped.array(roomy)

    assert array.shape == (5000, 2)
    assert (array.sum(), mapped.array(other).sum()) == (6, 7)


def test_what_is_written_stays_in_the_process(tmp_path: Path):
    """An array can be written to; the file and other maps of it stay as they were."""
    _write(tmp_path / "image")
    first, second = MappedImage.open(tmp_path / "image"), MappedImage.open(tmp_path / "image")
    assert first is not None
    assert second is not None

    first.array(0)[:] = -1

    assert (first.array(0) == -1).all()
    assert (second.array(0) == ARRAYS["numbers"]).all()


def test_memory_of_an_image_is_not_given_back(tmp_path: Path):
    """Its arrays share pages, so that a range of one of them is not a range of the pages."""
    _write(tmp_path / "image")
    image = MappedImage.open(tmp_path / "image")
    assert image is not None
    rows = image.array(1)

    assert not give_back(rows, 0, len(rows))


@pytest.mark.parametrize("kept", [0, 10, 0.5, -1, -20])
def test_a_file_that_is_not_whole_is_none(tmp_path: Path, kept: float):
    """Wherever a file ends too soon, there is no image."""
    _write(tmp_path / "image")
    content = (tmp_path / "image").read_bytes()
    size = int(kept * len(content)) if isinstance(kept, float) else kept
    (tmp_path / "image").write_bytes(content[:size])

    assert MappedImage.open(tmp_path / "image") is None


def test_a_changed_description_is_noticed(tmp_path: Path):
    """What the file says of its arrays has a checksum."""
    _write(tmp_path / "image")
    content = (tmp_path / "image").read_bytes()
    (tmp_path / "image").write_bytes(content.replace(b'"rows": 1', b'"rows": 0'))

    assert MappedImage.open(tmp_path / "image") is None
    assert MappedImage.open(tmp_path / "missing") is None
