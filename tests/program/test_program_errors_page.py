"""docs/errors.md names every diagnostic, with an example that causes it."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog
from support.web_serving import serving
from tidelog.errors import TidelogError
from tidelog.program import build_program
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.web import WebSettings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text()
ENTRIES = re.findall(r"^### ([a-z-]+)\n\n(.+?)\n\n```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

SHOWN = {code: text for code, _, language, text in ENTRIES if language == "text"}
# Files that commands on the page read.
FILES = {
    "program.dl": ".decl a(x: number)\n.output a(IO=stdout)\na(1).\n",
    "unused.dl": ".decl f(n: Node)\n.output f\nf(n) :- Node_FunctionDef(n).\n",
    "broken.py": "nothing\n",
    "old.txt": "",
    "new.txt": "",
}
# Commands that take a large program, or that are about a state folder.
NOT_RUN = {"bad-form", "memory-limit", "out-of-memory", "range-too-large"}
# What causes a diagnostic that the page shows with a request too large, or too slow, to run here.
CAUSES = {
    "too-many-proofs": """
from tidelog.explain.proofs.atom import GroundAtom
from tidelog.explain.proofs.cone import explore_cone
text = ".decl edge(x: number, y: number)\\n.decl path(x: number, y: number)\\n"
text += "path(x, y) :- edge(x, y).\\npath(x, z) :- path(x, y), edge(y, z)."
db = tidelog.open(text, facts={"edge": [(1, 2), (2, 1)]})
explore_cone(db.proofs.explorer().prover, GroundAtom("path", (1, 2)), limit=2)
""",
    "unwritable-pipeline": """
Path("state").write_text("a file")
JobFolder(Path("state")).make()
""",
    "damaged-pipeline": """
folder = JobFolder(Path("state"))
folder.make()
Path("state/manifests/00000000.json").write_text("{}")
folder.last()
""",
    "no-pipeline": """
read_output(JobFolder(Path("state")), "path")
""",
    "no-such-output": """
folder = JobFolder(Path("state"))
folder.make()
folder.commit(JobManifest(0, "job", "local", "", ""))
read_output(folder, "path")
""",
    "unknown-epoch": """
folder = JobFolder(Path("state"))
folder.make()
folder.commit(JobManifest(0, "job", "local", "", ""))
read_output(folder, "path", epoch=7)
""",
    "wrong-source-option": """
