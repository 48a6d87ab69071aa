"""Change scripts: from text to transactions, as a whole and line by line."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog import TidelogError
from tidelog.errors import render
from tidelog.source import Source
from tidelog.syntax import print_node
from tidelog.syntax.changes import WrittenTransaction, parse_changes, parse_facts, read_changes
from tidelog.values import Branch
from tidelog.views.fact_text import write_fact


def written(transaction: WrittenTransaction) -> list[str]:
    """Return the changes of a transaction as text."""
    return [f"{'+' if each.is_insert else '-'}{print_node(each.atom)}" for each in transaction.changes]


def parsed(text: str) -> list[list[str]]:
    """Return the changes of all transactions of a text that has no mistakes."""
    transactions = parse_changes(Source("script", text))
    assert all(not each.diagnostics for each in transactions)
    return [written(each) for each in transactions]


def test_commits_end_transactions_and_the_end_commits_the_rest() -> None:
    """Several changes may stand on a line, and a line may hold several commits."""
    text = "+edge(1, 2). -edge(3, 1). commit. +edge(4, 4). commit.\n-edge(1, 2)."

    assert parsed(text) == [["+edge(1, 2)", "-edge(3, 1)"], ["+edge(4, 4)"], ["-edge(1, 2)"]]
    assert [each.is_committed for each in parse_changes(Source("script", text))] == [True, True, False]


def test_an_empty_script_has_no_transaction() -> None:
    """Nothing but space and comments is nothing to apply; a commit alone is an epoch."""
    assert parsed("") == []
    assert parsed("// only a comment\n\n/* and\nanother */") == []
    assert parsed("commit.") == [[]]


def test_comments_quotes_and_all_kinds_of_terms_are_read() -> None:
    """Facts are written as in a program, with single quotes allowed."""
    text = "// first\n+a('x, commit.', \"y\"). /* commit. */ +b(-1, 1.5, 2u, nil, [1, [2, nil]], $Leaf(3))."

    assert parsed(text) == [
        ['+a("x, commit.", "y")', "+b(-1, 1.5, 2u, nil, [1, [2, nil]], $Leaf(3))"],
    ]


def test_a_relation_may_be_called_commit() -> None:
    """Only the word followed by a dot, and not behind a sign, ends a transaction."""
    assert parsed("+commit(1). -commit.edge(2). commit. +a().") == [
        ["+commit(1)", "-commit.edge(2)"],
        ["+a()"],
    ]


def test_all_mistakes_of_a_transaction_are_found_and_others_are_spared() -> None:
    """A mistake costs the change it stands in; the next transaction is read as if nothing was."""
    text = "+edge(1, 2)\n+edge(3.\nedge(4, 5).\n+edge(6, 7). commit.\n+edge(8, 9)."

    first, second = parse_changes(Source("script", text))

    assert [(each.span.line, each.code) for each in first.diagnostics if each.span] == [
        (1, "syntax"),
        (2, "syntax"),
        (3, "syntax"),
    ]
    assert written(first) == ["+edge(6, 7)"]
    assert written(second) == ["+edge(8, 9)"]
    assert not second.diagnostics


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("+a('x).", "bad-character"),
        ('+a("x).', "unterminated-string"),
        ("+a(12kg).", "bad-number"),
        ("+a(1). /* what", "unterminated-comment"),
        ("+a(1)", "syntax"),
        ("a(1).", "syntax"),
        ("+(1).", "syntax"),
        ("#include", "bad-character"),
    ],
)
def test_bad_text_is_a_diagnostic(text: str, code: str) -> None:
    """Whatever stands in a script, the answer is a transaction with diagnostics."""
    found = [
        each for transaction in parse_changes(Source("script", text)) for each in transaction.diagnostics
    ]

    assert code in {each.code for each in found}
    assert all(each.span is not None for each in found)


@given(st.text(alphabet="+-.,()[]$'\"ab1 \n/*#commit", max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    """Random text gives transactions or diagnostics, the same for a text and for its lines."""
    whole = parse_changes(Source("script", text))
    streamed = list(read_changes(text.splitlines(keepends=True), "script"))

    assert [written(each) for each in streamed] == [written(each) for each in whole]
    assert [bool(each.diagnostics) for each in streamed] == [bool(each.diagnostics) for each in whole]


def test_a_transaction_is_there_as_soon_as_its_commit_was_read() -> None:
    """A stream need not end for its transactions to be applied."""
    events: list[str] = []

    def lines() -> Iterator[str]:
        for line in ["+a(1).\n", "commit.\n", "+a(2).\n"]:
            events.append(f"read {line.strip()}")
            yield line

    for transaction in read_changes(lines(), "stdin"):
        events += [f"got {written(transaction)}"]

    assert events == ["read +a(1).", "read commit.", "got ['+a(1)']", "read +a(2).", "got ['+a(2)']"]


def test_a_stream_knows_its_lines_and_columns() -> None:
    """Diagnostics of a stream point where an editor would, also behind a commit on the same line."""
    lines = ["+a(1).\n", "commit. +b(2). +c(1 2\n", ").\n", "\n", "commit.\n", "\n", "  +d(.\n"]

    _, second, third = read_changes(iter(lines), "stdin")

    assert render(second.diagnostics[0]).startswith("stdin:2:21: error[syntax]")
    assert render(third.diagnostics[0]).startswith("stdin:7:6: error[syntax]")


def test_a_comment_over_several_lines_hides_a_commit_from_a_stream() -> None:
    """The word in a comment ends nothing."""
    lines = ["+a(1). /*\n", "commit.\n", "*/ +a(2).\n", "commit.\n"]

    assert [written(each) for each in read_changes(iter(lines), "stdin")] == [["+a(1)", "+a(2)"]]


def test_facts_may_be_written_with_any_separator() -> None:
    """Dots, commas and nothing at all stand between facts."""
    atoms = parse_facts("edge(1, 2). edge(2, 3), edge(3, 4) inst.edge('a')")

    assert [print_node(atom) for atom in atoms] == [
        "edge(1, 2)",
        "edge(2, 3)",
        "edge(3, 4)",
        'inst.edge("a")',
    ]


def test_mistakes_in_facts_are_raised_together() -> None:
    """A text of facts is right as a whole or not at all."""
    with pytest.raises(TidelogError) as error:
        parse_facts("edge(1, . edge(2, 3). edge('a)")

    assert len(error.value.diagnostics) >= 1


def test_written_facts_read_back_as_themselves() -> None:
    """Every value has a written form, large unsigned numbers and odd texts too."""
    fact = ('a "b"\n\\', 2**64 - 1, -(2**63), -1.5, None, (1, (2, None)), Branch("Leaf", (3,)), Branch("Nil"))

    (atom,) = parse_facts(write_fact("r", fact))

    assert print_node(atom) == write_fact("r", fact)


def test_a_long_list_can_be_written() -> None:
    """Values nested thousands deep do not exhaust the interpreter's stack."""
    value: object = None
    for number in range(5000):
        value = (number, value)

    assert write_fact("r", (value,)).endswith("nil" + "]" * 5000 + ")")  # type: ignore[arg-type]
