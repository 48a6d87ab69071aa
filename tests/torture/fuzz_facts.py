"""Fact files in every format and with every option, whole and damaged, through their readers."""

import gzip
import io as memory
import json
import math
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from tidelog.errors import TidelogError
from tidelog.io import columns_from, read_relation
from tidelog.program import build_program
from tidelog.program.nodes import Relation
from tidelog.source import Source
from tidelog.syntax import parse
from tidelog.values import Codec, Codes
from torture.byte_damage import damage
from torture.fuzzing import FuzzKind
from torture.mutation import mutate
from torture.scratch import own_folder
from torture.shown import show
from torture.shrinking import Parts

_PAIR: Final = ".type Pair = [left: number, right: symbol]\n"
_TYPES: Final = {
    "Pair": _PAIR,
    "List": ".type List = [head: float, tail: List]\n",
    "Tree": _PAIR + ".type Tree = Node {l: Tree, r: Tree} | Leaf {pair: Pair, size: unsigned} | Empty {}\n",
    "Small": ".type Small <: number\n",
}
_COLUMNS: Final = (
    "number",
    "number",
    "symbol",
    "symbol",
    "unsigned",
    "float",
    "Pair",
    "List",
    "Tree",
    "Small",
)
_SUFFIXES: Final = ("facts", "csv", "tsv", "json", "jsonl", "sqlite", "db", "parquet", "gz", "csv.gz", "")
_NUMBERS: Final = (
    *("0", "1", "-7", "42", "+3", "0x1F", "-0x1", "0b101", "1.5", "1e5", "1e400", "-1e400", "nan", "inf"),
    "-inf",
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616"),
    "1" * 400,
    *("1" * 5000, "", " 1", "1 ", "٣", "1_0", "0x", "1,5", "--1", "1e", ".5", "5.", "1u"),
)
_TEXTS: Final = (
    *("a", "b", "", " ", "ä", "λ\U0001f600", 'say "hi"', "x\ty", "x,y", "line\nbreak", "\r", "\0"),
    *("\ufeff", "'"),
    *("[1, a]", "nil", "$Empty", "\\", "\\n", "long " * 400, "\u2028", '"', '""', "#"),
)
_NESTED: Final = (
    *("nil", "[1, a]", "[1, [2, nil]]", "[1.5, nil]", "$Empty", "$Leaf(nil, 1)", "$Leaf([1, x], 2)"),
    *("[1,", "]"),
    *("$Node($Empty, $Empty)", "$Nothing", "$", "[" * 300, "$Node(" * 200),
    "[1.5, " * 400 + "nil" + "]" * 400,
)
_PIECES: Final = (
    *(b",", b"\t", b"|", b"\n", b"\r\n", b"\r", b'"', b'""', b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80"),
    b"\xef\xbb\xbf",
    *(b"[", b"]", b"{", b"}", b":", b"nil", b"$Leaf(", b")", b"\x1f\x8b\x08", b"PAR1"),
    *(b"SQLite format 3\0", b"null"),
    *(b"99999999999999999999", b"1e999", b"-", b"0x", b"true", b"\\u0000", b"\\ud800", b"NaN", b"   "),
    b"1" * 5000,
)
_OPTION_WORDS: Final = (
    *("IO", "=", '"', ",", "file", "csv", "json", "jsonfile", "sqlite", "parquet", "stdin", "filename"),
    "delimiter",
    *("headers", "true", "false", "rfc4180", "columns", '"1:0"', '"0:0:0"', "compress", "name", "format"),
    "object",
    *("dbname", "fact-dir", '"/"', '""', '"\\t"', '"|"', '"ab"', '"é"', "list", '"nowhere"', '"99"'),
    "auxArity",
)


def make(chance: random.Random) -> Parts:
    """Return a program with one input relation, its file's name, the file as Latin-1, and who reads it."""
    types = [chance.choice(_COLUMNS) for _ in range(chance.choice((0, 1, 1, 2, 2, 2, 3)))]
    form = chance.choices(("csv", "json", "sqlite", "parquet", "bytes"), (10, 4, 1, 1, 1))[0]
    rows = [[_field(chance, each) for each in types] for _ in range(chance.choice((0, 1, 2, 3, 5, 20)))]
    suffix = chance.choice(_SUFFIXES)
    file = f"r.{suffix}" if chance.random() < 0.3 else "r.facts"
    options = _options(chance, form, file)
    data = _FORMS[form](chance, types, rows)
    if chance.random() < 0.1:
        data = gzip.compress(data, 1)
    data = damage(chance, data, _PIECES, chance.choice((0, 0, 0, 1, 1, 2, 4, 10)))
    columns = ", ".join(f"c{place}: {each}" for place, each in enumerate(types))
    program = f"{_declared(types)}.decl r({columns})\n.input r({options})\n"
    return program, file, data.decode("latin-1"), chance.choice(("as told", "as told", "by suffix"))


def _declared(types: Sequence[str]) -> str:
    """Return the declarations of the types in a relation, those of others left out."""
    lines = [line for each in types for line in _TYPES.get(each, "").splitlines(keepends=True)]
    return "".join(dict.fromkeys(lines))


def _options(chance: random.Random, form: str, file: str) -> str:
    word = {"csv": chance.choice(("file", "csv", "file")), "json": "jsonfile"}.get(form, form)
    options = [f'IO="{word}"'] if word != "bytes" else []
    if chance.random() < 0.8:
        options.append(f'filename="{file}"')
    if form == "csv" and chance.random() < 0.6:
        options.append(
            chance.choice(('delimiter=","', 'delimiter="|"', "delimiter=ab", "headers=true", "rfc4180=true"))
        )
    if chance.random() < 0.1:
        options.append(
            chance.choice(('columns="1:0"', 'columns="0"', "compress=true", "format=object", "name=s"))
        )
    text = ", ".join(options)
    return mutate(chance, text, _OPTION_WORDS, 1) if chance.random() < 0.1 else text


def _field(chance: random.Random, type_name: str) -> str:
    pool = {"symbol": _TEXTS, "Pair": _NESTED, "List": _NESTED, "Tree": _NESTED}.get(type_name, _NUMBERS)
    # The first ones are right, and a file whose rows are all wrong is dull.
    return chance.choice(pool[: 5 if chance.random() < 0.8 else None])


def _csv(chance: random.Random, types: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    between = chance.choice(("\t", "\t", ",", ",", "|", "ab"))
    lines = [between.join(row) for row in rows]
    if chance.random() < 0.2:
        lines = [between.join('"' + field.replace('"', '""') + '"' for field in row) for row in rows]
    if chance.random() < 0.2:
        lines.insert(0, between.join(f"c{place}" for place in range(len(types))))
    return (chance.choice(("\n", "\n", "\r\n")).join(lines) + chance.choice(("\n", ""))).encode()


def _json(chance: random.Random, _types: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    facts: list[object] = [[_json_value(chance, field) for field in row] for row in rows]
    if chance.random() < 0.3:
        facts = [{f"c{place}": _json_value(chance, field) for place, field in enumerate(row)} for row in rows]
    if chance.random() < 0.02:
        return b"[" * chance.choice((10, 1000, 100_000))
    if chance.random() < 0.3:
        return "\n".join(map(json.dumps, facts)).encode()
    return json.dumps(facts, ensure_ascii=chance.random() < 0.5).encode(errors="replace")


def _json_value(chance: random.Random, field: str) -> object:
    try:
        return int(field)
    except ValueError:
        pass
    if chance.random() < 0.8:
        return field
    others: tuple[object, ...] = (
        None,
        True,
        1.5,
        math.nan,
        math.inf,
        10**30,
        -1,
        [],
        [1, "a"],
        {},
        {"left": 1, "right": "b"},
        [[]],
        "\ud800",
    )
    return chance.choice(others)


def _sqlite(chance: random.Random, types: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    columns = ", ".join(
        f"c{place}{chance.choice(('', ' INTEGER', ' TEXT', ' BLOB'))}" for place in range(len(types))
    )
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE r ({columns or 'holds'})")
        for row in rows:
            values = [chance.choice((field, field, None, b"\xff", 1.5, 7)) for field in row] or [1]
            database.execute(f"INSERT INTO r VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608
        database.commit()
        return database.serialize()


def _parquet(chance: random.Random, types: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    columns = {f"c{place}": [row[place] for row in rows] for place in range(len(types))}
    kinds = (
        pa.string(),
        pa.string(),
        pa.binary(),
        pa.int64(),
        pa.float64(),
        pa.list_(pa.int64()),
        pa.timestamp("s"),
    )
    arrays = {name: _array(values, chance.choice(kinds)) for name, values in columns.items()}
    held = memory.BytesIO()
    pyarrow.parquet.write_table(pa.table(arrays), held)
    return held.getvalue()


def _array(values: list[str], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.array([value.encode() for value in values], pa.binary()).cast(kind)
    if pa.types.is_list(kind):
        return pa.array([[len(value)] for value in values], kind)
    return pa.array([None if len(value) > 9 else len(value) for value in values], pa.int64()).cast(kind)


def _bytes(chance: random.Random, _types: Sequence[str], _rows: Sequence[Sequence[str]]) -> bytes:
    if chance.random() < 0.5:
        return chance.randbytes(chance.randint(0, 200))
    return b"".join(chance.choices(_PIECES, k=chance.randint(0, 40)))


_FORMS: Final[dict[str, Callable[[random.Random, Sequence[str], Sequence[Sequence[str]]], bytes]]] = {
    "csv": _csv,
    "json": _json,
    "sqlite": _sqlite,
    "parquet": _parquet,
    "bytes": _bytes,
}


def attempt(program_text: str, file: str, content: str, how: str) -> None:
    """Read a file as a directive tells, or as its suffix does."""
    try:
        program, _ = build_program(parse(Source("facts.dl", program_text)))
    except TidelogError as error:
        show(error)
        return
    folder = own_folder()
    path = folder / Path(file).name
    path.write_bytes(content.encode("latin-1"))
    try:
        for directive in program.directives:
            relation = program.relations[directive.relation]
            codec = Codec(program.types)
            by_suffix = partial(columns_from, path, relation, codec)
            as_told = partial(read_relation, relation, directive, codec, folder)
            check_columns(relation, codec, by_suffix if how == "by suffix" else as_told)
    finally:
        path.unlink()


def check_columns(relation: Relation, codec: Codec, read: Callable[[], list[Codes] | None]) -> None:
    """Read columns, which must be those of the relation, and show the values in them."""
    try:
        columns = read()
    except TidelogError as error:
        show(error).encode()
        return
    if columns is not None:
        for codes, column in zip(columns, relation.columns, strict=True):
            codec.column_to_text(codes, column.type)


def load() -> None:
    """Read one file of every format, so that children find the readers and their kernels loaded."""
    chance = random.Random(0)
    types = ("number", "symbol", "float", "unsigned", "Pair", "Tree")
    rows = [["1", "a", "1.5", "2", "[1, a]", "$Empty"], ["2", "b", "2.5", "3", "nil", "$Leaf(nil, 1)"]]
    columns = ", ".join(f"c{place}: {each}" for place, each in enumerate(types))
    for form, draw in _FORMS.items():
        word = {"json": "jsonfile", "bytes": "file", "csv": "file"}.get(form, form)
        text = f'{_declared(types)}.decl r({columns})\n.input r(IO="{word}", filename="r.facts")\n'
        attempt(text, "r.facts", draw(chance, types, rows).decode("latin-1"), "as told")


KIND: Final = FuzzKind("fuzz-facts", make, attempt, load)