from tidelog.pipeline.datasource import TidelogSource
TidelogSource({"path": "state"}).schema()
""",
}
IMPORTS = """
from pathlib import Path
import tidelog
from tidelog.pipeline.folder import JobFolder, JobManifest
from tidelog.pipeline.past import read_output
"""

CODE = re.compile(r"[a-z]+(-[a-z]+)+")
# Words of the language, of the command line and of git that look like codes, and what profiles advise.
NO_CODE = {
    "atom-order", "costly-index", "cross-product",
    "choice-domain", "diff-tree", "leapfrog-exclude", "ls-tree", "magic-transform", "magic-transform-exclude",
    "merge-base", "rev-parse", "tidelog-files", "tls-unique", "why-not",
}  # fmt: skip


def codes_in_source() -> set[str]:
    """Return every diagnostic code that the package can give.

    A code is written out where it is given: as `code=...`, or as the first argument, with a hyphen, of
    `Diagnostic` or of a function that makes one.
    """
    found: set[str] = set()
    for path in (ROOT / "src" / "tidelog").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            first = [each for each in node.args[:1] if CODE.fullmatch(str(getattr(each, "value", "")))]
            codes = [each.value for each in (*named, *first) if isinstance(each, ast.Constant)]
            found.update(code for code in codes if isinstance(code, str))
    return found - NO_CODE


def test_the_page_has_every_code() -> None:
    """A code that the package can give has an entry on the page."""
    on_page = {code for code, *_ in ENTRIES}

    assert codes_in_source() - on_page == set()


def test_the_page_has_no_other_code() -> None:
    """A code on the page can be given by the package, and stands there once."""
    on_page = [code for code, *_ in ENTRIES]

    assert set(on_page) - codes_in_source() == set()
    assert len(on_page) == len(set(on_page)) == PAGE.count("\n### ")


@pytest.mark.parametrize(("code", "example"), [(e[0], e[3]) for e in ENTRIES if e[2] == "tidelog"])
def test_the_program_causes_the_diagnostic(code: str, example: str) -> None:
    """A program on the page is answered with the code it stands under, and no other."""
    try:
        _, found = build_program(parse(Source("example.dl", example)))
    except TidelogError as error:
        found = error.diagnostics

    assert {each.code for each in found if each.severity.value == "error"} <= {code}
    assert code in {each.code for each in found}


@pytest.mark.parametrize(("code", "example"), [(e[0], e[3]) for e in ENTRIES if e[2] == "python"])
def test_the_python_causes_the_diagnostic(
    code: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece of Python on the page raises an error with the code it stands under."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TidelogError) as caught:
        exec(compile(example, "example.py", "exec"), {})  # noqa: S102 - the examples are ours

    assert code in {each.code for each in caught.value.diagnostics}


@pytest.mark.parametrize("code", CAUSES)
def test_the_page_shows_the_message(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown below a request that is not run here is the message, caused from inside."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(TidelogError) as caught:
        exec(compile(IMPORTS + CAUSES[code], "example.py", "exec"), {})  # noqa: S102 - the examples are ours

    shown = SHOWN[code].split("\n", 1)[1].strip()
    assert f"{caught.value}".replace("more than 2 facts", "more than 100,000 facts") == shown


@pytest.mark.parametrize(
    "code",
    [
        code
        for code, text in SHOWN.items()
        if text.startswith("$ tidelog") and code not in {*NOT_RUN, *CAUSES}
    ],
)
def test_the_command_gives_the_diagnostic(code: str, tmp_path: Path) -> None:
    """A command on the page prints the diagnostic below it."""
    command, shown = SHOWN[code].split("\n", 1)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    done = subprocess.run(
        ["sh", "-c", command.removeprefix("$ ")],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": path,
            "NO_COLOR": "1",
            "LC_ALL": "C",
            "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1",
        },
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(shown)


@pytest.mark.parametrize("code", [code for code, text in SHOWN.items() if text.startswith("$ curl")])
def test_the_request_gives_the_diagnostic(code: str) -> None:
    """A request to the explorer on the page is answered with the diagnostic below it."""
    command, shown = SHOWN[code].split("\n", 1)
    words = shlex.split(command)[2:]
    pairs = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
    headers = dict(pair.split(": ", 1) for pair in pairs)
    body = next((words[at + 1] for at, word in enumerate(words) if word in {"-d", "--data-binary"}), None)
    sent = b" " * 2_000_000 if body == "@all-edges.json" else body and body.encode()
    settings = WebSettings(
        may_write=code != "read-only-explorer",
        token="of some length, you know" if code == "wrong-token" else None,
    )
    db = tidelog.open(".decl edge(x: number, y: number)\n.input edge", facts={"edge": [(1, 2)]})

    with serving(db, settings) as client:
        target = words[-1].removeprefix("http://127.0.0.1:8421")
        reply = client.send("POST" if sent else "GET", target, sent, headers)

    (found,) = reply.json["diagnostics"]
    hint = f"  hint: {found['hint']}\n" if found["hint"] else ""
    assert f"error[{found['code']}]: {found['message']}\n{hint}" == shown


def test_every_diagnostic_has_a_place_and_most_a_hint() -> None:
    """What is reported about a program's text says where, and nearly always what to try."""
    found = []
    for _, _, language, example in ENTRIES:
        if language != "tidelog":
            continue
        try:
            found.extend(build_program(parse(Source("example.dl", example)))[1])
        except TidelogError as error:
            found.extend(error.diagnostics)

    assert all(each.span is not None for each in found)
    assert sum(each.hint is None for each in found) <= len(found) // 8
