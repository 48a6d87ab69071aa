"""Inputs and outputs as Soufflé's users have them: patterns, tabs, quotes, JSON on standard streams."""

from pathlib import Path

import pytest

import tidelog
from support.command_line import Command, make_command

MATCHES = """
.decl pattern(p: symbol)
.input pattern
.decl text(s: symbol)
text("abc"). text("x").
.decl matched(p: symbol, s: symbol)
.output matched
matched(p, s) :- pattern(p), text(s), match(p, s).
.decl unmatched(p: symbol, s: symbol)
.output unmatched
unmatched(p, s) :- pattern(p), text(s), !match(p, s).
"""
NESTED = """
.type List = [head: symbol, tail: List]
.type Tree = Leaf {name: symbol} | Empty {}
.decl thing(l: List, t: Tree, s: symbol)
"""
THINGS = r"""
thing(["comma=,", ["quote=\"", ["nil", ["", nil]]]], $Leaf("a, b"), "say \"x\", y").
thing(nil, $Empty, "plain").
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Return the command line as a function from arguments to status, stdout and stderr."""
    return make_command(monkeypatch, capfd)


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_a_bad_pattern_in_facts_is_a_warning(folder: Path, run: Command, engine: str) -> None:
    """It matches nothing, negated or not, and is told once, whatever number of rules and texts meet it."""
    (folder / "match.dl").write_text(MATCHES)
    (folder / "pattern.facts").write_text("[\na.*\n")

    status, _, err = run("run", "match.dl", "--engine", engine)

    assert status == 0
    assert err.count("warning[pattern-in-facts]") == 1
    assert "match.dl:8:45" in err
    assert "the facts have the pattern '[', which matches nothing: a set is not closed with `]`" in err
    assert (folder / "matched.csv").read_text() == "a.*\tabc\n"
    assert (folder / "unmatched.csv").read_text() == "a.*\tx\n"
    assert run("run", "match.dl", "-w", "--engine", engine)[2] == ""


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_warnings_of_a_session_have_the_bad_patterns(engine: str) -> None:
    """Those of the facts at the start and those of later epochs, also when the session is closed."""
    db = tidelog.open(MATCHES, facts={"pattern": [("[",), ("a.*",)]}, engine=engine)
    assert [each.code for each in db.warnings] == ["pattern-in-facts"]

    db.apply(insert={"pattern": [("(",), ("[",)]})
    db.close()

    assert [each.message.partition(":")[0] for each in db.warnings] == [
        "the facts have the pattern '(', which matches nothing",
        "the facts have the pattern '[', which matches nothing",
    ]


def test_many_bad_patterns_are_counted() -> None:
    """The first twenty are shown, the others counted."""
    patterns = [("(" * (number + 1),) for number in range(25)]

    db = tidelog.open(MATCHES, facts={"pattern": patterns})

    assert len(db.warnings) == 21
    assert db.warnings[-1].message == "5 more patterns in facts cannot be used"


def test_apply_shows_a_bad_pattern_with_its_epoch(folder: Path, run: Command) -> None:
    """Each is told in the epoch that meets it first, and not again."""
    (folder / "match.dl").write_text(MATCHES)
    (folder / "pattern.facts").write_text("a\n")
    script = "+pattern('[').\ncommit.\n-pattern('[').\ncommit.\n+pattern('[').\n"

    status, _, err = run("apply", "match.dl", "-", stdin=script)

    assert status == 0
    assert err.count("warning[pattern-in-facts]") == 1


@pytest.mark.parametrize("form", ["list", "object"])
def test_json_on_standard_streams(folder: Path, run: Command, form: str) -> None:
    """`IO=json` reads lists and objects from standard input and writes either to standard output."""
    program = f"{NESTED}.input thing(IO=json)\n.output thing(IO=json, format={form})\n"
    (folder / "things.dl").write_text(program)
    lists = '[[null, "$Empty", "plain"],\n[["a", ["b\\tc", null]], "$Leaf(\\"a, b\\")", "é"]]\n'
    objects = (
        '[{"l": null, "t": "$Empty", "s": "plain"},\n'
        '{"l": {"head": "a", "tail": {"head": "b\\tc", "tail": null}}, "t": "$Leaf(\\"a, b\\")", "s": "é"}]\n'
    )

    from_lists = run("run", "things.dl", stdin=lists)
    from_objects = run("run", "things.dl", stdin=objects)

    expected = lists if form == "list" else objects
    assert from_lists == from_objects == (0, expected, "")


def test_json_of_no_facts_and_of_no_columns(folder: Path, run: Command) -> None:
    """An empty relation is an empty list; nothing on standard input are no facts."""
    numbers = ".decl n(x: number)\n.input n(IO=json)\n.output n(IO=json)\n"
    (folder / "empty.dl").write_text(numbers + ".decl yes()\n.output yes(IO=json)\nyes().\n")

    assert run("run", "empty.dl", stdin="") == (0, "[]\n[[]]\n", "")


def test_malformed_json_on_standard_input_is_a_diagnostic(folder: Path, run: Command) -> None:
    """The place is a line of standard input, and nothing is written."""
    (folder / "n.dl").write_text(".decl n(x: number)\n.input n(IO=json)\n.output n\n")

    status, out, err = run("run", "n.dl", stdin="[[1],\n[x]]\n")

    assert (status, out) == (1, "")
    assert err.startswith("standard input:2:2: error[malformed-json]")
    assert not (folder / "n.csv").exists()


