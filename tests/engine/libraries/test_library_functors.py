"""Functors from C libraries: batches, widths, tables, and what goes wrong."""

import shutil
from pathlib import Path

import pytest

import tidelog
from support.compiled import compiled_text, library, needs_compiler
from tidelog import TidelogError
from tidelog.engine.libraries import Libraries
from tidelog.engine.local import library_calls
from tidelog.engine.spark.placement import reason_against_codes
from tidelog.session.prepare import read_program

pytestmark = needs_compiler
ENGINES = pytest.mark.parametrize("engine", ["local", "reference"])
TWICE = ".functor twice(x: number): number\n.decl a(x: number)\na(@twice(x)) :- x = range(0, 3).\n"


def _codes(error: pytest.ExceptionInfo[TidelogError]) -> list[str]:
    return [each.code for each in error.value.diagnostics]


# --- where functions come from ---------------------------------------------------------------------


@ENGINES
def test_a_library_is_named_by_its_path_or_found_in_folders(engine: str) -> None:
    """`libfunctors.so` is `functors` in a folder of the path."""
    file = library("functors")

    by_path = tidelog.open(TWICE, libraries=[file], engine=engine)
    by_name = tidelog.open(TWICE, libraries=["functors"], library_path=[file.parent], engine=engine)

    assert list(by_path["a"]) == list(by_name["a"]) == [(0,), (2,), (4,)]


def test_python_goes_before_libraries() -> None:
    """A library answers only for functors that Python has no function for."""
    db = tidelog.open(TWICE, libraries=[library("functors")], functions={"twice": lambda x: x + 100})

    assert list(db["a"]) == [(100,), (101,), (102,)]


def test_libraries_that_no_functor_needs_are_not_loaded() -> None:
    """As in Soufflé, a name without a file is no mistake where nothing is looked for."""
    db = tidelog.open(".decl a(x: number)\na(1).\n", libraries=["nowhere"])

    assert list(db["a"]) == [(1,)]


def test_the_first_library_with_the_function_has_it(tmp_path: Path) -> None:
    """Libraries are searched in the order in which they are named."""
    other = compiled_text("long twice(long x) { return 10 * x; }", tmp_path, "other")

    db = tidelog.open(TWICE, libraries=[library("tables"), other, library("functors")])

    assert list(db["a"]) == [(0,), (10,), (20,)]


def test_rules_that_are_added_later_use_the_libraries() -> None:
    """The libraries of a session stay open for its rules."""
    db = tidelog.open(".decl n(x: number)\nn(5).\n", libraries=[library("functors")])

    db.add_rules(".functor twice(x: number): number\n.decl m(x: number)\nm(@twice(x)) :- n(x).")

    assert list(db["m"]) == [(10,)]


def test_a_store_is_opened_with_libraries_again(tmp_path: Path) -> None:
    """A store keeps the program, not the machine code: libraries are named again."""
    program = TWICE.replace("x = range(0, 3)", "n(x)") + ".decl n(x: number)\n.input n\n"
    store = tmp_path / "store"
    with tidelog.open(program, store=store, facts={"n": [(1,)]}, libraries=[library("functors")]):
        pass

    with pytest.raises(TidelogError) as error:
        tidelog.open(store=store)
    with tidelog.open(store=store, libraries=[library("functors")]) as db:
        db.apply(insert={"n": [(7,)]})
        assert list(db["a"]) == [(2,), (14,)]

    assert _codes(error) == ["missing-function"]


def test_such_strata_need_more_than_codes() -> None:
    """A stratum that calls a library works on values, and the reason says so."""
    program = read_program(TWICE)

    reasons = [reason_against_codes(stratum, program) for stratum in program.strata]

    assert reasons == ["a rule applies the function `twice`"]


# --- batches -----------------------------------------------------------------------------------------

MANY = """
.functor larger(x: number, y: number): number
.functor mixed(a: number, b: float, c: unsigned, d: float, e: number, f: float): float
.functor flip(bits: unsigned): unsigned
.functor shout(text: symbol): symbol
.functor repeated(text: symbol, times: number): symbol
.functor before(text: symbol, separator: symbol): symbol
.functor length(text: symbol): number
.decl n(x: number)
n(x) :- x = range(-150, 150).
.decl numbers(x: number, y: number, z: float, u: unsigned)
numbers(x, @larger(x, -x), @mixed(x, itof(x), 3, 0.5, -x, 1.0), @flip(itou(x))) :- n(x).
.decl texts(x: number, y: symbol, z: symbol, l: number)
texts(x, @shout(cat("größe", to_string(x))), @repeated(to_string(x), x), @length(to_string(x))) :- n(x).
.decl parts(x: number, y: symbol)
parts(x, @before(to_string(x), "4")) :- n(x).
"""


