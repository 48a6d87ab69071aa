"""What can be wrong with a store, in words."""

from pathlib import Path

from tidelog.errors import Diagnostic, TidelogError


def missing(path: Path) -> TidelogError:
    """Return the error for a folder that is not there, or holds no store."""
    hint = "`tidelog run PROGRAM --store DIR` creates one, and so does `tidelog.open(program, store=DIR)`"
    if path.is_file():
        return _error("no-store", f"`{path}` is a file, and a store is a folder", hint)
    if path.exists():
        return _error("no-store", f"there is no store in `{path}`", hint)
    hint = f"pass the program too to create a store there: `tidelog run PROGRAM --store {path}`"
    return _error("no-store", f"there is no folder `{path}`", hint)


def existing(path: Path) -> TidelogError:
    """Return the error for making a store where one is, or where other files are."""
    what = "is a file, and a store is a folder" if path.is_file() else "is not empty"
    return _error("store-exists", f"`{path}` {what}", "choose a new folder for a new store")


def in_use(path: Path, writer: str) -> TidelogError:
    """Return the error for a second writer; `writer` says who the first one is."""
    return _error(
        "store-in-use",
        f"the store `{path}` is open for writing in {writer}",
        "close it there, or open the store for reading only",
    )


def read_only(path: Path) -> TidelogError:
    """Return the error for changing a store that was opened for reading."""
    hint = "open it for writing: leave out read_only"
    return _error("read-only-store", f"the store `{path}` is open for reading only", hint)


def newer(path: Path, form: object) -> TidelogError:
    """Return the error for a store in a form that this Tidelog does not know."""
    return _error(
        "unknown-store-format", f"the store `{path}` has format {form}, which is not known", "upgrade Tidelog"
    )


def damaged(file: Path, place: str, found: str) -> TidelogError:
    """Return the error for a file whose content is not what was written."""
    return _error(
        "damaged-store",
        f"`{file}` is damaged at {place}: {found}",
        "restore the store from a copy; nothing was changed",
    )


def unwritable(file: Path, cause: OSError | ValueError) -> TidelogError:
    """Return the error for a file that cannot be written: the disk is full, or no file has such a name."""
    reason = getattr(cause, "strerror", None) or str(cause)
    return _error(
        "unwritable-store",
        f"`{file}` cannot be written: {reason}",
        "free disk space, or allow writing; the store is as it was before",
    )


def unreadable(file: Path, cause: OSError) -> TidelogError:
    """Return the error for a file that is there but cannot be read."""
    return _error("unreadable-store", f"`{file}` cannot be read: {cause.strerror or cause}")


def uncertain(path: Path) -> TidelogError:
    """Return the error for going on after the disk refused to take a failed epoch back."""
    return _error(
        "uncertain-store",
        f"a write to the store `{path}` failed and could not be undone",
        "open the store again: it holds every epoch that was committed",
    )


def unsupported() -> TidelogError:
    """Return the error for a system without file locks."""
    return _error("no-file-locks", "this system has no file locks, which a store needs")


def _error(code: str, message: str, hint: str | None = None) -> TidelogError:
    return TidelogError([Diagnostic(code=code, message=message, hint=hint)])
