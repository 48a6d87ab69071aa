"""What is written is read back as the same facts, or is not written."""

import pytest
from hypothesis import example, given

from support.fact_file_strategies import FORMATS, PLAIN_FORMATS, SAFE_FORMATS, relations_with_facts
from support.fact_files import facts_of, read_text, relation_of
from support.value_types import TYPES, same, value_key
from tidelog import io
from tidelog.errors import TidelogError
from tidelog.io.lines import csv_lines, header_line
from tidelog.io.places import place_of
from tidelog.program.nodes import Directive
from tidelog.values import Codec

PAIR = relation_of("r", x="symbol", y="symbol")
ALONE = relation_of("r", x="symbol")
NESTED = relation_of("r", p="Pair", x="number")


def in_order(facts):
    """Return facts in value order."""
    return sorted(facts, key=lambda fact: [value_key(value) for value in fact])


def round_trip(folder, relation, facts, parameters):
    """Return facts after writing and reading, by a directive and by the path of the file."""
    codec = Codec(TYPES)
    filename = f"r{list(FORMATS.values()).index(parameters)}.txt"
    place = {**parameters, "filename": filename}
    output, inputs = Directive("output", "r", place), Directive("input", "r", place)
    columns = io.columns_from(facts, relation, codec)
    io.write_relation(relation, output, columns, codec, folder)
    by_directive = io.read_relation(relation, inputs, codec, folder)
    told = Directive("input", "r", {"headers": "false", **place})
    by_path = io.columns_from(folder / filename, relation, codec, [told])
    return facts_of(by_directive, relation, codec), facts_of(by_path, relation, codec)


@pytest.mark.parametrize("name", SAFE_FORMATS)
@given(case=relations_with_facts())
@example(case=(ALONE, [("",)]))
@example(case=(PAIR, [("\ufeff", ""), ("\r", "\r\n"), ("\n", '"')]))
def test_formats_with_quotes_take_every_fact(tmp_path_factory, name, case):
    """Whatever its symbols hold, a fact comes back."""
    relation, facts = case

    for back in round_trip(tmp_path_factory.getbasetemp(), relation, facts, SAFE_FORMATS[name]):
        assert same(back, in_order(facts))


@pytest.mark.parametrize("name", PLAIN_FORMATS)
@given(case=relations_with_facts())
@example(case=(ALONE, [("",), ("\ufeffa",), ("a\r",)]))
@example(case=(PAIR, [("\r", "a"), ("a|", "b"), ("[a", "b]"), ("$(", ")")]))
@example(case=(NESTED, [((1, "a],b"), 2), ((1, '"'), 3), ((1, "]"), 11)]))
def test_lines_without_quotes_are_right_or_refused(tmp_path_factory, name, case):
    """A fact comes back, or is refused because it would come back as another one or not at all."""
    relation, facts = case
    folder, parameters = tmp_path_factory.getbasetemp(), PLAIN_FORMATS[name]

    try:
        read_back = round_trip(folder, relation, facts, parameters)
    except TidelogError as error:
        (diagnostic,) = error.diagnostics
        read_back = None

    if read_back is not None:
        assert all(same(back, in_order(facts)) for back in read_back)
        return
    assert diagnostic.code == "unwritable-value"
    assert "rfc4180=true" in diagnostic.hint
    if "the names of the columns" not in diagnostic.message:
        assert not same(_read_raw(folder, relation, facts, parameters), in_order(facts))


def _read_raw(folder, relation, facts, parameters):
    """Return what is read from the lines that were refused, None if they are not even facts."""
    codec = Codec(TYPES)
    layout = place_of(relation, Directive("output", "r", parameters), folder).layout
    columns = io.columns_from(in_order(facts), relation, codec)
    lines = bytes(csv_lines(relation, layout, columns, codec))
    header = header_line(relation, layout) if layout.has_header else b""
    try:
        return read_text(folder, relation, header + lines, **parameters)
    except TidelogError:
        return None


@pytest.mark.parametrize(
    ("symbol", "parameters", "what"),
    [
        ("a\tb", {}, "a tab"),
        ("a\nb", {}, "a newline"),
        ("b\r", {}, "a carriage return at its end"),
        ("a,b", {"delimiter": ","}, "the delimiter ','"),
        ("a|b||c", {"delimiter": "||"}, "the delimiter '||'"),
        ("x" * 100 + "\t", {"compress": "true"}, "a tab"),
    ],
)
def test_the_symbol_and_the_option_are_named(tmp_path, symbol, parameters, what):
    """The message has the symbol and what is wrong with it, the hint the options that take it."""
    codec = Codec(TYPES)
    columns = io.columns_from([("fine", symbol)], PAIR, codec)

    with pytest.raises(TidelogError) as caught:
        io.write_relation(PAIR, Directive("output", "r", parameters), columns, codec, tmp_path)

    (diagnostic,) = caught.value.diagnostics
    assert repr(symbol)[:50] in diagnostic.message
    assert what in diagnostic.message
    assert "`.output r(rfc4180=true)`" in diagnostic.hint
    assert list(tmp_path.iterdir()) == []


def test_many_facts_are_checked_in_batches(tmp_path):
    """The one symbol among thousands that cannot be read back is found."""
    codec = Codec(TYPES)
    facts = [(f"a{number}", f"b{number}") for number in range(5000)]
    columns = io.columns_from([*facts, ("z", "tab\there")], PAIR, codec)

    with pytest.raises(TidelogError, match="tab"):
        io.write_relation(PAIR, Directive("output", "r", {}), columns, codec, tmp_path)
    io.write_relation(PAIR, Directive("output", "r", {"rfc4180": "true"}), columns, codec, tmp_path)

    back = io.read_relation(
        PAIR, Directive("input", "r", {"IO": "csv", "filename": "r.csv"}), codec, tmp_path
    )
    assert set(facts_of(back, PAIR, codec)) == {*facts, ("z", "tab\there")}


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("name", FORMATS)
def test_a_relation_without_columns(tmp_path, name, holds):
    """Every format says whether it holds."""
    facts = [()] if holds else []

    assert round_trip(tmp_path, relation_of("r"), facts, FORMATS[name]) == (facts, facts)


def test_standard_output_takes_every_symbol(tmp_path, capsysbinary):
    """It is for people to read, who see a tab or a newline as they are."""
    codec = Codec(TYPES)
    columns = io.columns_from([("a\tb", "c\nd")], PAIR, codec)

    io.write_relation(PAIR, Directive("output", "r", {"IO": "stdout"}), columns, codec, tmp_path)

    assert b"a\tb\tc\nd\n" in capsysbinary.readouterr().out
