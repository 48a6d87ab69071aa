"""The options of Soufflé: the table of docs/souffle.md, row by row, and what each does."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from tidelog.cli.souffle_options import OPTIONS, SHOWN, WARNINGS, Treatment

PROGRAM = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl from_one(y: number)
.output from_one
from_one(y) :- path(1, y).
.decl lonely(x: number)
.output lonely
lonely(x) :- edge(x, _), !edge(_, x).
"""
PRINTED = "from_one\n===============\n2\n3\n"
# The options of `souffle --help`, version 2.5.
SOUFFLE = {
    "auto-schedule", "compile", "compile-many", "debug-report", "disable-transformers", "dl-program",
    "emit-statistics", "fact-dir", "generate", "generate-many", "generate-namespace", "help",
    "include-dir", "inline-exclude", "jobs", "legacy", "libraries", "library-dir", "live-profile",
    "macro", "magic-transform", "magic-transform-exclude", "no-preprocessor", "no-warn", "output-dir",
    "parse-errors", "pragma", "preprocessor", "profile", "profile-frequency", "provenance", "show",
    "swig", "verbose", "version", "warn", "wno",
}  # fmt: skip
EARLIER = {"profile-use", "index-stats"}
# A value for each kind of value that the table names.
VALUES = {
    "FILE": "file", "DIR": ".", "N": "2", "NAMES": "path", "MACROS": "A=1 B=2", "NS": "here",
    "LANG": "python", "CMD": "gcc -E", "FORM": "scc-graph-text", "NAME:VALUE": "magic-transform:path",
}  # fmt: skip
NAMED = {"-l": "m", "--libraries": "m", "-t": "none", "--provenance": "none", "-W": "all", "--warn": "all"}


def rows() -> Iterator[tuple[str, str, str]]:
    """Yield every spelling of an option on the page, its value, and what becomes of it."""
    page = (Path(__file__).parents[2] / "docs" / "souffle.md").read_text(encoding="utf-8")
    table = page[page.index("## Options") : page.index("### Forms of a program")]
    for spellings, here in re.findall(r"^\| (`-.*?) \| (\w+) \|", table, re.MULTILINE):
        for option, value in re.findall(r"`(-[\w-]+)(?: ([^`]+))?`", spellings):
            yield option, NAMED.get(option) or VALUES.get(value, "var-appears-once" if value else ""), here


ROWS = list(rows())


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a program and its facts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.dl").write_text(PROGRAM)
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")
    return tmp_path


