"""Values of every type as codes, as text and in order."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.value_types import TYPES, VALUES, same, type_names, typed_columns, value_key
from tidelog.errors import TidelogError
from tidelog.values import NIL, Branch, BranchType, Codec, Field, Kind, TextError, ValueType
from tidelog.values.order_bytes import order_bytes


@given(typed_columns(max_size=20))
def test_values_come_back_from_their_codes(typed):
    """Encoding and decoding is the identity, one by one and by column."""
    name, values = typed
    codec = Codec(TYPES)

    codes = codec.encode_column(values, name)

    assert same(codec.decode_column(codes, name), values)
    assert codes.tolist() == [codec.encode(value, name) for value in values]
    assert same([codec.decode(code, name) for code in codes.tolist()], values)


@given(typed_columns(max_size=20))
def test_equal_codes_are_equal_values(typed):
    """Two values of a type have one code exactly when they are equal."""
    name, values = typed
    codec = Codec(TYPES)

    codes = codec.encode_column(values, name).tolist()

    keys = [repr(value) for value in values]
    assert len(set(zip(codes, keys, strict=True))) == len(set(codes)) == len(set(keys))


@given(typed_columns(max_size=20))
def test_text_is_read_back(typed):
    """What `format` writes, `parse` reads as the same code; columns are formatted alike."""
    name, values = typed
    codec = Codec(TYPES)
    codes = codec.encode_column(values, name)

    texts = [codec.format(code, name) for code in codes.tolist()]

    assert [codec.parse(text, name) for text in texts] == codes.tolist()
    assert codec.column_to_text(codes, name).to_pylist() == texts


@given(typed_columns(max_size=20))
def test_json_is_valid(typed):
    """JSON texts of values are JSON, in lists and in objects, and different values have different ones."""
    name, values = typed
    codec = Codec(TYPES)
    codes = codec.encode_column(values, name)

    for has_objects in (False, True):
        texts = codec.column_to_json(codes, name, has_objects=has_objects).to_pylist()
        meant = [json.dumps(json.loads(text), sort_keys=True) for text in texts]
        assert (
            len(set(zip(meant, codes.tolist(), strict=True))) == len(set(meant)) == len(set(codes.tolist()))
        )


@given(typed_columns(max_size=30))
def test_keys_sort_in_value_order(typed):
    """Numbers by size with NaN last, symbols by code points, records by fields with nil first."""
    name, values = typed
    codec = Codec(TYPES)
    codes = codec.encode_column(values, name)

    order = np.argsort(codec.order_keys(codes, name), kind="stable").tolist()

    assert same([values[row] for row in order], sorted(values, key=value_key))


@given(typed_columns(max_size=30))
def test_bytes_sort_in_value_order(typed):
    """Values are sorted by their bytes as by their keys, and only equal values have equal bytes."""
    name, values = typed
    codec = Codec(TYPES)
    codes = np.unique(codec.encode_column(values, name))

    found = [order_bytes(code, codec.resolve(name), codec) for code in codes.tolist()]

    keys = codec.order_keys(codes, name).tolist()
    assert sorted(range(len(codes)), key=found.__getitem__) == sorted(range(len(codes)), key=keys.__getitem__)
    assert len(set(found)) == len(codes)


@given(st.lists(type_names, min_size=1, max_size=3), st.data())
def test_rows_sort_column_by_column(names, data):
    """`sort_rows` and `sorted_batches` order rows by the first column, then the next."""
    codec = Codec(TYPES)
    rows = data.draw(st.lists(st.tuples(*(VALUES[name] for name in names)), max_size=20))
    columns = [codec.encode_column([row[i] for row in rows], name) for i, name in enumerate(names)]

    order = codec.sort_rows(columns, names).tolist()
    batches = list(codec.sorted_batches(columns, names, 7))

    expected = sorted(rows, key=lambda row: [value_key(value) for value in row])
    assert same([rows[row] for row in order], expected)
    merged = [np.concatenate([batch[i] for batch in batches]) for i in range(len(names))] if batches else []
    decoded = [codec.decode_column(codes, name) for codes, name in zip(merged, names, strict=False)]
    assert same(list(zip(*decoded, strict=True)), expected)


@pytest.mark.parametrize("spread", [1, 1000, 2**40])
def test_numbers_sort_whether_or_not_they_fit_one_key(spread):
    """Two number columns of small and of huge range are sorted alike."""
    codec = Codec(TYPES)
    columns = [np.arange(-50, 50) % 7 * spread, np.arange(100) % 11 * -spread]

    (batch,) = codec.sorted_batches(columns, ["number", "number"], 1000)

    rows = list(zip(*(codes.tolist() for codes in columns), strict=True))
    assert list(zip(*(codes.tolist() for codes in batch), strict=True)) == sorted(rows)


def test_a_very_long_list_is_no_special_case():
    """Records nested thousands deep are encoded, written, read, decoded and ordered."""
    codec = Codec(TYPES)
    value = None
    for _ in range(3000):
        value = (1.0, value)

    code = codec.encode(value, "List")
    shorter = codec.encode(value[1], "List")
    text = codec.format(code, "List")
    keys = codec.order_keys(np.array([code, NIL, shorter]), "List")

    assert codec.parse(text, "List") == code
    assert text.count("[") == 3000
    assert np.argsort(keys).tolist() == [1, 2, 0]
    depth, rest = 0, codec.decode(code, "List")
    while rest is not None:
        depth, rest = depth + 1, rest[1]
    assert depth == 3000


# Types whose rows are alike: a number, then a code of the dictionary or of a record.
_ALIKE = {
    "Pair": ValueType("Pair", Kind.RECORD, fields=(Field("number", "number"), Field("name", "symbol"))),
    "List": ValueType("List", Kind.RECORD, fields=(Field("head", "number"), Field("tail", "List"))),
    "Lists": ValueType("Lists", Kind.RECORD, fields=(Field("size", "number"), Field("first", "List"))),
    "Tree": ValueType(
        "Tree",
        Kind.ADT,
        branches=(
            BranchType("Node", (Field("child", "Tree"),)),
            BranchType("Leaf", (Field("list", "List"),)),
        ),
    ),
}
_bits = st.integers(0, 1)
_short_lists = st.recursive(st.none(), lambda tails: st.tuples(_bits, tails), max_leaves=5)
_alike_values = st.one_of(
    st.tuples(st.just("Pair"), st.tuples(_bits, st.sampled_from("abcdefgh"))),
    st.tuples(st.just("List"), _short_lists),
    st.tuples(st.just("Lists"), st.none() | st.tuples(_bits, _short_lists)),
    st.tuples(
        st.just("Tree"),
        st.recursive(
            st.builds(lambda inner: Branch("Leaf", (inner,)), _short_lists),
            lambda children: st.builds(lambda inner: Branch("Node", (inner,)), children),
            max_leaves=4,
        ),
    ),
)


@given(st.lists(_alike_values, max_size=25))
def test_records_of_types_that_share_rows_are_kept_apart(typed):
    """A code is read by its type, though the code of a record inside it may be greater."""
    codec = Codec(_ALIKE)
    codec.encode_column(list("abcdefgh"), "symbol")

    codes = [codec.encode(value, name) for name, value in typed]

    assert [codec.decode(code, name) for code, (name, _) in zip(codes, typed, strict=True)] == [
        value for _, value in typed
    ]
    for wanted in _ALIKE:
        own = np.array([c for c, (name, _) in zip(codes, typed, strict=True) if name == wanted], np.int64)
        values = [value for name, value in typed if name == wanted]
        order = np.argsort(codec.order_keys(own, wanted), kind="stable").tolist()
        assert codec.decode_column(own, wanted) == values
        assert [values[row] for row in order] == sorted(values, key=value_key)


def test_a_record_may_have_a_smaller_code_than_the_one_inside_it():
    """A list that shares its row with an earlier pair is decoded and ordered all the same."""
    codec = Codec(_ALIKE)
    codec.encode_column(["a", "b", "c"], "symbol")
    pair = codec.encode((0, "c"), "Pair")
    one = codec.encode((0, None), "List")

    two = codec.encode((0, (0, None)), "List")
    keys = codec.order_keys(np.array([two, one, NIL]), "List")

    assert two == pair < one
    assert codec.decode(two, "List") == (0, (0, None))
    assert codec.decode(pair, "Pair") == (0, "c")
    assert np.argsort(keys).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("1", "number"),
        (1.0, "number"),
        (True, "number"),
        (None, "number"),
        (2**63, "number"),
        (-(2**63) - 1, "number"),
        (-1, "unsigned"),
        (2**64, "unsigned"),
        ("x", "float"),
        (False, "float"),
        (10**400, "float"),
        (1, "symbol"),
        (b"x", "symbol"),
        ("\ud800", "symbol"),
        ((1,), "Pair"),
        ((1, 2), "Pair"),
        ("nil", "Pair"),
        (None, "Tree"),
        (Branch("Leaves"), "Tree"),
        (Branch("Empty", (1,)), "Tree"),
        (Branch("Leaf", ((1, "a"), -1)), "Tree"),
    ],
)
def test_a_value_of_another_type_is_a_diagnostic(value, name):
    """The code is `wrong-value-type`, alone and in a column."""
    codec = Codec(TYPES)
    good = {"number": 1, "unsigned": 1, "float": 1.0, "symbol": "a", "Pair": None, "Tree": Branch("Empty")}

    for encode in (
        lambda: codec.encode(value, name),
        lambda: codec.encode_column([good[name], value], name),
        lambda: codec.encode_column([good[name]] * 20 + [value], name),
    ):
        with pytest.raises(TidelogError) as caught:
            encode()
        assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["wrong-value-type"]


def test_numpy_scalars_are_values():
    """Scalars of NumPy arrays count as the Python values they stand for."""
    codec = Codec(TYPES)

    assert codec.encode(np.int8(-3), "number") == -3
    assert codec.encode(np.uint64(2**64 - 1), "unsigned") == -1
    assert codec.decode(codec.encode(np.float32(0.5), "float"), "float") == 0.5
    assert codec.decode(codec.encode(3, "float"), "float") == 3.0
    assert codec.decode(codec.encode(np.str_("a"), "symbol"), "symbol") == "a"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("0x10", "number", 16),
        ("-0b11", "number", -3),
        (" +7 ", "number", 7),
        ("5u", "unsigned", 5),
        ("1e3", "float", 1000.0),
        (".5", "float", 0.5),
        ("-inf", "float", -math.inf),
        ("[ 1 , a b ]", "Pair", (1, "a b")),
        ('[1,"a\\n\\"b\\\\"]', "Pair", (1, 'a\n"b\\')),
        ("nil", "Pair", None),
        ("[]", "Unit", ()),
        ("$Empty", "Tree", Branch("Empty")),
        ("$Empty()", "Tree", Branch("Empty")),
        (" $Leaf( nil , 3 ) ", "Tree", Branch("Leaf", (None, 3))),
    ],
)
def test_texts_may_be_written_in_several_ways(text, name, value):
    """Hexadecimal and binary digits, spaces, quotes and empty brackets are read."""
    codec = Codec(TYPES)

    assert codec.decode(codec.parse(text, name), name) == value


@pytest.mark.parametrize(
    ("text", "name", "code", "wrong"),
    [
        ("x", "number", "malformed-value", "x"),
        ("", "number", "malformed-value", ""),
        ("1_0", "number", "malformed-value", "1_0"),
        ("\u0661", "number", "malformed-value", "\u0661"),
        ("9223372036854775808", "number", "number-too-large", "9223372036854775808"),
        ("0xFFFFFFFFFFFFFFFF", "number", "number-too-large", "0xFFFFFFFFFFFFFFFF"),
        ("-1", "unsigned", "number-too-large", "-1"),
        ("9" * 5000, "unsigned", "number-too-large", "9" * 5000),
        ("1.5.2", "float", "malformed-value", "1.5.2"),
        ("[1, a", "Pair", "malformed-value", ""),
        ("[1]", "Pair", "malformed-value", "]"),
        ("[x, a]", "Pair", "malformed-value", "x"),
        ("[1, a] b", "Pair", "malformed-value", "b"),
        ('[1, "a]', "Pair", "malformed-value", ""),
        ("$Twig(1)", "Tree", "malformed-value", "Twig"),
        ("Leaf", "Tree", "malformed-value", "L"),
        ("$Leaf([1, a], 99999999999999999999)", "Tree", "number-too-large", "99999999999999999999"),
    ],
)
def test_a_malformed_text_says_what_is_wrong_where(text, name, code, wrong):
    """The error has a code and the characters that are wrong."""
    with pytest.raises(TextError) as caught:
        Codec(TYPES).parse(text, name)

    assert caught.value.code == code
    assert text[caught.value.start : caught.value.end] == wrong


@given(type_names, st.text())
def test_any_text_is_a_value_or_a_text_error(name, text):
    """`parse` raises nothing but `TextError`; the text of what it reads means the same."""
    codec = Codec(TYPES)

    code = None
    with suppress(TextError):
        code = codec.parse(text, name)

    assert code is None or codec.parse(codec.format(code, name), name) == code


def test_columns_have_the_arrow_types_people_expect():
    """Numbers stay numbers; records and branches are given as text."""
    codec = Codec(TYPES)
    samples = {
        "number": (1, "int64"),
        "unsigned": (2**64 - 1, "uint64"),
        "float": (0.5, "double"),
        "symbol": ("a", "string"),
        "Pair": ((1, "a"), "string"),
        "Tree": (Branch("Empty"), "string"),
    }

    for name, (value, arrow_type) in samples.items():
        column = codec.column_to_arrow(codec.encode_column([value], name), name)
        assert str(column.type) == arrow_type
        assert column.to_pylist() == [{"Pair": "[1, a]", "Tree": "$Empty"}.get(name, value)]


@pytest.mark.parametrize("text", ["1.5\x1d", " 1.5", "1.5\t", "\x1c1.5"])
def test_white_space_around_a_float_of_any_kind_is_left_out(text):
    """Python's `float` knows fewer kinds of white space than its texts do."""
    codec = Codec(TYPES)

    assert codec.decode(codec.parse(text, "float"), "float") == 1.5
