"""The texts of a git repository, commit by commit, read by the git command."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.trees.hunks import Hunk, parse_hunks

# The tree before the first commit, as git itself names it.
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_FILES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and the one that it follows; a first commit follows none."""

    id: str
    parent: str | None
    subject: str

    @property
    def short(self) -> str:
        """Return the first characters of the id."""
        return self.id[:10]


class GitHistory:
    """A repository whose files of some suffixes are read; a context manager.

    with GitHistory("repo", (".py",)) as history:
        for commit in history.commits("v1.0..main"):
            texts = history.changes(commit)
    """

    def __init__(self, repository: Path | str, suffixes: Sequence[str]) -> None:
        self._repository = Path(repository)
        self._suffixes = tuple(suffixes)
        self._run("rev-parse", "--git-dir")
        self._reader = subprocess.Popen(  # noqa: S603 - arguments are a list, and no shell is involved
            ["git", "-C", str(self._repository), "cat-file", "--batch"],  # noqa: S607 - the git of the user
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the git process."""
        for stream in (self._reader.stdin, self._reader.stdout):
            if stream is not None:
                stream.close()
        self._reader.wait()

    def commits(self, revisions: str = "HEAD") -> list[Commit]:
        """Return the commits of a range such as `v1.0..main`, oldest first, along first parents."""
        text = self._run(
            "log", "--first-parent", "--reverse", "--format=%H%x09%P%x09%s", *_as_arguments(revisions)
        )
        return [_commit(line) for line in text.decode(errors="replace").splitlines()]

    def files(self, revision: str) -> dict[str, str]:
        """Return the texts of all files of a revision, by path."""
        listing = self._run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", revision)
        blobs = {}
        for entry in listing.decode(errors="surrogateescape").split("\0")[:-1]:
            what, path = entry.split("\t", 1)
            mode, _, blob = what.split()
            if mode in _FILES and path.endswith(self._suffixes):
                blobs[path] = blob
        return {path: self._text(blob) for path, blob in blobs.items()}

    def changes(self, commit: Commit) -> dict[str, str | None]:
        """Return the texts of the files that a commit changed against its parent; None for deleted ones."""
        return self.changes_between(commit.parent, commit.id)

    def changes_between(self, before: str | None, after: str) -> dict[str, str | None]:
        """Return the texts of the files that differ between two commits; None for those deleted."""
        first = before or _EMPTY_TREE
        raw = self._run("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", first, after)
        return dict(self._changed(raw.decode(errors="surrogateescape").split("\0")[:-1]))

    def hunks(self, before: str | None, after: str, paths: Sequence[str]) -> tuple[Hunk, ...]:
        """Return the lines that differ between two commits, in these files."""
        if not paths:
            return ()
        options = ("--unified=0", "--no-renames", "--no-color", "--no-ext-diff", "--no-prefix")
        names = [f":(top,literal){path}" for path in paths]
        raw = self._run(
            "-c", "core.quotePath=false", "diff", *options, before or _EMPTY_TREE, after, "--", *names
        )
        return parse_hunks(raw.decode(errors="surrogateescape"))

    def commit(self, revision: str) -> Commit:
        """Return the commit that a revision such as `HEAD~1` names."""
        text = self._run("log", "-1", "--format=%H%x09%P%x09%s", "--end-of-options", revision)
        return _commit(text.decode(errors="replace").splitlines()[0])

    def merge_base(self, one: str, other: str) -> str:
        """Return the newest commit that two revisions have in common."""
        found = self._run("merge-base", one, other)
        return found.decode().strip()

    def _changed(self, parts: Sequence[str]) -> Iterator[tuple[str, str | None]]:
        for what, path in zip(parts[::2], parts[1::2], strict=True):
            _, mode, _, blob, _ = what.removeprefix(":").split()
            if path.endswith(self._suffixes):
                yield path, self._text(blob) if mode in _FILES else None

    def _text(self, blob: str) -> str:
        writer, reader = self._reader.stdin, self._reader.stdout
        assert writer is not None
        assert reader is not None
        writer.write(f"{blob}\n".encode())
        writer.flush()
        header = reader.readline().split()
        if len(header) != 3:
            raise TidelogError([_failed(self._repository, f"there is no object {blob}")])
        return _exactly(reader, int(header[2])).decode(errors="replace")

    def _run(self, *arguments: str) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - arguments are a list, and no shell is involved
                ["git", "-C", str(self._repository), *arguments],  # noqa: S607 - the git of the user
                capture_output=True,
                check=False,
            )
        except OSError as cause:
            raise TidelogError([_failed(self._repository, f"git cannot be run: {cause}")]) from cause
        if done.returncode:
            raise TidelogError([_failed(self._repository, done.stderr.decode(errors="replace").strip())])
        return done.stdout


def _commit(line: str) -> Commit:
    commit, parents, subject = line.split("\t", 2)
    return Commit(commit, parents.split()[0] if parents else None, subject)


def _as_arguments(revisions: str) -> list[str]:
    """Return a range as arguments that cannot be taken for options."""
    return ["--end-of-options", *revisions.split()]


def _exactly(reader: IO[bytes], size: int) -> bytes:
    data = reader.read(size)
    reader.read(1)  # the newline after an object
    return data


def _failed(repository: Path, message: str) -> Diagnostic:
    return Diagnostic(
        code="git-failed",
        message=f"the history of `{repository}` cannot be read: {message.splitlines()[0] if message else ''}",
        hint="give the folder of a git repository, and a range such as v1.0..HEAD",
    )