@pytest.fixture
def tidelog(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return the command line as a function from arguments to status, stdout and stderr."""
    return make_command(monkeypatch, capfd)


def test_the_table_has_every_option() -> None:
    """Every option of Soufflé stands on the page by its long name, and no other."""
    long = {option.removeprefix("--") for option, _, _ in ROWS if option.startswith("--")}

    assert long == SOUFFLE | EARLIER


def test_the_table_is_what_the_command_line_says() -> None:
    """What becomes of an option on the page is what the list of the code has."""
    words = {
        Treatment.USED: {"same", "like", "accepted"},
        Treatment.NEEDLESS: {"accepted"},
        Treatment.NOTED: {"noted"},
        Treatment.REFUSED: {"refused"},
    }
    on_page = {option: here for option, _, here in ROWS}

    for option in OPTIONS:
        for name in option.names:
            assert on_page[name] in words[option.treatment], name


@pytest.mark.parametrize(("option", "value", "here"), ROWS, ids=[f"{row[0]}-{row[2]}" for row in ROWS])
def test_every_row_of_the_table(tidelog: Command, option: str, value: str, here: str) -> None:
    """A command line with the option is refused, noted, or simply runs, and gives the same outputs."""
    usual = [] if option in {"-D", "--output-dir"} else ["-D", "-"]
    words = ["prog.dl", option, *([value] if value else []), *usual]
    if option in {"-h", "--help", "--version"}:
        assert tidelog(option)[0] == 0
        return

    status, out, err = tidelog(*words)

    if here == "refused":
        assert (status, out) == (1, "")
        assert err.startswith(f"error[unsupported-option]: `{_first(option)}")
        assert "hint: " in err
        return
    assert status == 0
    if here == "noted":
        assert err.startswith(f"warning[no-effect]: `{_first(option)}")
        assert tidelog(*words, "-w")[2] == ""
    elif option not in {"-v", "--verbose"}:
        assert err == ""
    if option not in {"-D", "--output-dir", "--show", "--parse-errors"}:
        assert PRINTED in out


def _first(option: str) -> str:
    return next(each.names[0] for each in OPTIONS if option in each.names)


# --- what some of them do ---------------------------------------------------------------------------


@pytest.mark.parametrize("form", [form for form in SHOWN if form != "parse-errors"])
def test_show_prints_a_form_and_does_not_run(folder: Path, tidelog: Command, form: str) -> None:
    """Every form is text on stdout; no output is written."""
    status, out, err = tidelog("prog.dl", "--show", form)

    assert (status, err) == (0, "")
    assert "path" in out
    assert not list(folder.glob("*.csv"))


def test_forms_follow_each_other(tidelog: Command) -> None:
    """`--show` can be repeated, and forms come in the order in which they are named."""
    status, out, _ = tidelog("prog.dl", "--show", "scc-graph-text", "--show", "precedence-graph-text")

    assert status == 0
    assert out.splitlines() == [
        "0: edge",
        "1: path (recursive)",
        "2: from_one",
        "3: lonely",
        "edge: nothing",
        "path: edge, path",
        "from_one: path",
        "lonely: edge (complete)",
    ]


def test_graphs_are_for_graphviz(tidelog: Command) -> None:
    """Edges go from what is read to what is derived; negation is dashed."""
    _, out, _ = tidelog("prog.dl", "--show", "precedence-graph")

    assert out.startswith('digraph "precedence" {\n    "edge";\n')
    assert '    "edge" -> "lonely" [style=dashed];\n' in out
    assert '    "path" -> "path";\n' in out


def test_the_first_form_is_the_program(folder: Path, tidelog: Command) -> None:
    """After the preprocessor it reads back to the same program."""
    (folder / "prog.dl").write_text("#define FROM 1\n" + PROGRAM.replace("path(1,", "path(FROM,"))

    _, out, _ = tidelog("prog.dl", "--show", "initial-datalog")
    (folder / "other.dl").write_text(out)

    assert "#" not in out
    assert PRINTED in tidelog("other.dl", "-D", "-")[1]


@pytest.mark.parametrize("words", [("--show", "parse-errors"), ("--parse-errors",)])
def test_parse_errors_are_counted(folder: Path, tidelog: Command, words: tuple[str, ...]) -> None:
    """The exit status is the number of mistakes in the syntax."""
    right = tidelog("prog.dl", *words)
    (folder / "prog.dl").write_text(".decl a(x number)\n.decl b(x: number)\nb(1.\n")

    assert right == (0, "", "")
    assert tidelog("prog.dl", *words)[0] == 2


@pytest.mark.parametrize(
    "words", [("-m", "*"), ("-m", "path"), ("-P", "magic-transform:*"), ("--magic-transform", "path,edge")]
)
def test_relations_are_restricted(tidelog: Command, words: tuple[str, ...]) -> None:
    """`-m` gives relations a demand, and the same outputs."""
    plain = tidelog("prog.dl", "--show", "transformed-datalog")[1]
    restricted = tidelog("prog.dl", *words, "--show", "transformed-datalog")[1]
    excluded = tidelog(
        "prog.dl", *words, "--magic-transform-exclude", "path", "--show", "transformed-datalog"
    )[1]

    assert "demand" not in plain
    assert "demand" in restricted
    assert "demand" not in excluded
    assert PRINTED in tidelog("prog.dl", *words, "-D", "-")[1]


@pytest.mark.parametrize("name", ["explain", "explore"])
def test_provenance_opens_the_shell(folder: Path, tidelog: Command, name: str) -> None:
    """The outputs are written, and then Soufflé's commands are read."""
    status, out, err = tidelog("prog.dl", "-t", name, "-D", "out", stdin="explain from_one(3)\n")

    assert (status, err) == (0, "")
    assert out.startswith("from_one(3)  [from_one#1, prog.dl:8]\n└─ path(1, 3)")
    assert (folder / "out" / "from_one.csv").read_text() == "2\n3\n"


@pytest.mark.parametrize("words", [("prog.dl", "--engine", "spark"), ("-",)])
def test_the_shell_needs_a_session_and_an_input(tidelog: Command, words: tuple[str, ...]) -> None:
    """Not on Spark, and not where the program is read from stdin."""
    status, _, err = tidelog("run", *words, "-t", "explain")

    assert status == 1
    assert err.startswith("error[unsupported-option]: `-t explain` is not available")


def test_verbose_says_what_stages_took(tidelog: Command) -> None:
    """Each stage, and each stratum with its facts and iterations, on stderr."""
    _, out, err = tidelog("prog.dl", "-v", "-D", "-")

    assert PRINTED in out
    assert [line.partition(":")[0] for line in err.splitlines()] == [
        "start", "parse", "load", "evaluate", "  edge", "  path", "  from_one", "  lonely", "write",
    ]  # fmt: skip
    assert "  path: 3 facts, 3 iterations, " in err


@pytest.mark.parametrize("name", ["var-appears-once", "single-variable", "all"])
def test_warnings_are_hidden_by_name(folder: Path, tidelog: Command, name: str) -> None:
    """By Soufflé's name, by the code that is shown, or all; other warnings stay."""
    (folder / "prog.dl").write_text(PROGRAM + ".decl odd(x: number)\n.output odd\nodd(1) :- edge(y, 2).\n")

    shown = tidelog("prog.dl", "-D", "-")[2]
    others = tidelog("prog.dl", "-D", "-", "--wno", "no-rules-nor-facts")[2]

    assert "warning[single-variable]" in shown
    assert others == shown
    assert tidelog("prog.dl", "-D", "-", "--wno", name)[2] == ""
    assert tidelog("prog.dl", "-D", "-", "-W", "none")[2] == ""


def test_warnings_have_codes_of_ours() -> None:
    """A code that stands for one of Soufflé's warnings is on the page of diagnostics."""
    page = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")

    assert [code for code in WARNINGS.values() if code and f"### {code}\n" not in page] == []


def test_the_preprocessor_is_built_in(folder: Path, tidelog: Command) -> None:
    """A program that needs one is refused without it, and another one than C's is refused."""
    without = tidelog("prog.dl", "--no-preprocessor", "-D", "-")
    (folder / "prog.dl").write_text("#define ONE 1\n" + PROGRAM)

    assert (without[0], without[2]) == (0, "")
    assert "prog.dl:1 is a preprocessor line" in tidelog("prog.dl", "--no-preprocessor", "-D", "-")[2]
    assert tidelog("prog.dl", "--preprocessor", "/usr/bin/mcpp -W0", "-D", "-")[0] == 0
    assert "run it first: m4 prog.dl" in tidelog("prog.dl", "--preprocessor", "m4", "-D", "-")[2]


def test_a_folder_for_includes_that_is_not_there(tidelog: Command) -> None:
    """It is a warning, and the program runs."""
    status, out, err = tidelog("prog.dl", "-I", "nowhere", "-D", "-")

    assert status == 0
    assert PRINTED in out
    assert err.startswith("warning[missing-include-folder]: there is no folder `nowhere` for `#include`")
    assert "1 program checked: 0 errors, 1 warning" in tidelog("check", "prog.dl", "-I", "nowhere")[1]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--show", "scc-grph"), "did you mean `scc-graph`?"),
        (("-t", "explan"), "did you mean `explain`?"),
        (("-P", ":x"), "write NAME:VALUE"),
    ],
)
def test_words_that_options_do_not_take(tidelog: Command, words: tuple[str, ...], hint: str) -> None:
    """They are refused with the nearest that is."""
    status, out, err = tidelog("prog.dl", *words)

    assert (status, out) == (1, "")
    assert hint in err


def test_all_refusals_are_told_together(tidelog: Command) -> None:
    """A script is repaired in one go."""
    _, _, err = tidelog("prog.dl", "-o", "prog", "-g", "prog.cpp", "--show", "nothing")

    assert err.count("error[unsupported-option]") == 3
