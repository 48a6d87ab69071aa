"""The texts of documents: those that the client has open, and files for the rest."""

from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

from tidelog.dataclass import dataclass
from tidelog.lsp.positions import Positions, clean


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its address; one that is not open has no version."""

    path: Path
    uri: str
    positions: Positions
    version: int | None = None

    @property
    def text(self) -> str:
        """Return the text itself."""
        return self.positions.text


class Texts:
    """What the client has open, edited as the protocol says.

    A change to a document that was never opened is ignored; a request about one reads its file.
    """

    def __init__(self, encoding: str = "utf-16") -> None:
        self.encoding = encoding
        self._open: dict[Path, Document] = {}

    @property
    def opened(self) -> Mapping[Path, Document]:
        """Return the open documents."""
        return self._open

    def open(self, item: types.TextDocumentItem) -> Document | None:
        """Note a document that is opened; None if it is not a file."""
        path = path_of(item.uri)
        if path is None:
            return None
        made = Document(path, item.uri, Positions(clean(item.text), self.encoding), item.version)
        self._open[path] = made
        return made

    def change(self, params: types.DidChangeTextDocumentParams) -> Document | None:
        """Apply changes in their order; None if the document is not open."""
        path = path_of(params.text_document.uri)
        found = None if path is None else self._open.get(path)
        if path is None or found is None:
            return None
        positions = found.positions
        for change in params.content_changes:
            positions = Positions(positions.changed(change), self.encoding)
        changed = Document(path, found.uri, positions, params.text_document.version)
        self._open[path] = changed
        return changed

    def close(self, uri: str) -> Path | None:
        """Forget a document; return its path if it was open."""
        path = path_of(uri)
        return None if path is None or self._open.pop(path, None) is None else path

    def find(self, uri: str) -> Document | None:
        """Return the document of an address, from its file if it is not open; None if there is none."""
        path = path_of(uri)
        return None if path is None else self.at(path)

    def at(self, path: Path) -> Document | None:
        """Return the document of a path, from its file if it is not open; None if it cannot be read."""
        found = self._open.get(path)
        if found is not None:
            return found
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            return None
        return Document(path, uri_of(path), Positions(text, self.encoding))

    def read(self, path: Path) -> str:
        """Return the text that an `#include` of a file gives; raises what reading it raises."""
        found = self._open.get(resolved(path))
        return path.read_text(encoding="utf-8") if found is None else found.text

    def uri(self, path: Path) -> str:
        """Return the address of a path, as the client writes it."""
        found = self._open.get(path)
        return uri_of(path) if found is None else found.uri


def path_of(uri: str) -> Path | None:
    """Return the path of a `file:` address, None for any other."""
    try:
        found = to_fs_path(uri)
        return None if not found or not uri.startswith("file:") else resolved(Path(found))
    except ValueError:
        return None


def uri_of(path: Path) -> str:
    """Return the `file:` address of a path."""
    return from_fs_path(str(path)) or path.as_uri()


def resolved(path: Path) -> Path:
    """Return one path for a file, however it is named."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
