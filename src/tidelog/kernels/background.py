"""A process that compiles the common kernels that are missing while the one that started it lives."""

import os
import sys
import threading

from tidelog.kernels.compilers import common_kernels
from tidelog.kernels.store import user_folders
from tidelog.kernels.warm import compile_kernels, missing_kernels


def main() -> None:
    """Compile; one process of a user at a time does."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    if _is_first():
        # What programs call first comes first; the process that waits for it asks for one at a time.
        missing = set(missing_kernels(common_kernels()))
        for _ in compile_kernels(filter(missing.__contains__, common_kernels()), is_urgent=False):
            pass
    # Threads may still wait for what they asked for.
    os._exit(0)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _is_first() -> bool:
    """Say whether nobody else does this; the lock is held until the process ends."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415 - not everywhere

    for folder in user_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / "background.lock", os.O_CREAT | os.O_WRONLY, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            break
    return True
