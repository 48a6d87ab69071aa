"""Stores with an image: opened without reading facts, and the same in every other way."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog
from support.storing import PATHS, from_scratch, make, random_change, relations, reopen, store_of
from tidelog.errors import TidelogError
from tidelog.maintain import LocalMaintainedEngine
from tidelog.store import store as store_module

EDGES = {(1, "a"), (1, "b"), (2, "b")}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch):
    """However slow the machine is, no snapshot is written but where a test asks for it."""
    monkeypatch.setattr(store_module, "_LEAST_SECONDS", 1e9)


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return how states were loaded since."""
    found = []
    for name in ("import_state", "import_image"):
        original = getattr(LocalMaintainedEngine, name)

        def noting(*arguments, name=name, original=original):
            found.append(name)
            return original(*arguments)

        monkeypatch.setattr(LocalMaintainedEngine, name, noting)
    return found


def _image(folder: Path) -> Path:
    (found,) = folder.glob("image.*")
    return found


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_any_life_of_a_store_with_images_ends_as_from_scratch(tmp_path_factory, seed):
    """Epochs, checkpoints of both kinds and openings in any order end in what the last facts give."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    folder = tmp_path_factory.mktemp("store") / "s"
    edges = {(1, "a"), (1, "b")}
    kept = make(folder, facts={"edge": sorted(edges)})

    for _ in range(10):
        match chance.randrange(4):
            case 0:
                kept.close()
                kept = reopen(folder)
            case 1:
                kept.checkpoint(indexes=chance.random() < 0.7)
            case _:
                inserted, deleted = random_change(chance, edges)
                kept.apply(insert={"edge": sorted(inserted)}, delete={"edge": sorted(deleted)})
                edges = (edges - deleted) | inserted
    kept.close()

    again = reopen(folder)
    assert relations(again) == from_scratch(PATHS, edges)
    again.close()


def test_an_image_is_mapped_and_facts_are_not_read(tmp_path: Path, imports: list[str]):
    """The files of the relations are not even looked at; epochs since the checkpoint are applied."""
    kept = make(tmp_path / "s", facts={"edge": sorted(EDGES)})
    kept.checkpoint(indexes=True)
    kept.apply(insert={"edge": [(3, "new")]})
    kept.close()
    for file in (tmp_path / "s" / "relations").glob("*.parquet"):
        file.write_bytes(b"damaged")

    again = reopen(tmp_path / "s")

    assert imports == ["import_image"]
    assert again.epoch == 1
    assert relations(again) == from_scratch(PATHS, EDGES | {(3, "new")})
    assert str(again.why("pair('ab')")).startswith('pair("ab")')


@pytest.mark.parametrize("what", ["missing", "cut", "other layout", "of another checkpoint"])
def test_an_image_that_does_not_fit_is_passed_over(
    tmp_path: Path, imports: list[str], monkeypatch: pytest.MonkeyPatch, what: str
):
    """The store is then opened as if there were none."""
    kept = make(tmp_path / "s", facts={"edge": sorted(EDGES)})
    kept.checkpoint(indexes=True)
    image = _image(tmp_path / "s")
    content = image.read_bytes()
    if what == "of another checkpoint":
        kept.apply(insert={"edge": [(3, "new")]})
        kept.checkpoint(indexes=True)
        image = _image(tmp_path / "s")
        image.write_bytes(content)
    expected = relations(kept)
    kept.close()
    if what == "missing":
        image.unlink()
    elif what == "cut":
        image.write_bytes(content[:-7])
    elif what == "other layout":
        monkeypatch.setattr(store_module, "layout_stamp", lambda: "another")

    again = reopen(tmp_path / "s")

    assert imports == ["import_state"]
    assert relations(again) == expected


def test_a_checkpoint_without_indexes_leaves_no_image(tmp_path: Path):
    """Images of earlier checkpoints are deleted."""
    kept = make(tmp_path / "s", facts={"edge": sorted(EDGES)})
    kept.checkpoint(indexes=True)
    assert _image(tmp_path / "s").exists()
    kept.apply(insert={"edge": [(3, "new")]})

    kept.checkpoint()

    assert not list((tmp_path / "s").glob("image.*"))


def test_an_image_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The checkpoint is there all the same, and nothing is left of the image."""
    kept = make(tmp_path / "s", facts={"edge": sorted(EDGES)})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module, "ImageWriter", full)

    with pytest.raises(TidelogError, match="unwritable-store"):
        kept.checkpoint(indexes=True)

    assert store_of(kept).status().snapshot_epoch == kept.epoch
    assert not list((tmp_path / "s").glob("image.*"))


def test_readers_map_an_image_too(tmp_path: Path, imports: list[str]):
    """What a reader writes to its pages nobody else sees."""
    kept = make(tmp_path / "s", facts={"edge": sorted(EDGES)})
    kept.checkpoint(indexes=True)

    with reopen(tmp_path / "s", read_only=True) as reader:
        assert relations(reader) == relations(kept)
    assert imports == ["import_image"]


def test_the_reference_engine_has_no_image(tmp_path: Path):
    """Other engines write a checkpoint and nothing else."""
    with tidelog.open(PATHS, facts={"edge": sorted(EDGES)}, store=tmp_path / "s", engine="reference") as kept:
        kept.checkpoint(indexes=True)

    assert not list((tmp_path / "s").glob("image.*"))
