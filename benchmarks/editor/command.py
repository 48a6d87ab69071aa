"""`python -m benchmarks editor`: the round trip of an edit through the language server.

python -m benchmarks editor --lines 50000 --edits 1000 --programs names.dl uses.dl calls.dl
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.editor.client import LspClient
from benchmarks.history.edits import Texts, edit_statement

_ANALYSES = Path(__file__).parents[2] / "examples" / "analyses"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--lines", type=int, default=50_000, help="size of the code base that is edited")
    parser.add_argument("--edits", type=int, default=1_000, help="how many single statements to edit")
    parser.add_argument("--programs", nargs="*", default=["names.dl"], help="of examples/analyses")


def run_editor(options: argparse.Namespace) -> int:
    """Measure and print; return the exit status."""
    from benchmarks.trees.sources import read_files  # noqa: PLC0415 - it brings NumPy

    for program in options.programs:
        for line in _measure(program, read_files(options.lines), options.edits):
            print(line, flush=True)
    return 0


def _measure(program: str, texts: Texts, edits: int) -> Iterator[str]:
    """Yield what to tell about edits of single statements, one after another, in random files."""
    lines = sum(text.count("\n") for text in texts.values())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for path, text in texts.items():
            (folder / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "src" / path).write_text(text, encoding="utf-8")
        (folder / "tidelog.toml").write_text(_settings(program))
        begun = time.perf_counter()
        with LspClient(folder) as client:
            first = next(iter(texts))
            uri = (folder / "src" / first).as_uri()
            _open(client, uri, texts[first])
            client.wait_for(uri)
            loaded = time.perf_counter() - begun
            yield f"{program}: {lines:,} lines in {len(texts)} files, loaded in {loaded:.1f} s"
            rounds, cpu = _edit(client, folder / "src", dict(texts), edits)
            memory = client.memory_bytes() / 2**20
    cuts = statistics.quantiles(rounds, n=100)
    yield (
        f"{program}: {len(rounds)} edits, round trip in ms: median {statistics.median(rounds):.1f},"
        f" 90 % {cuts[89]:.1f}, 99 % {cuts[98]:.1f}, most {max(rounds):.1f};"
        f" CPU of the server {cpu:.1f} ms an edit; {memory:.0f} MiB"
    )


def _settings(program: str) -> str:
    functions = _ANALYSES / Path(program).with_suffix(".py")
    more = f'functions = ["{functions}"]\n' if functions.exists() else ""
    return f'[[analysis]]\nprogram = "{_ANALYSES / program}"\ntree = "src"\n{more}'


def _open(client: LspClient, uri: str, text: str) -> None:
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": item})


def _edit(client: LspClient, folder: Path, texts: Texts, count: int) -> tuple[list[float], float]:
    """Return the milliseconds of each round trip, and the server's CPU milliseconds of one."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    paths = sorted(texts)
    versions: dict[str, int] = {}
    rounds: list[float] = []
    cpu = 0.0
    while len(rounds) < count:
        path = chance.choice(paths)
        text = edit_statement(texts[path], chance)
        if text is None or text == texts[path]:
            continue
        uri = (folder / path).as_uri()
        if path not in versions:
            versions[path] = 1
            _open(client, uri, texts[path])
            # An answer that comes after the document has been taken.
            client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        versions[path] += 1
        change = _change(texts[path], text)
        document = {"uri": uri, "version": versions[path]}
        before = client.cpu_seconds()
        begun = time.perf_counter()
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        client.wait_for(uri, versions[path])
        rounds.append(1000 * (time.perf_counter() - begun))
        cpu += client.cpu_seconds() - before
        texts[path] = text
    return rounds, 1000 * cpu / count


def _change(old: str, new: str) -> dict[str, object]:
    """Return the lines that differ as one change, as an editor sends it."""
    before, after = old.split("\n"), new.split("\n")
    first = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)
    same = 0
    while same < min(len(before), len(after)) - first - 1 and before[-1 - same] == after[-1 - same]:
        same += 1
    end = len(before) - same
    text = "\n".join(after[first : len(after) - same])
    last = before[end - 1] if end > first else ""
    stop = {"line": end - 1, "character": len(last.encode("utf-16-le")) // 2}
    if end <= first:
        stop, text = {"line": first, "character": 0}, f"{text}\n"
    return {"range": {"start": {"line": first, "character": 0}, "end": stop}, "text": text}
