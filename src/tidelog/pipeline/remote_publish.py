"""Outputs in object stores, where no folder can be exchanged for another.

New files have new names. They are written first, then `_tidelog.json`, which names the epoch and its files,
and then the files before are deleted. A reader that lists the folder in between sees both; one that reads
`_tidelog.json` first does not.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidelog.pipeline.object_store import ObjectFolder

_NAMES: Final = "_tidelog.json"


def publish_all(files: Sequence[Path], uri: str, epoch: int) -> None:
    """Put the files with all facts of an output in the place of those before."""
    folder = ObjectFolder(uri)
    before = [name for name in folder.names() if name.endswith(".parquet") and "/" not in name]
    names = [f"part-{epoch}-{place}.parquet" for place in range(len(files))]
    for file, name in zip(files, names, strict=True):
        folder.upload(file, name)
    folder.write(_NAMES, json.dumps({"epoch": epoch, "files": names}).encode())
    for name in before:
        if name not in names:
            folder.delete(name)


def publish_feed(files: Sequence[Path], uri: str, part: str) -> None:
    """Add the files of an epoch's changes under a folder such as `epoch=3`; doing it again does no harm."""
    folder = ObjectFolder(uri)
    for file in files:
        folder.upload(file, f"{part}/{file.name}")
