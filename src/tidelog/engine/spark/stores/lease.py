"""A lease on a file, for file systems that cannot write conditionally.

    manifest.json.lease/TIME-ID     who made this may replace manifest.json for some seconds from TIME on

Who wants the lease writes such a file and then lists the folder. If others are there it deletes its own and
tries again some time later. Where a list shows all that was written before, at most one of two finds itself
alone. A lease that nobody gave back, as its process ended, counts for `LEASE_SECONDS`.

The holder begins to write in the first quarter of that time, or not at all. So two can write at a time only
if the difference of their clocks and the time of the write are together more than the other three quarters.
"""

import random
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pyarrow import fs

from tidelog.engine.spark.stores.systems import needs_folders

LEASE_SECONDS: Final = 60.0
# The holder writes within this time, or not at all.
_WRITE_SECONDS: Final = LEASE_SECONDS / 4
_MOST_SECONDS: Final = 2 * LEASE_SECONDS


class Lease:
    """Replaces a file while nobody else does, if all keep to the rules above."""

    def __init__(self, system: fs.FileSystem, path: str, reason: str) -> None:
        self._system = system
        self._path = path
        self._folder = f"{path}.lease"
        self.reason_for_lease: str | None = reason

    def __call__(self, change: Callable[[bytes | None], bytes]) -> None:
        """Replace the content while nobody else holds a lease."""
        with self._held() as until:
            content = None
            if self._system.get_file_info(self._path).type is not fs.FileType.NotFound:
                with self._system.open_input_stream(self._path) as stream:
                    content = bytes(stream.read())
            new = change(content)
            if time.time() > until:
                raise TimeoutError(f"{self._path} was not written: it took too long to get there")
            self._write(self._path, new)

    @contextmanager
    def _held(self) -> Iterator[float]:
        """Hold the lease, and yield until when."""
        wait_until = time.monotonic() + _MOST_SECONDS
        while True:
            begun = time.time()
            mine = f"{begun:.6f}-{uuid.uuid4().hex}"
            self._write(f"{self._folder}/{mine}", b"lease")
            try:
                if not self._others(mine):
                    yield begun + _WRITE_SECONDS
                    return
            finally:
                self._forget(mine)
            if time.monotonic() > wait_until:
                raise TimeoutError(f"others hold the lease on {self._path} all the time")
            # At random, or two that met would meet again.
            time.sleep(random.uniform(0.02, 0.3))  # noqa: S311 - not a secret

    def _others(self, mine: str) -> list[str]:
        """Return the leases of others that still count, and delete those that do not."""
        selector = fs.FileSelector(self._folder, allow_not_found=True)
        names = [str(info.base_name) for info in self._system.get_file_info(selector)]
        found = []
        for name in names:
            if name == mine or not (stamp := name.partition("-")[0]).replace(".", "").isdigit():
                continue
            if time.time() - float(stamp) < LEASE_SECONDS:
                found.append(name)
            else:
                self._forget(name)
        return found

    def _forget(self, name: str) -> None:
        # Somebody else was faster, or it ends by itself: what was written counts in any case.
        with suppress(OSError):
            self._system.delete_file(f"{self._folder}/{name}")

    def _write(self, path: str, content: bytes) -> None:
        if needs_folders(self._system):
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
        with self._system.open_output_stream(path) as stream:
            stream.write(content)
