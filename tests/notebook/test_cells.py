"""Cells of a notebook, run by IPython's own shell."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output

import tidelog
from tidelog import Answer, Delta, Session, TidelogError
from tidelog.notebook.request import parse_request

PATHS = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


class Notebook:
    """A notebook with the extension loaded: cells are run one after the other."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.shell.history_manager.enabled = False
        self.run("%load_ext tidelog")

    def run(self, cell: str) -> CapturedIO:
        """Run a cell that must succeed, and return what it shows."""
        with capture_output() as captured:
            result = self.shell.run_cell(cell)
        result.raise_error()
        return captured

    def shown(self, cell: str) -> list[object]:
        """Run a cell and return the text of what it displays."""
        return [output.data["text/plain"] for output in self.run(cell).outputs]

    def pages(self, cell: str) -> list[str]:
        """Run a cell and return the HTML of what it displays."""
        return [output.data["text/html"] for output in self.run(cell).outputs]

    def mistakes(self, cell: str) -> str:
        """Run a cell that must fail, and return what it prints."""
        with capture_output() as captured:
            result = self.shell.run_cell(cell)
        assert isinstance(result.error_in_exec, TidelogError)
        return captured.stdout + captured.stderr

    def __getitem__(self, name: str) -> object:
        return self.shell.user_ns[name]


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """Return a new notebook in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    yield Notebook()
    InteractiveShell.clear_instance()


def test_rules_facts_and_queries_in_one_cell(notebook: Notebook) -> None:
    """Each query is answered by a table, in order."""
    shown = notebook.shown(
        f"%%tidelog\n{PATHS}edge(1, 2). edge(2, 3).\n?- path(1, x).\n?- path(3, x).\n?- edge(1, 2)."
    )

    assert shown == [
        "path(1, x): 2 facts\nx\n2\n3",
        "path(3, x): 0 facts\nx",
        "edge(1, 2): 1 fact",
    ]


def test_a_cell_without_queries_shows_the_session(notebook: Notebook) -> None:
    """A table of the relations says that the cell has worked."""
    (page,) = notebook.pages(f"%%tidelog db\n{PATHS}")

    assert "2 relations, epoch 0" in page
    assert "<td>edge</td><td>x: number, y: number</td><td>0</td>" in page
    assert isinstance(notebook["db"], Session)


def test_cells_change_facts_and_rules(notebook: Notebook) -> None:
    """Changes and rules are epochs, whose deltas are shown; several sessions have their own facts."""
    notebook.run(f"%%tidelog db\n{PATHS}")
    notebook.run(f"%%tidelog other\n{PATHS}edge(7, 8).")

    first, second, answer = notebook.shown(
        "%%tidelog db\n+edge(1, 2).\ncommit.\n+edge(2, 3).\n?- path(1, x)."
    )
    (rules,) = notebook.pages("%%tidelog db\n.decl far(x: number)\nfar(x) :- path(1, x), x > 2.")
    notebook.run("other_paths = %tidelog path(x, y)")

    assert "<delta to epoch 1:" in first
    assert "<delta to epoch 2:" in second
    assert answer.splitlines()[1:] == ["x", "2", "3"]
    assert "+far(3)." in rules
    assert notebook.shown("%%tidelog other\n?- path(x, y).")[0].endswith("7  8")


def test_python_and_cells_share_sessions(notebook: Notebook) -> None:
    """A session that Python opened is used by its name, and one that a cell made is a variable."""
    notebook.run("import tidelog\nown = tidelog.open('.decl a(x: number)\\na(1).')")

    (answer,) = notebook.shown("%%tidelog own\n?- a(x).")
    notebook.run("same = %tidelog\nanswer = %tidelog a(x), x > 0")

    assert answer.endswith("x\n1")
    assert notebook["same"] is notebook["own"]
    assert isinstance(notebook["answer"], Answer)
    assert list(notebook["answer"]) == [(1,)]


def test_facts_come_from_variables_and_folders(notebook: Notebook, tmp_path: Path) -> None:
    """A frame is inserted by its name, a folder is read, and `$name` in a query is a variable."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edge.facts").write_text("1\t2\n")
    notebook.shell.user_ns["frame"] = pd.DataFrame({"x": [2, 3], "y": [3, 4]})
    notebook.shell.user_ns["start"] = 2

    answer, delta, again = (
        *notebook.shown(f"%%tidelog db -F data edge=frame\n{PATHS}?- path(1, x)."),
        *notebook.shown("%%tidelog db edge=frame\n?- path($start, x)."),
    )

    assert answer.split()[-3:] == ["2", "3", "4"]
    assert "impact 0" in delta
    assert again.split()[-2:] == ["3", "4"]


def test_a_cell_is_run_again_after_an_edit(notebook: Notebook) -> None:
    """What it declared is replaced; other cells, and the changes since, stay."""
    notebook.run(f"%%tidelog db\n{PATHS}")
    notebook.run("%%tidelog db\n.decl far(x: number)\nfar(x) :- path(1, x), x > 2.")
    notebook.run("%%tidelog db\n+edge(1, 2). +edge(2, 3). +edge(3, 4).")

    same = notebook.pages(f"%%tidelog db\n{PATHS}")
    edited = notebook.pages("%%tidelog db\n.decl far(x: number)\nfar(x) :- path(1, x), x > 3.")

    assert "<td>path</td><td>x: number, y: number</td><td>6</td>" in same[0]
    assert "<td>far</td><td>x: number</td><td>1</td>" in edited[0]
    assert "<td>edge</td><td>x: number, y: number</td><td>3</td>" in edited[0]


