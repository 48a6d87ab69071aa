"""A whole state as files, and back."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import EngineState, RelationState
from tidelog.engine.numbering import RuleNumbers
from tidelog.program.nodes import Program
from tidelog.progress import activity
from tidelog.store import mistakes, relation_file
from tidelog.store.growth import KnownCodes
from tidelog.store.kept_epochs import KeptEpochs, last_epoch, read_kept_epochs, write_kept_epochs
from tidelog.store.manifest import StoredFile, StoreManifest
from tidelog.store.sync import digest, sync_folder
from tidelog.values import Codec
from tidelog.values.arrow import pa

_RELATIONS: Final = "relations"
# Before the name of a rule: the file of the numbers that `autoinc()` gave there.
NUMBERS: Final = "numbers of "
# Texts and records only ever get more, so a snapshot writes the new ones; so many files at most.
_MOST_PIECES: Final = 8


@dataclass(frozen=True)
class SnapshotFiles:
    """The files of a snapshot, as the manifest will name them."""

    relations: Mapping[str, StoredFile]
    symbols: tuple[StoredFile, ...]
    records: tuple[StoredFile, ...]


@activity("writing a snapshot")
def write_snapshot(  # noqa: PLR0913, PLR0917 - a snapshot has no fewer parts
    folder: Path,
    generation: int,
    state: EngineState,
    program: Program,
    codec: Codec,
    before: StoreManifest | None,
) -> SnapshotFiles:
    """Write what changed since the manifest before; return all files of the state.

    Files that the manifest before names are left as they are. On return all are safe on the disk.
    """
    (folder / _RELATIONS).mkdir(exist_ok=True)
    old = before.relations if before is not None else {}
    relations: dict[str, StoredFile] = {}
    numbers = {f"{NUMBERS}{rule}": _as_relation(each) for rule, each in state.numbers.items()}
    for number, (name, relation_state) in enumerate({**state.relations, **numbers}.items()):
        columns = relation_file.RelationFile.of(relation_state, program.relations.get(name), codec)
        content = columns.content()
        if name in old and old[name].content == content:
            relations[name] = old[name]
            continue
        file = f"{_RELATIONS}/{re.sub(r'[^A-Za-z0-9_]', '-', name)[:80]}.{number}.{generation}.parquet"
        checksum = columns.write(folder / file)
        size = (folder / file).stat().st_size
        relations[name] = StoredFile(file, size, checksum.hex(), relation_state.levels.size, content)
    symbols = _write_symbols(folder, generation, codec, before)
    records = _write_records(folder, generation, codec, before)
    sync_folder(folder / _RELATIONS)
    sync_folder(folder)
    return SnapshotFiles(relations, symbols, records)


def read_dictionaries(
    folder: Path, manifest: StoreManifest, handles: Mapping[str, int], codec: Codec, *, with_symbols: bool
) -> None:
    """Give the codec the texts and records of a snapshot, with their codes; if asked for, records alone."""
    expected = sum(piece.count for piece in manifest.symbols) if not with_symbols else 0
    assert KnownCodes.by(codec) == KnownCodes(expected), "a codec that knows other texts already"
    for file in manifest.symbols if with_symbols else ():
        data = read_checked(folder / file.file, handles[file.file], file)
        codec.symbols.encode_arrow(relation_file.read_symbols(data))
    for file in manifest.records:
        data = read_checked(folder / file.file, handles[file.file], file)
        codec.records.append(*relation_file.read_records(data))


def read_state(
    folder: Path, manifest: StoreManifest, handles: Mapping[str, int], *, is_lazy: bool = False
) -> EngineState:
    """Return the state of a snapshot; a lazy one reads the file of a relation when it is asked for."""

    def read(file: StoredFile) -> "pa.Buffer":
        return read_checked(folder / file.file, handles[file.file], file)

    contents: dict[str, Callable[[], pa.Buffer]] = {}
    numbers: dict[str, RuleNumbers] = {}
    for name, file in manifest.relations.items():
        if name.startswith(NUMBERS):
            numbers[name.removeprefix(NUMBERS)] = _as_numbers(relation_file.read_relation(read(file)))
        elif is_lazy:
            contents[name] = partial(read, file)
        else:
            contents[name] = partial(_same, read(file))
    return EngineState(_StoredRelations(contents), manifest.stratum_work, numbers)


def _same(data: "pa.Buffer") -> "pa.Buffer":
    return data


class _StoredRelations(Mapping[str, RelationState]):
    """The relations of a snapshot by name, from the contents of their files.

    A relation is decoded whenever it is asked for, so that an engine that takes one after another never has
    all of them twice in memory.
    """

    def __init__(self, contents: "Mapping[str, Callable[[], pa.Buffer]]") -> None:
        self._contents = contents

    def __getitem__(self, name: str) -> RelationState:
        return relation_file.read_relation(self._contents[name]())

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)


def _as_relation(numbers: RuleNumbers) -> RelationState:
    """Return the numbers of a rule's derivations as facts, whose counts are the numbers for each."""
    count = numbers.numbers.size
    steps = np.full(count, numbers.step, np.int32)
    return RelationState(
        [*numbers.columns, numbers.numbers], np.zeros(count, np.int32), steps, np.zeros(count, np.bool_)
    )