@ENGINES
def test_many_rows_are_as_rows_one_by_one(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of kernels, calls row by row and the reference engine agree on every kind."""
    functors = [library("functors")]
    batches = tidelog.open(MANY, libraries=functors)
    monkeypatch.setattr(library_calls, "_fills_registers", lambda _: False)

    rows = tidelog.open(MANY, libraries=functors, engine=engine)

    for name in ("numbers", "texts", "parts"):
        assert list(batches[name]) == list(rows[name])
    assert len(batches["numbers"]) == len(batches["texts"]) == 300
    assert 0 < len(batches["parts"]) < 300


def test_several_threads_call_a_library() -> None:
    """The answers do not depend on the number of threads, though the library has one buffer for all texts."""
    program = """
.functor larger(x: number, y: number): number
.functor repeated(text: symbol, times: number): symbol
.decl n(x: number)
n(x) :- x = range(0, 20000).
.decl a(x: number)
a(@larger(x, 100)) :- n(x), n(x + 1).
.decl t(x: number, t: symbol)
t(x, @repeated(to_string(x), 2)) :- n(x), n(x + 1).
"""

    db = tidelog.open(program, libraries=[library("functors")], jobs=4)

    assert list(db["a"]) == [(x,) for x in range(100, 19999)]
    assert list(db["t"]) == [(x, f"{x}{x}") for x in range(19999)]


# --- widths ------------------------------------------------------------------------------------------

NARROW = """
.functor negated(x: number): number
.functor inverted(x: unsigned): unsigned
.functor halved(x: float): float
.functor sum_of(a: number, b: float, c: unsigned, d: float): float
.decl n(x: number)
.decl a(x: number, y: unsigned, z: float, s: float)
a(@negated(x), @inverted(itou(x)), @halved(itof(x)), @sum_of(-x, 0.5, 2, 0.25)) :- n(x).
"""


@ENGINES
def test_a_library_for_32_bits(engine: str) -> None:
    """`library_bits=32` calls functions of int32_t, uint32_t and float."""
    facts = {"n": [(x,) for x in range(1, 4)]}

    db = tidelog.open(NARROW, facts=facts, libraries=[library("narrow")], library_bits=32, engine=engine)

    assert list(db["a"]) == [(-x, 2**32 - 1 - x, x / 2, 2.75 - x) for x in (3, 2, 1)]


@ENGINES
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1])
def test_a_number_that_32_bits_cannot_hold(engine: str, number: int) -> None:
    """It is a diagnostic, not another number."""
    program = ".functor negated(x: number): number\n.decl n(x: number)\n"
    program += ".decl a(x: number)\na(@negated(x)) :- n(x).\n"

    with pytest.raises(TidelogError, match="does not fit into 32 bits") as error:
        tidelog.open(
            program,
            facts={"n": [(1,), (number,)]},
            libraries=[library("narrow")],
            library_bits=32,
            engine=engine,
        )

    assert _codes(error) == ["functor-failed"]


@ENGINES
def test_a_result_that_may_have_another_width(engine: str) -> None:
    """Where nobody said how wide numbers are, a negative one of 32 bits is suspected."""
    program = ".functor negated(x: number): number\n.decl a(x: number)\na(@negated(x)) :- x = range(1, 3).\n"
    wide = program.replace("negated", "twice").replace("range(1, 3)", "range(2000000000, 2000000002)")

    with pytest.raises(TidelogError, match="may be the 32-bit number -1"):
        tidelog.open(program, libraries=[library("narrow")], engine=engine)
    with pytest.raises(TidelogError, match="--library-bits 64"):
        tidelog.open(wide, libraries=[library("functors")], engine=engine)
    db = tidelog.open(wide, libraries=[library("functors")], library_bits=64, engine=engine)

    assert list(db["a"]) == [(4000000000,), (4000000002,)]


# --- mistakes ----------------------------------------------------------------------------------------


def _refused(program: str, *libraries: object, **options: object) -> TidelogError:
    with pytest.raises(TidelogError) as error:
        tidelog.open(program, libraries=list(libraries), **options)
    return error.value


def test_a_library_that_is_not_there() -> None:
    """The message has the file's name and the folders, the hint how to name others."""
    error = _refused(TWICE, "nowhere", library_path=["/no/such/folder"])

    assert [each.code for each in error.diagnostics] == ["library-not-found"]
    assert "libnowhere.so in /no/such/folder" in str(error)
    assert "-L DIR" in str(error)


def test_a_file_that_is_not_a_library(tmp_path: Path) -> None:
    """What the system says of it is passed on."""
    (tmp_path / "libtext.so").write_text("not a library")

    error = _refused(TWICE, "text", library_path=[tmp_path])

    assert [each.code for each in error.diagnostics] == ["library-failed"]
    assert "cannot be loaded" in str(error)


def test_a_function_that_the_library_lacks() -> None:
    """The use is underlined, and a name that C++ changed is recognised."""
    lacking = _refused(TWICE.replace("twice", "thrice"), library("functors"))
    mangled = _refused(TWICE.replace("twice", "mangled"), library("ported"))

    assert "@thrice(x)" in str(lacking)
    assert "and none in Python" in str(lacking)
    assert 'extern "C"' in str(mangled)


def test_every_missing_function_is_reported() -> None:
    """Not only the first one."""
    program = ".functor one(x: number): number\n.functor two(x: number): number\n"
    program += ".decl a(x: number)\na(@one(@two(1)))."

    error = _refused(program, library("functors"))

    assert [each.code for each in error.diagnostics] == ["missing-function"] * 2


def test_records_need_the_tables() -> None:
    """A functor that is not stateful cannot take a record."""
    program = ".type P = [x: number]\n.functor twice(p: P): number\n.decl a(x: number)\na(@twice([1]))."

    error = _refused(program, library("functors"))

    assert [each.code for each in error.diagnostics] == ["library-type"]
    assert "declare `twice` as stateful" in str(error)


def test_a_stateful_functor_needs_the_header() -> None:
    """A library that was compiled without it, for Soufflé itself, would crash: it is refused."""
    error = _refused(TWICE.replace("): number", "): number stateful"), library("functors"))

    assert [each.code for each in error.diagnostics] == ["library-interface"]
    assert "tidelog include" in str(error)


@ENGINES
@pytest.mark.parametrize(
    ("which", "message"),
    [
        (0, "`decode` was called with 1000000, which is not the code of a text"),
        (1, "`unpack` was called for 2 fields of 0, which is nil"),
        (2, "which is a record of 3 fields"),
        (3, "which is not UTF-8"),
        (4, "it returned 1000000, which is not a code of `symbol`"),
    ],
)
def test_what_a_stateful_functor_does_wrong(engine: str, which: int, message: str) -> None:
    """Codes that are none do not crash: the call is named, with what it was called with."""
    program = f".functor wrong(x: number): symbol stateful\n.decl a(x: symbol)\na(@wrong({which}))."

    error = _refused(program, library("tables"), engine=engine)

    assert f"`wrong({which})`" in str(error)
    assert message in str(error)


@ENGINES
@pytest.mark.parametrize("count", [1, 100])
def test_texts_that_c_cannot_hold(engine: str, count: int) -> None:
    """A NUL inside a text, and a result that is not UTF-8, are diagnostics; other rows do not matter."""
    inside = (
        ".functor length(t: symbol): number\n.decl n(t: symbol)\n.decl a(x: number)\na(@length(t)) :- n(t).\n"
    )
    outside = (
        f".functor broken(x: number): symbol\n.decl a(t: symbol)\na(@broken(x)) :- x = range(0, {count}).\n"
    )
    texts = [("a\0b",), *((str(x),) for x in range(count))]

    error = _refused(inside, library("functors"), facts={"n": texts}, engine=engine)
    broken = _refused(outside, library("functors"), engine=engine)

    assert "NUL" in str(error)
    assert r"it returned b'\xff\xfe', which is not UTF-8" in str(broken)


def test_options_are_checked() -> None:
    """A width that is none, and names that are no paths, are mistakes in options."""
    for options in ({"library_bits": 16}, {"libraries": [1]}, {"library_path": 1}):
        with pytest.raises(TidelogError) as error:
            tidelog.OpenOptions(**options)
        assert _codes(error) == ["bad-argument"]


def test_a_library_moves_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`LD_LIBRARY_PATH` is searched after the folders of the path."""
    shutil.copy(library("functors"), tmp_path / "libhere.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path}")
    program = read_program(TWICE)

    found = Libraries(("here",)).functors(program, [("twice", None)])

    assert found["twice"](21) == 42