def test_an_edit_that_is_wrong_leaves_the_session(notebook: Notebook) -> None:
    """The session is as it was, for every other cell too."""
    notebook.run(f"%%tidelog db\n{PATHS}edge(1, 2).\n")
    before = notebook["db"]

    text = notebook.mistakes(f"%%tidelog db\n{PATHS}edge(1, 'a').\n")

    assert "error[" in text
    assert notebook["db"] is before
    assert notebook.shown("%%tidelog db\n?- path(1, x).")[0].endswith("2")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%tidelog\n?- path(1, x).", "begin with declarations"),
        ("%%tidelog db\n+edge(1, 2).", "there is no session `db` yet"),
        ("%%tidelog db -F\n.decl a(x: number)", "there is no folder after -F"),
        ("%%tidelog db gone\n.decl a(x: number)", "there are two sessions, `db` and `gone`"),
        ("%%tidelog db --wrong\n.decl a(x: number)", "write %%tidelog [NAME] [-F DIR]"),
        ("%%tidelog db 'open\n.decl a(x: number)", "a quote that does not end"),
        ("%%tidelog db a=gone\n.decl a(x: number)", "there is no variable `gone`"),
        (
            "%%tidelog number\n.decl a(x: number)",
            "the variable `number` is not a session but a value of type int",
        ),
        ("%%tidelog\n\n.decl a(x: nmber)", "cell:3:9: error[undeclared-type]"),
        ("%tidelog path(1, x)", "there is no session yet"),
        ("%%tidelog\n.decl a(x: number)\n?- b(x).", "query:1:1"),
        ("%%tidelog\n.decl a(x: number)\n\n+a(1)\n", "cell:4:6"),
    ],
)
def test_mistakes_are_shown_without_a_traceback(notebook: Notebook, cell: str, words: str) -> None:
    """A cell fails with diagnostics, at the places that they have in the cell."""
    notebook.shell.user_ns["number"] = 1

    text = notebook.mistakes(cell)

    assert words in text
    assert "error[" in text
    assert "Traceback" not in text
    assert "cells.py" not in text


def test_html_is_escaped(notebook: Notebook) -> None:
    """Texts, queries and comments of users stay text in sessions, answers, deltas, proofs and plans."""
    notebook.run('%%tidelog db\n.decl a(x: symbol)\n.input a\n.decl b(x: symbol)\nb(x) :- a(x), x != "<i>".')
    pages = [
        *notebook.pages('%%tidelog db\n+a("<b>&").\n?- b(x), x != "<i>".'),
        *notebook.pages("display(db, db['b'], db.why(('b', ('<b>&',))), db.explain(), db.history[0]['b'])"),
    ]

    assert len(pages) == 7
    for page in pages:
        assert "<b>" not in page
        assert "<i>" not in page
    assert sum("&lt;b&gt;&amp;" in page for page in pages) == 5


def test_nothing_has_a_colour(notebook: Notebook) -> None:
    """What is shown has the colours of the page, dark or light, and rules that are seen on both."""
    notebook.run("%%tidelog db\n.decl a(x: number)\n.input a\n.decl b(x: number)\nb(x) :- a(x).\n+a(1).")

    pages = notebook.pages(
        "display(db, db['b'], db.why('b(1)'), db.why_not('b(2)'), db.explain(), db.history[0])"
    )

    for page in pages:
        assert "background" not in page
        assert " color:" not in page


def test_blame_and_repair_keep_their_lines(notebook: Notebook) -> None:
    """What is to blame, and what to take back, is shown as the shell shows it."""
    notebook.run("%%tidelog db\n.decl a(x: symbol)\n.input a\n.decl b(x: symbol)\nb(x) :- a(x).\n+a('<').")

    pages = notebook.pages("""display(db.blame("b('<')"), db.repair("b('<')"))""")

    assert all("<pre>" in page and "a(&quot;&lt;&quot;)" in page for page in pages)


def test_a_session_that_is_closed_has_no_table() -> None:
    """A notebook falls back to its text."""
    db = tidelog.open(".decl a(x: number)")
    db.close()

    assert db._repr_html_() is None


def test_requests() -> None:
    """A name, a folder and variables may stand in any order."""
    request = parse_request("-F 'my data' edge=frame db")

    assert (request.name, request.folder, request.facts) == ("db", Path("my data"), {"edge": "frame"})


def test_deltas_are_shown_by_relation() -> None:
    """The delta of one relation lists its changes."""
    with tidelog.open(".decl a(x: number)\n.input a", facts={"a": [(1,)]}) as db:
        delta: Delta = db.apply("+a(2). -a(1).")

    page = delta["a"]._repr_html_()

    assert "a: 1 inserted, 1 deleted" in page
    assert "<td>-a(1).</td>" in page
