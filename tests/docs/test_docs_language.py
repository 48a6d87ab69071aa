"""docs/language.md lists what the language has: functors, operators, words, qualifiers, directives."""

import re

from support.doc_pages import ROOT
from tidelog.syntax.cursor import RESERVED
from tidelog.syntax.declarations import LATTICE_OPERATORS, QUALIFIERS
from tidelog.syntax.scanner import DIRECTIVES
from tidelog.syntax.terms import BINARY_LEVELS, PREFIXES
from tidelog.values.functors import COMPARISONS, SIGNATURES, Signature

PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the text of the page below a title, up to the next title."""
    found = re.search(rf"^##+ {title}\n(.*?)(?=^##+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def described(signatures: tuple[Signature, ...]) -> tuple[str, str, str]:
    """Return the number of operands, the kinds and the result of a functor as the page writes them."""
    first = signatures[0]
    operands = "1 or more" if first.is_variadic else str(len(first.operands))
    if len(set(first.operands)) > 1:
        kinds = [kind.value for kind in first.operands]
    else:
        kinds = [signature.kind.value for signature in signatures]
    is_same = len(set(first.operands)) == 1 and all(
        signature.result is signature.kind for signature in signatures
    )
    return operands, ", ".join(kinds), "same" if is_same else first.result.value


def test_the_page_has_every_functor_with_its_kinds() -> None:
    """The table of functors says what `values.functors.SIGNATURES` says, line by line."""
    rows = re.findall(
        r"^\| `(\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", section("Functors"), re.MULTILINE
    )

    assert {name: rest for name, *rest in rows} == {
        name: list(described(signatures)) for name, signatures in SIGNATURES.items()
    }
    assert len(rows) == len(SIGNATURES)


def test_the_page_has_every_operator_in_its_place() -> None:
    """The table of operators has the levels of the parser, from the loosest to the tightest."""
    rows = re.findall(r"^\| (`.*) \|$", section("Operators"), re.MULTILINE)

    levels = [tuple(re.findall(r"`([^`]+)`", row)) for row in rows]

    assert levels == [*BINARY_LEVELS, tuple(PREFIXES), ("^",)]


def test_the_page_has_every_comparison() -> None:
    """Each comparison is named where constraints are."""
    words = {op.removeprefix("!") if op != "!=" else op for op in COMPARISONS}

    assert [word for word in sorted(words) if f"`{word}" not in section("Bodies")] == []


def test_the_page_has_every_reserved_word() -> None:
    """The words that cannot be names are those the parser refuses."""
    listed = re.search(r"^```text\n(.*?)^```", section("Names"), re.MULTILINE | re.DOTALL)

    assert listed is not None
    assert set(listed[1].split()) == RESERVED


def test_the_page_has_every_qualifier_and_directive() -> None:
    """Qualifiers, lattice operators and directives are explained somewhere."""
    assert [word for word in sorted(QUALIFIERS) if f"`{word}`" not in section("Relations")] == []
    assert [word for word in LATTICE_OPERATORS if f"`{word}`" not in section("Lattices")] == []
    assert [word for word in DIRECTIVES if f".{word}" not in PAGE] == []
