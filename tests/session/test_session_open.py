"""Opening a session: programs and facts from wherever the user has them."""

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tidelog
from tidelog import TidelogError
from tidelog.engine.memory import parse_memory_size, peak_memory_bytes
from tidelog.options import EngineName

PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.input edge
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

EDGES = [(1, 2), (2, 3)]
CLOSURE = [(1, 2), (1, 3), (2, 3)]


def codes_of(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    """Return the codes of the diagnostics that were raised."""
    return [diagnostic.code for diagnostic in error.value.diagnostics]


def test_a_program_text_is_evaluated_over_facts_from_python() -> None:
    """`open` evaluates at once; a relation iterates in value order."""
    db = tidelog.open(PATHS, facts={"edge": EDGES}, engine="reference")

    assert list(db["path"]) == CLOSURE


def test_a_program_is_read_from_a_path_or_a_name_that_ends_in_dl(tmp_path: Path) -> None:
    """A Path is a file, and so is a one-line string that ends in `.dl`."""
    file = tmp_path / "paths.dl"
    file.write_text(PATHS)

    by_path = tidelog.open(file, facts={"edge": EDGES}, engine="reference")
    by_name = tidelog.open(str(file), facts={"edge": EDGES}, engine="reference")

    assert list(by_path["path"]) == list(by_name["path"]) == CLOSURE


def test_a_program_is_read_without_being_evaluated(tmp_path: Path) -> None:
    """`read_program` takes what `open` takes for a program, and reports mistakes in the same way."""
    (tmp_path / "more.dl").write_text("path(0, N).")
    file = tmp_path / "paths.dl"
    file.write_text(PATHS + '#include "more.dl"')

    program = tidelog.read_program(file, include_path=[tmp_path], defines={"N": "7"})

    assert [len(stratum.rules) for stratum in program.strata] == [0, 3]
    with pytest.raises(TidelogError) as error:
        tidelog.read_program(PATHS, defines={"N": 7})
    assert codes_of(error) == ["bad-argument"]


def test_a_folder_is_read_as_the_input_directives_say(tmp_path: Path) -> None:
    """With a folder of facts, every `.input` relation is read from its file."""
    (tmp_path / "edge.facts").write_text("1\t2\n2\t3\n")

    db = tidelog.open(PATHS, facts=tmp_path, engine="reference")

    assert list(db["path"]) == CLOSURE


def test_without_facts_the_inputs_are_empty() -> None:
    """No facts is not a mistake: nothing is read and nothing is derived."""
    db = tidelog.open(PATHS, engine="reference")

    assert len(db["path"]) == 0


@pytest.mark.parametrize(
    "data",
    [
        EDGES,
        iter(EDGES),
        {"x": [1, 2], "y": [2, 3]},
        pa.table({"x": [1, 2], "y": [2, 3]}),
        pd.DataFrame({"x": [1, 2], "y": [2, 3]}),
        pl.DataFrame({"x": [1, 2], "y": [2, 3]}),
    ],
    ids=["tuples", "iterator", "columns", "arrow", "pandas", "polars"],
)
def test_facts_are_taken_in_every_common_form(data: object) -> None:
    """Tuples, columns, Arrow tables and data frames mean the same facts."""
    db = tidelog.open(PATHS, facts={"edge": data}, engine="reference")

    assert list(db["path"]) == CLOSURE


def test_facts_may_be_the_path_of_a_file(tmp_path: Path) -> None:
    """A path in the mapping is read by its suffix."""
    file = tmp_path / "some.csv"
    file.write_text("1,2\n2,3\n")

    db = tidelog.open(PATHS, facts={"edge": file}, engine="reference")

    assert list(db["path"]) == CLOSURE


def test_a_relation_needs_no_input_directive_to_be_given_facts() -> None:
    """Facts given from Python make a relation an input, and nothing warns about it."""
    program = PATHS.replace(".input edge\n", "")

    db = tidelog.open(program, facts={"edge": EDGES}, engine="reference")

    assert list(db["path"]) == CLOSURE
    assert db.warnings == ()


def test_a_relation_without_columns_is_given_its_fact_or_not() -> None:
    """A relation without columns holds if one empty fact is given."""
    program = ".decl on()\n.decl lit(x: number)\nlit(1) :- on().\n"

    lit = tidelog.open(program, facts={"on": [()]}, engine="reference")
    dark = tidelog.open(program, facts={"on": []}, engine="reference")

    assert list(lit["lit"]) == [(1,)]
    assert list(lit["on"]) == [()]
    assert list(dark["lit"]) == []


def test_facts_for_an_undeclared_relation_are_a_mistake() -> None:
    """The diagnostic names the closest relation."""
    with pytest.raises(TidelogError) as error:
        tidelog.open(PATHS, facts={"edges": EDGES}, engine="reference")

    assert codes_of(error) == ["undeclared-relation"]
    assert "`edge`" in str(error.value)


def test_all_mistakes_in_all_facts_are_reported_together() -> None:
    """Two relations with bad facts give two diagnostics."""
    program = ".decl a(x: number)\n.decl b(x: symbol)\n.input a\n.input b\n"

    with pytest.raises(TidelogError) as error:
        tidelog.open(program, facts={"a": [("one",)], "b": [(1,)]}, engine="reference")

    assert codes_of(error) == ["wrong-value-type", "wrong-value-type"]


def test_a_missing_program_names_the_file_that_was_meant(tmp_path: Path) -> None:
    """A misspelt path is a diagnostic with a suggestion, not an exception of the system."""
    (tmp_path / "paths.dl").write_text(PATHS)

    with pytest.raises(TidelogError) as error:
        tidelog.open(tmp_path / "path.dl")

    assert codes_of(error) == ["unreadable-program"]
    assert "paths.dl" in str(error.value)


def test_a_program_that_is_not_utf8_shows_where(tmp_path: Path) -> None:
    """The diagnostic points at the byte that does not decode."""
    file = tmp_path / "latin.dl"
    file.write_bytes(b".decl a(x: number)\n// n\xe9\n")

    with pytest.raises(TidelogError) as error:
        tidelog.open(file)

    assert codes_of(error) == ["bad-encoding"]
    assert "latin.dl:2:5" in str(error.value)


@pytest.mark.parametrize("choice", [{"jobs": 0}, {"memory_limit": "much"}, {"engine": "warp"}])
def test_a_setting_that_makes_no_sense_is_a_diagnostic(choice: dict[str, object]) -> None:
    """Every choice of the user is checked."""
    with pytest.raises(TidelogError) as error:
        tidelog.open(PATHS, **choice)

    assert codes_of(error)[0] in {"bad-jobs", "bad-memory-limit", "unknown-engine"}


@pytest.mark.parametrize(
    ("text", "count"),
    [("512M", 512 * 2**20), ("4G", 4 * 2**30), ("1.5GiB", 3 * 2**29), ("2kb", 2048), (4096, 4096)],
)
def test_amounts_of_memory_have_units(text: str, count: int) -> None:
    """A K is 1024 bytes, with or without a B."""
    assert parse_memory_size(text) == count


def test_peak_memory_is_what_the_system_says() -> None:
    """An interpreter with Arrow loaded holds more than ten mebibytes."""
    assert peak_memory_bytes() > 10 * 2**20


def test_statistics_tell_the_phases_and_the_strata() -> None:
    """Every phase that ran has its seconds, every stratum its numbers."""
    db = tidelog.open(PATHS, facts={"edge": EDGES}, engine="reference")

    statistics = db.statistics

    assert set(statistics.seconds) == {"start", "parse", "load", "evaluate"}
    assert sum(stratum.facts for stratum in statistics.strata) == 5


def test_a_session_is_a_mapping_like_context_manager() -> None:
    """It names its relations, and after the block it is closed."""
    with tidelog.open(PATHS, facts={"edge": EDGES}, engine="reference") as db:
        assert db.relations == tuple(db) == ("edge", "path")
        assert "path" in db
        assert len(db) == 2
        assert repr(db) == "<session edge: 2, path: 3>"

    with pytest.raises(TidelogError) as error:
        db["path"]

    assert codes_of(error) == ["session-closed"]


def test_an_unknown_relation_is_a_diagnostic() -> None:
    """Asking for a relation that is not there suggests the closest."""
    db = tidelog.open(PATHS, engine="reference")

    with pytest.raises(TidelogError) as error:
        db["paths"]

    assert "`path`" in str(error.value)


def test_write_publishes_the_outputs(tmp_path: Path) -> None:
    """Outputs are written in value order where their directives say."""
    db = tidelog.open(PATHS, facts={"edge": EDGES}, engine="reference")

    db.write(tmp_path)

    assert (tmp_path / "path.csv").read_text() == "1\t2\n1\t3\n2\t3\n"


def test_includes_and_macros_are_passed_on(tmp_path: Path) -> None:
    """`include_path` and `defines` reach the preprocessor."""
    (tmp_path / "facts.inc").write_text("edge(1, LAST).\n")
    program = '.decl edge(x: number, y: number)\n#include "facts.inc"\n'

    db = tidelog.open(program, engine="reference", include_path=[tmp_path], defines={"LAST": "7"})

    assert list(db["edge"]) == [(1, 7)]


def test_names_that_no_file_can_have_are_told():
    """A path with a null byte in it is told like any other that cannot be read or written."""
    program = ".decl a(s: symbol)"

    with pytest.raises(TidelogError, match="unreadable-program"):
        tidelog.open(Path("a\0b.dl"))
    with pytest.raises(TidelogError, match="bad-argument"):
        tidelog.open(program, store="a\0b")
    with tidelog.open(program) as session, pytest.raises(TidelogError, match="bad-argument"):
        session.guard(Path("a\0b"))


def test_no_machine_has_so_much_memory():
    """An amount with thousands of digits is not one."""
    with pytest.raises(TidelogError, match="bad-memory-limit"):
        parse_memory_size("9" * 5000 + "G")


@pytest.mark.parametrize("engine", ["reference", "local"])
def test_the_plan_is_that_of_relations_as_they_are(engine: EngineName) -> None:
    """`explain` gives what `tidelog plan` prints; sizes are those of the present epoch."""
    text = """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
    """
    with tidelog.open(text, facts={"edge": [(1, 2), (2, 3)]}, engine=engine) as db:
        before = db.explain()
        db.apply("+edge(3, 4).")
        after = db.explain()

    assert "stratum 1: path (recursive)" in before
    assert "input edge, facts: 2" in before
    assert "input edge, facts: 3" in after


def test_the_schema_has_names_and_types_of_columns() -> None:
    """`schema` is plain data: relations, their columns, and the types of these."""
    with tidelog.open(".decl a(n: number, s: symbol)\n.decl flag()", engine="reference") as db:
        assert db.schema == {"a": {"n": "number", "s": "symbol"}, "flag": {}}
