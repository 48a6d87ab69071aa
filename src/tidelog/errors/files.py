"""What to do about a file that cannot be read or written."""

from difflib import get_close_matches
from pathlib import Path

from tidelog.errors.arguments import is_path


def reason_of(cause: Exception) -> str:
    """Return why the system refused, in its own words."""
    return getattr(cause, "strerror", None) or str(cause)


def unreadable_hint(path: Path, cause: Exception) -> str | None:
    """Return what to try: the nearest name in the folder, a file in place of a folder, another folder."""
    if isinstance(cause, IsADirectoryError):
        return f"`{path}` is a folder; name a file"
    if isinstance(cause, PermissionError):
        return "allow it to be read"
    if not isinstance(cause, FileNotFoundError | NotADirectoryError) or not is_path(path):
        return None
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder `{folder}`"
    files = sorted(file.name for file in folder.iterdir() if file.is_file() or file.suffix == path.suffix)
    near = (
        get_close_matches(path.name, files, n=1)
        or [name for name in files if Path(name).stem == path.stem][:1]
    )
    if near:
        return f"did you mean {folder / near[0]}?"
    alike = [str(folder / name) for name in files if path.suffix and name.endswith(path.suffix)]
    return f"there are {', '.join(alike[:5])}" if alike else f"there is no such file in `{folder}`"


def unwritable_hint(path: Path, cause: Exception) -> str | None:
    """Return what to try: a folder that there is, and that may be written to."""
    if isinstance(cause, FileExistsError | NotADirectoryError):
        file = next((each for each in path.parents if each.is_file()), path.parent)
        return f"`{file}` is a file; name a folder"
    if isinstance(cause, FileNotFoundError):
        return f"there is no folder `{path.parent}`; make it, or name another"
    if isinstance(cause, IsADirectoryError):
        return f"`{path}` is a folder; name a file"
    return "name a folder that you may write to" if isinstance(cause, PermissionError) else None
