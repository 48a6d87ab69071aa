"""Pages of the documentation, taken apart into examples and executed.

What a fenced block is for is told by its first word; a second word names a file that the block is
written to, in the folder that all examples of the page share.

    datalog      a program; a block `facts` or `diagnostics` right below it is what it gives, on every engine
    facts        all facts of the relations it names, with dots; `name: no facts` for an empty one
    python       examples with `>>>` and their output, or plain statements
    console      lines with `$ ` are commands, the lines below each are what it prints
    sh, text     shown only; any block with a file name is written to that file

With UPDATE_GOLDEN=1 what the examples give is written into the page; review that as code.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import zip_longest
from pathlib import Path

import tidelog
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse, print_node
from tidelog.syntax.changes import parse_facts
from tidelog.views.fact_text import write_fact

ROOT = Path(__file__).parents[2]
ENGINES = ("reference", "local")
EXECUTED = ("datalog", "facts", "diagnostics", "python", "console")
SHOWN = ("sh", "text", "tsv", "csv", "json")
# More facts than this on one line are hard to read.
_LINE = 100

_FENCE = re.compile(r"^```(\w+)(?:[ \t]+(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# How long something took, and the id of a commit, are shown and not compared.
_VARYING = re.compile(r"\b[0-9.]+ (?=ms\b)|(?:(?<=# )|(?<=before )|(?<=[0-9a-f]\.\.))[0-9a-f]{10}\b")
_NO_FACTS = re.compile(r"^([\w.]+): no facts$")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `follows` says that nothing stands between it and the one before."""

    language: str
    file: str | None
    text: str
    line: int
    start: int
    follows: bool


@dataclass
class Outcome:
    """What running a page showed: mistakes in words, and the texts that outputs should have."""

    mistakes: list[str] = field(default_factory=list)
    examples: int = 0
    texts: dict[int, str] = field(default_factory=dict)


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        follows = bool(found) and not text[end : match.start()].strip()
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[1], match[2], match[3], line, match.start(3), follows))
        end = match.end()
    return found


def run_page(page: Path, folder: Path) -> Outcome:
    """Execute all examples of a page in a folder and return what was wrong with them."""
    outcome = Outcome()
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(text)
    (folder / "examples").symlink_to(ROOT / "examples")
    names: dict[str, object] = {}
    with chdir(folder):
        for block, following in zip_longest(blocks, blocks[1:]):
            if block.file is not None:
                Path(block.file).parent.mkdir(parents=True, exist_ok=True)
                Path(block.file).write_text(block.text, encoding="utf-8")
            match block.language:
                case "datalog":
                    shown = following if following is not None and following.follows else None
                    _run_program(block, shown, outcome)
                case "python":
                    _run_python(block, names, outcome)
                case "console":
                    _run_console(block, outcome)
                case _:
                    continue
            outcome.examples += 1
    if outcome.texts and "UPDATE_GOLDEN" in os.environ:
        for block in reversed(blocks):
            if block.line in outcome.texts:
                end = block.start + len(block.text)
                text = text[: block.start] + outcome.texts[block.line] + text[end:]
        page.write_text(text, encoding="utf-8")
        return replace(outcome, mistakes=[])
    return outcome


def _compare(block: Block, expected: str, given: str, what: str, outcome: Outcome) -> None:
    if expected != given:
        outcome.mistakes.append(f"line {block.line}, {what}: the page says\n{expected}but it gives\n{given}")


# --- programs ------------------------------------------------------------------------------


def _run_program(block: Block, shown: Block | None, outcome: Outcome) -> None:
    if shown is not None and shown.language == "facts":
        names = list(
            dict.fromkeys(re.findall(r"^[\w.]+(?=[(:])|(?<=\. )[\w.]+(?=\()", shown.text, re.MULTILINE))
        )
        for engine in ENGINES:
            given = _facts_text(block.text, names, engine)
            if _normal(given) != _normal(shown.text):
                _compare(shown, shown.text, given, f"the {engine} engine", outcome)
                outcome.texts[shown.line] = given
    elif shown is not None and shown.language == "diagnostics":
        given = _diagnostics_text(block.text)
        _compare(shown, shown.text, given, "diagnostics", outcome)
        outcome.texts[shown.line] = given
    else:
        given = _diagnostics_text(block.text)
        _compare(block, "", given, "diagnostics", outcome)


def _facts_text(program: str, names: list[str], engine: str) -> str:
    try:
        with tidelog.open(program, engine=engine) as db:
            return "".join(
                _lines(name, [f"{write_fact(name, fact)}." for fact in db[name]]) for name in names
            )
    except tidelog.TidelogError as error:
        return f"{error}\n"


def _lines(name: str, facts: list[str]) -> str:
    """Return facts of a relation, as many on a line as fit."""
    if not facts:
        return f"{name}: no facts\n"
    lines = [facts[0]]
    for fact in facts[1:]:
        if len(lines[-1]) + len(fact) < _LINE:
            lines[-1] += f" {fact}"
        else:
            lines.append(fact)
    return "\n".join(lines) + "\n"


def _normal(text: str) -> set[str]:
    """Return the facts of a block, however they are laid out."""
    found: set[str] = set()
    for line in text.splitlines():
        if _NO_FACTS.match(line):
            found.add(line)
        else:
            # No literal writes these two floats, so they are read as the variables they look like.
            found.update(print_node(atom) for atom in parse_facts(line))
    return found


def _diagnostics_text(program: str) -> str:
    try:
        _, warnings = build_program(parse(Source("example.dl", program)))
    except tidelog.TidelogError as error:
        return f"{error}\n"
    return "".join(f"{warning}\n" for warning in warnings if warning.code != "no-source")


# --- Python --------------------------------------------------------------------------------


class _Runner(doctest.DocTestRunner):
    """Keeps what every example gave."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.given: dict[int, str] = {}

    def report_failure(self, out, test, example, got):  # noqa: ARG002 - the name and places are doctest's
        """Keep the output of an example that gave something else."""
        self.given[example.lineno] = got

    def report_unexpected_exception(self, out, test, example, exc_info):  # noqa: ARG002 - likewise
        """Keep the exception of an example that raised one."""
        self.given[example.lineno] = f"{exc_info[0].__name__}: {exc_info[1]}\n"


def _run_python(block: Block, names: dict[str, object], outcome: Outcome) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, "example.py", "exec"), names)  # noqa: S102 - the examples are ours
        return
    test = doctest.DocTestParser().get_doctest(block.text, {}, "example", None, 0)
    test.globs = names
    runner = _Runner()
    runner.run(test, out=StringIO().write, clear_globs=False)
    lines = block.text.splitlines(keepends=True)
    for example in reversed(test.examples):
        if example.lineno in runner.given:
            _compare(block, example.want, runner.given[example.lineno], example.source.strip(), outcome)
            first = example.lineno + example.source.count("\n")
            lines[first : first + example.want.count("\n")] = [runner.given[example.lineno]]
            outcome.texts[block.line] = "".join(lines)


# --- commands ------------------------------------------------------------------------------


def _run_console(block: Block, outcome: Outcome) -> None:
    given = ""
    for command, _ in _commands(block.text):
        given += f"$ {command}\n{_output(command)}"
    if _VARYING.sub("", given) != _VARYING.sub("", block.text):
        _compare(block, block.text, given, "the commands", outcome)
        outcome.texts[block.line] = given


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def _output(command: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout
