"""Outputs that are published together, or not at all."""

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unwritable_hint


class Staging:
    """Temporary files beside the outputs they will replace.

    Leaving the `with` block publishes everything; leaving it by an exception (Ctrl-C too)
    deletes what was written and leaves every output as it was.

        with Staging() as staging:
            staging.path_for(Path("out/path.csv")).write_bytes(...)
    """

    def __init__(self) -> None:
        self._files: dict[Path, Path] = {}
        self._devices: set[Path] = set()
        self._standard: BinaryIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.publish()
        else:
            self.discard()

    def path_for(self, output: Path) -> Path:
        """Return the file to write in the place of an output; the same one when asked again."""
        if output not in self._files:
            try:
                folder = self._folder_for(output)
                handle, name = tempfile.mkstemp(prefix=f".{output.name[:100]}.", suffix=".part", dir=folder)
            except (OSError, ValueError) as error:
                raise unwritable(output, error) from error
            os.close(handle)
            # mkstemp makes files for the owner alone; outputs are as readable as others are.
            Path(name).chmod(0o666 & ~_umask())
            self._files[output] = Path(name)
        return self._files[output]

    def _folder_for(self, output: Path) -> Path | None:
        """Return where to stage an output: beside the file it will replace, so that it can.

        A device such as `/dev/stdout`, or a pipe, is written to and not replaced.
        """
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.is_dir():
            raise IsADirectoryError(f"`{output}` is a folder")
        if output.is_relative_to("/dev") or (output.exists() and not output.is_file()):
            self._devices.add(output)
            return None
        return output.resolve().parent

    def copy_for(self, output: Path) -> Path:
        """Return the file to write like `path_for`, first filled with what the output has now."""
        is_known = output in self._files
        path = self.path_for(output)
        if not is_known and output.is_file():
            try:
                shutil.copyfile(output, path)
            except OSError as error:
                raise unwritable(output, error) from error
        return path

    def standard_output(self) -> BinaryIO:
        """Return a file whose content is printed when all is published."""
        if self._standard is None:
            self._standard = tempfile.TemporaryFile()  # noqa: SIM115 - closed when published or discarded
        return self._standard

    def publish(self) -> None:
        """Put every file in its place and print what is to be printed."""
        try:
            for output, path in list(self._files.items()):
                if output in self._devices:
                    with path.open("rb") as content, output.open("wb") as device:
                        shutil.copyfileobj(content, device)
                    path.unlink()
                else:
                    # A link stays, and the file that it names is replaced.
                    path.replace(output.resolve())
                del self._files[output]
        except OSError as error:
            self.discard()
            raise unwritable(output, error) from error
        if self._standard is not None:
            self._standard.seek(0)
            sys.stdout.flush()
            _print(self._standard)
            self._standard.close()
            self._standard = None

    def discard(self) -> None:
        """Delete what was written."""
        for path in self._files.values():
            with suppress(OSError):
                path.unlink()
        self._files.clear()
        if self._standard is not None:
            self._standard.close()
            self._standard = None


def unwritable(output: Path, error: Exception) -> TidelogError:
    """Return the error for an output that cannot be written."""
    message = f"`{output}` cannot be written: {reason_of(error)}"
    hint = unwritable_hint(output, error)
    return TidelogError([Diagnostic(code="unwritable-file", message=message, hint=hint)])


def _print(content: BinaryIO) -> None:
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        # A replaced standard output (in a notebook, say) takes text only.
        sys.stdout.write(content.read().decode())
    else:
        shutil.copyfileobj(content, binary)
    sys.stdout.flush()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
