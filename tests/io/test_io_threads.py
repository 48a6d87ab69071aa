"""Fact files read by several threads: the same codes, facts and mistakes as by one."""

import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tidelog
from support.fact_folders import PROGRAM, folders, write_folder
from support.programs import build
from tidelog.errors import TidelogError
from tidelog.io import csv_pieces, csv_read, read_ahead
from tidelog.io.threads import LoadThreads
from tidelog.session import load
from tidelog.values import Codec


class _Kept:
    """Keeps what is inserted, in its order."""

    def __init__(self) -> None:
        self.inserted: list[tuple[str, list[list[int]]]] = []

    def insert(self, relation: str, columns: list) -> None:
        self.inserted.append((relation, [column.tolist() for column in columns]))


def _loaded(folder: Path, jobs: int) -> tuple[object, list[str], list[str]]:
    """Return what is inserted, the texts in the order of their codes, and the mistakes."""
    program = build(PROGRAM)
    codec, kept, mistakes = Codec(program.types), _Kept(), []
    try:
        load.load_facts(program, folder, codec, kept, jobs=jobs)
    except TidelogError as error:
        mistakes = [repr(each) for each in error.diagnostics]
    return kept.inserted, [codec.symbols.text_of(code) for code in range(len(codec.symbols))], mistakes


@pytest.fixture(autouse=True, scope="module")
def _small_pieces():
    """Cut few lines into pieces as many are cut, and let threads parse them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_pieces, "WINDOW_BYTES", 60)
        patch.setattr(csv_pieces, "PIECE_BYTES", 16)
        patch.setattr(csv_read, "FEW_BYTES", -1)
        patch.setattr(read_ahead, "_BYTES_FOR_THREADS", 0)
        patch.setattr(read_ahead, "_BYTES_PER_THREAD", 40)
        yield


@given(
    content=folders,
    few=st.sampled_from([-1, 20, 1000]),
    is_packed=st.booleans(),
    ends_with_line=st.booleans(),
)
@example({"some": "1,z,aaaaaaaaaaaaa\n2,z,b,c\n"}, -1, False, True)
@example({"edge": "1\ta\n" * 9 + "x\tb\n" + "2\tb\n" * 9, "name": "a\nb\nc"}, -1, False, True)
def test_threads_change_nothing(tmp_path_factory, content, few, is_packed, ends_with_line):
    """Rows, their order, the codes of texts and all mistakes are the same with one, two and three threads."""
    folder = tmp_path_factory.mktemp("facts")
    write_folder(folder, content, is_packed=is_packed, ends_with_line=ends_with_line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_read, "FEW_BYTES", few)
        one, two, three = (_loaded(folder, jobs) for jobs in (1, 2, 3))

    assert two == one
    assert three == one


def test_texts_have_codes_window_by_window_and_column_by_column(tmp_path):
    """The order of codes is that of the windows, whatever pieces they are cut into."""
    (tmp_path / "pair.csv").write_text("".join(f"{number},{-number}\n" for number in range(1, 20)))
    codes = {}

    for size in (1, 16, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(csv_pieces, "PIECE_BYTES", size)
            program = build(
                '.decl pair(a: symbol, b: symbol)\n.input pair(filename="pair.csv", delimiter=",")'
            )
            codec = Codec(program.types)
            load.load_facts(program, tmp_path, codec, _Kept(), jobs=2)
            codes[size] = [codec.symbols.text_of(code) for code in range(len(codec.symbols))]

    # The first window ends with the line that has its 60th byte.
    first = range(1, 13)
    assert codes[1][:24] == [*(str(number) for number in first), *(str(-number) for number in first)]
    assert codes[1] == codes[16] == codes[1000]


def test_a_file_given_by_its_path_is_read_by_threads(tmp_path):
    """Facts in a mapping are read ahead where they are files."""
    (tmp_path / "edge.tsv").write_text("".join(f"{number}\ttext {number}\n" for number in range(100)))
    rules = ".decl edge(x: number, y: symbol)\n.decl other(x: number)\n"

    db = tidelog.open(rules, facts={"edge": tmp_path / "edge.tsv", "other": [(1,)]}, jobs=3)

    assert list(db["edge"]) == [(number, f"text {number}") for number in range(100)]
    assert list(db["other"]) == [(1,)]


def test_an_interrupt_leaves_no_thread(tmp_path, monkeypatch):
    """Ctrl-C while threads read ends them all, and files are closed."""
    (tmp_path / "edge.facts").write_text("1\ta\n" * 400)
    program = build(".decl edge(x: number, y: symbol)\n.input edge")
    before = set(threading.enumerate())
    seen = []

    def interrupted(*_: object) -> None:
        seen.extend(set(threading.enumerate()) - before)
        raise KeyboardInterrupt

    monkeypatch.setattr(csv_read, "codes_from_arrow", interrupted)
    kept = _Kept()

    with pytest.raises(KeyboardInterrupt):
        load.load_facts(program, tmp_path, Codec(program.types), kept, jobs=3)

    assert seen
    assert set(threading.enumerate()) == before
    assert kept.inserted == []


def test_few_facts_start_no_thread(tmp_path, monkeypatch):
    """Files of less than four megabytes together are read by the calling thread."""
    monkeypatch.setattr(read_ahead, "_BYTES_FOR_THREADS", 1 << 22)
    monkeypatch.setattr(LoadThreads, "start", lambda *_: pytest.fail("a thread is started"))
    (tmp_path / "edge.facts").write_text("1\ta\n" * 1000)

    db = tidelog.open(".decl edge(x: number, y: symbol)\n.input edge", facts=tmp_path, jobs=4)

    assert len(db["edge"]) == 1
