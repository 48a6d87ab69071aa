"""Texts and their codes."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.value_types import symbols
from tidelog.values import Dictionary
from tidelog.values import text_kernels as kernels


@given(st.lists(symbols, max_size=60))
def test_codes_are_dense_in_the_order_of_first_sight(texts):
    """The first text has code 0, the next new one code 1, whatever way texts are given."""
    dictionary = Dictionary()
    expected = {text: code for code, text in enumerate(dict.fromkeys(texts))}

    codes = dictionary.encode(texts)

    assert codes.dtype == np.int64
    assert codes.tolist() == [expected[text] for text in texts]
    assert len(dictionary) == len(expected)
    assert dictionary.decode(codes) == texts
    assert [dictionary.text_of(code) for code in codes.tolist()] == texts


@given(st.lists(symbols, max_size=40), st.lists(symbols, max_size=40))
def test_all_ways_to_encode_agree(first, second):
    """Single texts, lists, Arrow strings and Arrow dictionaries get the same codes."""
    one, other = Dictionary(), Dictionary()
    both = first + second

    expected = [one.code_of(text) for text in both]
    plain = other.encode_arrow(pa.array(first, pa.string())).tolist()
    packed = other.encode_arrow(pa.chunked_array([pa.array(second, pa.large_string()).dictionary_encode()]))

    assert plain + packed.tolist() == expected
    assert other.encode_arrow(pa.array([*first, ""])[: len(first)]).tolist() == plain
    assert other.to_arrow(packed).to_pylist() == second
    assert other.to_arrow(packed).type == pa.string()


def test_find_gives_no_code_to_a_new_text():
    """`find` knows what was encoded and changes nothing."""
    dictionary = Dictionary()
    code = dictionary.code_of("known")
    dictionary.encode([f"text {number}" for number in range(5000)])

    assert dictionary.find("known") == code
    assert dictionary.find("text 4999") == 5000
    assert dictionary.find("unknown") is None
    assert len(dictionary) == 5001


@given(st.lists(symbols, max_size=50), st.lists(symbols, max_size=50))
def test_ranks_are_in_code_point_order_while_texts_are_added(first, second):
    """Ranks follow Python's order of str, also when asked before and after growing."""
    dictionary = Dictionary()

    for texts in (first, second):
        dictionary.encode(texts)
        known = [dictionary.text_of(code) for code in range(len(dictionary))]
        ranks = dictionary.ranks()

        assert [known[i] for i in np.argsort(ranks)] == sorted(known)
        assert sorted(ranks.tolist()) == list(range(len(known)))


def test_an_empty_column_has_no_codes():
    """Columns without texts or chunks are no special case for callers."""
    dictionary = Dictionary()

    assert dictionary.encode([]).tolist() == []
    assert dictionary.encode_arrow(pa.array([], pa.string())).tolist() == []
    assert dictionary.encode_arrow(pa.chunked_array([], pa.string())).tolist() == []
    assert dictionary.to_arrow(np.empty(0, np.int64)).to_pylist() == []
    assert dictionary.ranks().tolist() == []


def test_texts_that_differ_late_or_by_length_are_different():
    """The hash table compares every byte, zero bytes and length too."""
    texts = ["", "\0", "\0\0", "abcd", "abcde", "abcdabcd", "abcdabce", "x" * 1000, "x" * 999 + "y"]
    dictionary = Dictionary()

    assert dictionary.encode(texts * 3).tolist() == list(range(len(texts))) * 3


def test_equal_hashes_do_not_mix_texts():
    """Texts that collide in the hash table keep their own codes."""
    texts = np.frombuffer(b"abc", np.uint8)
    table = np.zeros(4, np.uint64)
    arena, starts = np.empty(3, np.uint8), np.zeros(4, np.int64)
    codes = np.empty(3, np.int64)

    count = kernels.intern_texts(texts, np.arange(4), table, arena, starts, 0, codes)

    assert count == 3
    assert codes.tolist() == [0, 1, 2]
    assert sorted((table & np.uint64(0xFFFFFFFF)).tolist()) == [0, 1, 2, 3]


def test_a_code_of_another_dictionary_is_our_mistake():
    """A code that was never given trips an assertion instead of reading foreign bytes."""
    with pytest.raises(AssertionError):
        Dictionary().text_of(0)


@given(
    first=st.lists(st.text(max_size=3)),
    second=st.lists(st.text(max_size=3)),
    third=st.lists(st.text(max_size=3)),
)
def test_forgotten_texts_leave_nothing_behind(first, second, third):
    """After texts are forgotten, a dictionary goes on as if it had never met them."""
    dictionary, other = Dictionary(), Dictionary()
    dictionary.encode(first)
    other.encode(first)
    count = len(dictionary)
    dictionary.encode(second)
    dictionary.ranks()

    dictionary.forget(count)

    assert len(dictionary) == count
    assert dictionary.encode(third).tolist() == other.encode(third).tolist()
    assert dictionary.ranks().tolist() == other.ranks().tolist()
    assert [dictionary.find(text) for text in second] == [other.find(text) for text in second]