def test_a_symbol_with_a_tab_is_written_with_a_warning(folder: Path, run: Command) -> None:
    """`run` writes it as Soufflé does and tells the first of each output; a session refuses to write it."""
    text = (
        '.decl n(s: symbol)\nn("a\\tb"). n("c\\nd").\n.output n\n.output n(filename="q.csv", rfc4180=true)\n'
    )
    (folder / "tab.dl").write_text(text)

    status, _, err = run("run", "tab.dl")

    assert status == 0
    assert err.count("warning[unwritable-value]") == err.count("warning") == 1
    assert "column `s` of `n` has the symbol 'a\\tb': a line cannot hold a tab" in err
    assert (folder / "n.csv").read_text() == "a\tb\nc\nd\n"
    assert (folder / "q.csv").read_text() == '"a\tb"\n"c\nd"\n'
    with pytest.raises(tidelog.TidelogError) as caught:
        tidelog.open("tab.dl").write("other")
    assert [each.code for each in caught.value.diagnostics] == ["unwritable-value"]


def test_rfc4180_quotes_every_symbol_inside_records(folder: Path, run: Command) -> None:
    """As Soufflé writes them, and whatever was written is read back."""
    (folder / "write.dl").write_text(f"{NESTED}{THINGS}.output thing(rfc4180=true)\n")
    read, again = (f'put thing(filename="{name}.csv", rfc4180=true)\n' for name in ("thing", "again"))
    (folder / "read.dl").write_text(f"{NESTED}.in{read}.out{again}")

    run("run", "write.dl")
    run("run", "read.dl")

    assert (folder / "thing.csv").read_text() == (
        '"nil","$Empty","plain"\n'
        '"[""comma=,"", [""quote=\\"""", [""nil"", ["""", nil]]]]","$Leaf(""a, b"")","say ""x"", y"\n'
    )
    assert (folder / "again.csv").read_text() == (folder / "thing.csv").read_text()


@pytest.mark.parametrize(
    "parameters",
    [
        'IO=sqlite, filename="things.db"',
        'filename="things.csv.gz", compress=true',
        'filename="things.csv", headers=true, rfc4180=true',
        'filename="things.csv", delimiter="|"',
        "IO=jsonfile",
        "IO=jsonfile, format=object",
    ],
)
def test_round_trips(folder: Path, run: Command, parameters: str) -> None:
    """What one program writes, another reads with the same parameters."""
    (folder / "write.dl").write_text(f"{NESTED}{THINGS}.output thing({parameters})\n")
    (folder / "read.dl").write_text(f"{NESTED}.input thing({parameters})\n.output thing(IO=json)\n")
    (folder / "direct.dl").write_text(f"{NESTED}{THINGS}.output thing(IO=json)\n")

    assert run("run", "write.dl") == (0, "", "")

    assert run("run", "read.dl") == run("run", "direct.dl")


def test_headers_are_read_by_name(folder: Path, run: Command) -> None:
    """Columns in another order are matched by the names in the header, and written in their own order."""
    program = '.decl p(name: symbol, age: number)\n.input p(filename="p.csv", headers=true, delimiter=",")\n'
    (folder / "p.dl").write_text(program + ".output p(IO=stdout, headers=true)\n")
    (folder / "p.csv").write_text("age,name\n7,Ada\n")

    status, out, _ = run("run", "p.dl")

    assert (status, out) == (0, "---------------\np\nname\tage\n===============\nAda\t7\n===============\n")


@pytest.mark.parametrize(
    ("directive", "code"),
    [
        (".input a(columns=x)", "bad-io-parameter"),
        (".output a(headers=maybe)", "bad-io-parameter"),
        (".output a(IO=stdin)", "unknown-io"),
        (".output a(IO=jsonfile, format=xml)", "bad-io-parameter"),
    ],
)
def test_check_reports_what_a_run_would_refuse(folder: Path, run: Command, directive: str, code: str) -> None:
    """Values of parameters are checked without running the program."""
    (folder / "a.dl").write_text(f".decl a(x: number)\na(1).\n{directive}\n")

    status, _, err = run("check", "a.dl")

    assert status == 1
    assert f"a.dl:3:1: error[{code}]" in err


@pytest.mark.parametrize(
    ("second", "is_lost"),
    [
        (".output b(filename=all)", True),
        ('.output a(filename=all, delimiter=";")', True),
        (".output a(filename=all)", False),
        (".output b(IO=sqlite, filename=one)", False),
    ],
)
def test_an_output_that_replaces_another_is_a_warning(
    folder: Path, run: Command, second: str, *, is_lost: bool
) -> None:
    """Two outputs to one file lose the first; two tables of one SQLite file do not."""
    first = ".output a(filename=all)\n.output a(IO=sqlite, filename=one)\n"
    (folder / "a.dl").write_text(f".decl a, b(x: number)\na(1). b(2).\n{first}{second}\n")

    answers = [run("check", "a.dl"), run("run", "a.dl")]

    assert [status for status, *_ in answers] == [0, 0]
    assert ["warning[output-replaced]" in err for *_, err in answers] == [is_lost, is_lost]