def _as_numbers(state: RelationState) -> RuleNumbers:
    *columns, numbers = state.columns
    return RuleNumbers(columns, numbers, int(state.counts[0]))


def read_checked(path: Path, handle: int, file: StoredFile) -> "pa.Buffer":
    """Return the content of a file if it is what was written."""
    try:
        with open(handle, "rb", closefd=False) as opened:
            opened.seek(0)
            data = opened.read()
    except OSError as cause:
        raise mistakes.unreadable(path, cause) from cause
    if len(data) != file.size_bytes:
        raise mistakes.damaged(path, f"byte {len(data)}", f"it ends there, not at {file.size_bytes}")
    if digest(data).hex() != file.checksum:
        raise mistakes.damaged(path, "an unknown place", "its checksum does not fit")
    return pa.py_buffer(data)


def delete_unnamed(folder: Path, manifest: StoreManifest | None) -> None:
    """Delete the files of other snapshots; a file that cannot be deleted only takes room."""
    kept: set[str] = set()
    if manifest is not None:
        kept = {manifest.log, manifest.image, *(file.file for file in manifest.files)}
    for path in _own_files(folder):
        if path.relative_to(folder).as_posix() not in kept:
            with suppress(OSError):
                path.unlink()


def _own_files(folder: Path) -> Iterator[Path]:
    for pattern in (
        "log.*",
        "symbols.*.parquet",
        "records.*.parquet",
        "past.*",
        "image.*",
        "*.new",
        f"{_RELATIONS}/*.parquet",
    ):
        yield from folder.glob(pattern)


def _write_symbols(
    folder: Path, generation: int, codec: Codec, before: StoreManifest | None
) -> tuple[StoredFile, ...]:
    pieces = _kept_pieces(before.symbols if before is not None else ())
    first = KnownCodes().symbols + sum(piece.count for piece in pieces)
    if len(codec.symbols) == first:
        return pieces
    file = f"symbols.{generation}.parquet"
    checksum, count = relation_file.write_symbols(folder / file, first, codec)
    return (*pieces, StoredFile(file, (folder / file).stat().st_size, checksum.hex(), count))


def _write_records(
    folder: Path, generation: int, codec: Codec, before: StoreManifest | None
) -> tuple[StoredFile, ...]:
    pieces = _kept_pieces(before.records if before is not None else ())
    first = KnownCodes().records + sum(piece.count for piece in pieces)
    if len(codec.records) == first:
        return pieces
    file = f"records.{generation}.parquet"
    checksum, count = relation_file.write_records(folder / file, first, codec)
    return (*pieces, StoredFile(file, (folder / file).stat().st_size, checksum.hex(), count))


def write_past(
    folder: Path, generation: int, kept: KeptEpochs | None, before: StoreManifest | None, oldest: int
) -> tuple[StoredFile, ...]:
    """Write epochs that are in no file yet; return the files with epochs from the oldest one on.

    `kept` has all epochs that are known where `kept_until` says 0.
    """
    if kept is None:
        return ()
    pieces = before.past if before is not None and kept_until(before) else ()
    pieces = tuple(piece for piece in pieces if last_epoch(piece) >= oldest)
    if not kept.epochs:
        return pieces
    return (*pieces, write_kept_epochs(folder, f"past.{generation}", kept))


def kept_until(manifest: StoreManifest | None) -> int:
    """Return the last epoch in the files of old epochs; 0 if they are to be written again as one."""
    past = manifest.past if manifest is not None else ()
    return last_epoch(past[-1]) if 0 < len(past) < _MOST_PIECES else 0


def read_past(folder: Path, manifest: StoreManifest, handles: Mapping[str, int]) -> tuple[KeptEpochs, ...]:
    """Return the old epochs of a snapshot, file by file."""
    return tuple(
        read_kept_epochs(read_checked(folder / file.file, handles[file.file], file).to_pybytes())
        for file in manifest.past
    )


def _kept_pieces(pieces: tuple[StoredFile, ...]) -> tuple[StoredFile, ...]:
    return pieces if len(pieces) < _MOST_PIECES else ()
