"""Outputs that are published together, or not at all."""

import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unwritable_hint

# What the names of parts begin with, in a folder that takes the place of an output.
PART: Final = "part-"
_ATTEMPTS: Final = 20
_WAIT_SECONDS: Final = 0.1


class Staging:
    """Temporary files, or folders of parts, beside the outputs they will replace.

    Leaving the `with` block publishes everything; leaving it by an exception (Ctrl-C too)
    deletes what was written and leaves every output as it was.

        with Staging() as staging:
            staging.path_for(Path("out/path.csv")).write_bytes(...)
    """

    def __init__(self) -> None:
        self._files: dict[Path, Path] = {}
        self._devices: set[Path] = set()
        self._folders: set[Path] = set()
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

    def parts_for(self, output: Path) -> Path:
        """Return the folder to fill with parts, which takes the place of an output.

        A folder that has other files than parts is not replaced.
        """
        if output not in self._files:
            try:
                output.parent.mkdir(parents=True, exist_ok=True)
                _check_replaceable(output)
                prefix = f".{output.name[:100]}."
                name = tempfile.mkdtemp(prefix=prefix, suffix=".part", dir=output.resolve().parent)
            except (OSError, ValueError) as error:
                raise unwritable(output, error) from error
            Path(name).chmod(0o777 & ~_umask())
            self._files[output] = Path(name).absolute()
            self._folders.add(output)
        return self._files[output]

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
                elif output in self._folders:
                    _replace_folder(path, output.resolve())
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
            if path.is_dir():
                _delete_folder(path)
                continue
            with suppress(OSError):
                path.unlink()
        self._files.clear()
        if self._standard is not None:
            self._standard.close()
            self._standard = None


def _check_replaceable(output: Path) -> None:
    """Raise if a folder of parts cannot take the place of an output."""
    if output.is_dir() and any(not each.name.startswith(PART) for each in output.iterdir()):
        raise IsADirectoryError(f"`{output}` is a folder with other files than parts")
    if output.is_relative_to("/dev") or (output.exists() and not (output.is_file() or output.is_dir())):
        raise NotADirectoryError(f"`{output}` cannot become a folder")


def _replace_folder(path: Path, output: Path) -> None:
    """Put a folder in the place of an output, which stays if that fails."""
    if not output.exists():
        path.rename(output)
        return
    before = path.with_suffix(".old")
    output.rename(before)
    try:
        path.rename(output)
    except OSError:
        before.rename(output)
        raise
    if before.is_dir():
        _delete_folder(before)
    else:
        before.unlink()


def _delete_folder(path: Path) -> None:
    """Delete a folder to which a worker that was stopped may be writing its last bytes."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(_WAIT_SECONDS)


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
