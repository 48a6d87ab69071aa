"""What the site needs beside the pages of docs: files of the repository, titles of blocks, and no network.

Pages are written so that they can be read in the repository as they are. Here links that leave docs are
turned to the page of the site that shows the file, a fenced block that names a file gets a title, and a
finished page that would load something from another server fails the build.
"""

import posixpath
import re
from pathlib import Path
from typing import Final

import datalog_lexer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
# Files outside docs that the site shows, and where.
SHOWN: Final = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "benchmarks/RESULTS.md": "project/results.md",
    "README.md": "index.md",
}
PICTURES: Final = "benchmarks/pictures"

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TITLED = re.compile(r"\A```(\w+)[ \t]+([\w./-]+)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
# What a browser loads by itself; a link that a reader may follow is something else.
_LOADED = re.compile(
    r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)"
)


def on_startup(command: str, dirty: bool) -> None:  # noqa: ARG001, FBT001 - mkdocs passes them by name
    """Let programs be coloured."""
    datalog_lexer.register()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that are not in docs."""
    pictures = sorted((ROOT / PICTURES).glob("*.*"))
    shown = [(ROOT / source, uri) for source, uri in SHOWN.items() if uri.startswith("project/")]
    for path, uri in [*shown, *((picture, f"pictures/{picture.name}") for picture in pictures)]:
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs passes them by name
    """Return the page with its links turned to pages of the site and titles on its blocks."""
    origin = next((source for source, uri in SHOWN.items() if uri == page.file.src_uri), None)
    source = origin if origin and origin != "README.md" else f"docs/{page.file.src_uri}"
    parts = []
    end = 0
    for block in _FENCED.finditer(markdown):
        parts.append(_turn_links(markdown[end : block.start()], source, page.file.src_uri, files))
        parts.append(_fence(block[0]))
        end = block.end()
    parts.append(_turn_links(markdown[end:], source, page.file.src_uri, files))
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - mkdocs passes it by name
    """Return the page as it is, if it loads nothing from elsewhere."""
    loaded = _LOADED.findall(output)
    if loaded:
        raise PluginError(f"{page.file.src_uri} would load from the network: {', '.join(loaded)}")
    return output


def _fence(block: str) -> str:
    """Return a fenced block with its file as the title; examples with prompts and programs are coloured."""
    if re.match(r"```python\n(?:.*\n)*?>>> ", block):
        block = block.replace("```python", "```pycon", 1)
    if re.match(r"```text \S+\.dl\n", block):
        block = block.replace("```text", "```datalog", 1)
    return _TITLED.sub(r'```\1 title="\2"', block)


def _turn_links(text: str, source: str, uri: str, files: Files) -> str:
    """Return text with the links of a file turned; those to files that the site does not show become text."""

    def turned(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        path, hash_sign, anchor = target.partition("#")
        if not path or ":" in path:
            return link[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        found = _uri_of(wanted)
        if found is not None and files.get_file_from_path(found) is not None:
            there = posixpath.relpath(found, posixpath.dirname(uri) or ".")
            return f"{mark}[{words}]({there}{hash_sign}{anchor})"
        return words if (ROOT / wanted).exists() else link[0]

    return _LINK.sub(turned, text)


def _uri_of(path: str) -> str | None:
    """Return where the site shows a file of the repository."""
    if path in SHOWN:
        return SHOWN[path]
    if path.startswith(f"{PICTURES}/"):
        return path.removeprefix("benchmarks/")
    return path.removeprefix("docs/") if path.startswith("docs/") else None
