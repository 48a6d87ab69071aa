"""Patterns of `match`: what they match, which are refused, and an independent matcher to compare with."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.building import mistakes
from support.programs import each_engine, run
from tidelog.values.patterns import PatternError, compile_pattern

# Pattern, texts it matches, texts it does not. Checked against `std::regex` of GCC 12 but for `\cA`.
MATCHES: list[tuple[str, list[str], list[str]]] = [
    # Whole texts, alternatives, groups.
    ("", [""], ["a"]),
    ("a|b", ["a", "b"], ["", "ab"]),
    ("a|", ["a", ""], ["b"]),
    ("()", [""], ["a"]),
    ("(|a)b", ["b", "ab"], ["a"]),
    ("(?:ab)+", ["ab", "abab"], ["", "a"]),
    ("(a|ab)(c|bcd)", ["abcd", "ac", "abc"], ["ab"]),
    # Characters.
    (".", ["a", "é", " "], ["\n", "\r", "", "ab"]),
    ("]", ["]"], []),
    ("}", ["}"], []),
    (r"\{\.\*\]\/\-\_", ["{.*]/-_"], []),
    (r"\n\t\r\f\v\0", ["\n\t\r\f\v\0"], []),
    (r"\01", ["\0" + "1"], ["\1"]),
    (r"\x41B\u0041", ["ABA"], []),
    (r"\cA\cz", ["\x01\x1a"], ["Az"]),
    (r"\u00e9", ["é"], ["e"]),
    ("a-b~c&&d||e", ["a-b~c&&d"], ["a-b~c&&d||e"]),
    # Sets.
    ("[abc]", ["a", "c"], ["", "d", "ab"]),
    ("[a-c]", ["a", "b", "c"], ["d", "-"]),
    ("[^a-c]", ["d", "\n", "é"], ["a", ""]),
    ("[]", [], ["", "a", "]"]),
    ("[^]", ["a", "\n"], ["", "aa"]),
    ("[]a]", [], ["a", "]", "a]"]),
    ("[[]", ["["], ["]"]),
    ("[[a]]", ["a]", "[]"], ["a", "["]),
    ("[a[b]", ["a", "[", "b"], []),
    ("[-a]", ["-", "a"], []),
    ("[a-]", ["-", "a"], []),
    ("[-]", ["-"], []),
    ("[a-c-e]", ["a", "b", "-", "e"], ["d"]),
    ("[+--]", ["+", ",", "-"], ["."]),
    ("[--a]", [".", "A", "-", "a"], ["+", "b"]),
    ("[&&a]", ["&", "a"], []),
    ("[a~~b||]", ["~", "|"], []),
    ("[a^]", ["^"], ["b"]),
    ("[^^]", ["a"], ["^"]),
    (r"[\]\\\-]", ["]", "\\", "-"], ["a"]),
    (r"[\b]", ["\b"], ["b"]),
    (r"[\d_]", ["1", "_"], ["a", "²"]),
    (r"[^\D]", ["1"], ["a"]),
    (r"[\w-]", ["a", "-"], ["+"]),
    (r"[\x41-\u0043]", ["A", "B", "C"], ["D"]),
    # Classes.
    (r"\d+", ["019"], ["٣", "²", "a"]),
    (r"\D", ["a", "٣"], ["1"]),
    (r"\w+", ["aZ_9"], ["é", "-"]),
    (r"\W", ["é", " "], ["a"]),
    (r"\s+", [" \t\n\v\f\r"], ["\xa0", "a"]),
    (r"\S", ["\xa0", "a"], [" "]),
    ("[[:alpha:]]+", ["abC"], ["", "a1", "é"]),
    ("[[:alnum:]_]", ["a", "1", "_"], ["-"]),
    ("[[:digit:]][[:xdigit:]]", ["1f", "1F"], ["f1"]),
    ("[[:upper:]][[:lower:]]", ["Aa"], ["aA"]),
    ("[[:space:]][[:blank:]]", ["\n\t", "  "], ["\n\n"]),
    ("[[:punct:]]+", ["!/:@[`{~"], ["a", " "]),
    ("[[:print:]]", [" ", "~"], ["\n", "\x7f"]),
    ("[[:graph:]]", ["~"], [" "]),
    ("[[:cntrl:]]", ["\n", "\x7f"], ["a"]),
    ("[[:w:]][[:d:]][[:s:]]", ["_1 "], ["-1 "]),
    ("[[:Alpha:]]", ["a"], ["1"]),
    ("[^[:alpha:]]", ["1"], ["a"]),
    ("[:alpha:]", ["a", ":"], ["b"]),
    ("[[=a=]]", ["a"], ["b"]),
    ("[[.a.]]", ["a"], ["b"]),
    ("[[.hyphen.][.tilde.]]", ["-", "~"], ["h"]),
    ("[[.a.]-c]", ["b"], ["-"]),
    # Repetition.
    ("a*", ["", "aa"], ["b"]),
    ("a+?", ["a", "aa"], [""]),
    ("a??", ["", "a"], ["aa"]),
    ("a{2}", ["aa"], ["a", "aaa"]),
    ("a{2,}", ["aa", "aaa"], ["a"]),
    ("a{1,2}?", ["a", "aa"], ["", "aaa"]),
    ("a{0}", [""], ["a"]),
    ("a{02}", ["aa"], ["a"]),
    ("a**", ["", "aaa"], []),
    ("a*+", ["", "aa"], []),
    ("a++a", ["aa", "aaa"], ["a"]),
    ("a?+b", ["b", "aab"], ["a"]),
    ("a{2}{3}", ["aaaaaa"], ["aa"]),
    # Places.
    ("^a$", ["a"], ["a\n", "\na"]),
    ("a$", ["a"], ["a\n"]),
    ("a$\nb", [], ["a\nb"]),
    ("(^a|b)c", ["ac", "bc"], []),
    (r"\ba\b", ["a"], []),
    (r"a\b.+", ["a b", "aé"], ["ab"]),
    (r"a\Bb", ["ab"], []),
    (r"\B", [""], ["a"]),
    (r"\b", [], ["", "a"]),
    ("(?=a)..", ["ab"], ["ba"]),
    ("(?!a)..", ["ba"], ["ab"]),
    # Back references.
    (r"(a|b)\1", ["aa", "bb"], ["ab"]),
    (r"(a)(?=\1)a", ["aa"], ["a"]),
    (r"(a)|b\1", ["a"], ["b", "ba"]),
    (r"(?:(a)|b)*\1", ["aba", "aa"], ["ab"]),
    (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10", ["abcdefghijj"], ["abcdefghija0"]),
    (r"(a)\1{2}", ["aaa"], ["aa"]),
]
REFUSED: list[tuple[str, str]] = [
    ("(a", "not closed with `)`"),
    ("a)", "closes no group"),
    ("[a", "not closed with `]`"),
    ("[a-", "not closed with `]`"),
    ("*a", "there is nothing before `*`"),
    ("a|+", "there is nothing before `+`"),
    ("^*", "there is nothing before `*`"),
    ("(?=a)*", "there is nothing before `*`"),
    (r"\b?", "there is nothing before `?`"),
    ("{", "there is nothing before `{`"),
    ("a{", "needs a count"),
    ("a{,3}", "needs a count"),
    ("a{ 2}", "needs a count"),
    ("a{2,1}", "larger count first"),
    ("a{100001}", "more than 100000 times"),
    ("a{999999999999999999999999}", "more than 100000 times"),
    ("(?i)a", "cannot begin with `(?i`"),
    ("(?P<n>a)", "cannot begin with `(?P`"),
    ("(?<=a)b", "cannot begin with `(?<`"),
    ("(?<n>a)", "cannot begin with `(?<`"),
    ("(?>a)", "cannot begin with `(?>`"),
    ("(?#a)", "cannot begin with `(?#`"),
    ("(?(1)a)", "cannot begin with `(?(`"),
    ("[z-a]", "is empty"),
    (r"[\w-a]", "cannot begin a range"),
    ("[[:alpha:]-z]", "cannot begin a range"),
    ("[[=a=]-c]", "cannot begin a range"),
    (r"[a-\d]", "cannot end a range"),
    ("[a-[.c.]]", "cannot end a range"),
    ("[[:foo:]]", "no class `[:foo:]`"),
    ("[[:alpha]]", "not closed with `:]`"),
    ("[[=ab=]]", "must name one character"),
    ("[[.foo.]]", "no character `[.foo.]`"),
    ("\\", "the last character"),
    (r"\x4", "needs 2 hexadecimal digits"),
    (r"\u004g", "needs 4 hexadecimal digits"),
    (r"\c1", "needs a letter"),
    (r"\q", "has no meaning"),
    (r"\A", "has no meaning"),
    (r"[\B]", "has no meaning"),
    (r"[\1]", "has no meaning"),
    (r"\1(a)", "not closed before it"),
    (r"(a\1)", "not closed before it"),
    (r"(a)\10", "not closed before it"),
    ("(" * 200 + ")" * 200, "nested more than"),
]


@pytest.mark.parametrize(("pattern", "matched", "missed"), MATCHES, ids=[each[0] for each in MATCHES])
def test_a_pattern_matches_whole_texts(pattern: str, matched: list[str], missed: list[str]) -> None:
    """A pattern means what ECMAScript and C++ say it means."""
    compiled = compile_pattern(pattern)

    assert [text for text in matched if compiled.fullmatch(text) is None] == []
    assert [text for text in missed if compiled.fullmatch(text) is not None] == []


@pytest.mark.parametrize(("pattern", "reason"), REFUSED, ids=[each[0][:20] for each in REFUSED])
def test_what_is_not_a_pattern_is_refused(pattern: str, reason: str) -> None:
    """What Python's `re` knows and ECMAScript does not, and what neither does, is refused with the reason."""
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)

    assert reason in str(caught.value)


def test_a_constant_that_is_not_a_pattern_is_reported() -> None:
    """Constant patterns are checked wherever they stand, those of `!match` and in aggregates too."""
    text = """
    .decl a(x: symbol)
    .input a
    .decl b(x: symbol)
    b(x) :- a(x), match("(?i)a", x), !match("[z-a]", x).
    b(to_string(count : { a(x), match("a{", x) })).
    b(x) <= b(y) :- x < y, match("*", x).
    """

    assert mistakes(text) == [
        ("bad-pattern", '"(?i)a"'),
        ("bad-pattern", '"[z-a]"'),
        ("bad-pattern", '"a{"'),
        ("bad-pattern", '"*"'),
    ]


@pytest.mark.parametrize("engine", each_engine())
def test_a_computed_text_that_is_not_a_pattern_has_no_value(engine: str) -> None:
    """A pattern from facts that cannot be read matches nothing, and its negation holds for nothing either."""
    text = """
    .decl p(x: symbol)
    .input p
    .decl yes(x: symbol)
    yes(x) :- p(x), match(x, "ab").
    .decl no(x: symbol)
    no(x) :- p(x), !match(x, "ab").
    """

    found = run(text, engine=engine, inputs={"p": [("[[:alpha:]]+",), ("(?i)AB",), ("b",), ("[",)]})

    assert found["yes"] == {("[[:alpha:]]+",)}
    assert found["no"] == {("b",)}


# --- an independent matcher ------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A part of a pattern: its text, and where it can end when it begins at a place of a text."""

    text: str
    kind: str
    parts: tuple["Piece", ...] = ()
    counts: tuple[int, int] = (0, 0)

    def ends(self, subject: str, start: int) -> frozenset[int]:
        """Return every place where a match that begins at `start` can end."""
        match self.kind:
            case "set":
                fits = start < len(subject) and subject[start] in SETS[self.text]
                return frozenset({start + 1} if fits else ())
            case "place":
                return frozenset({start} if PLACES[self.text](subject, start) else ())
            case "either":
                return frozenset(end for part in self.parts for end in part.ends(subject, start))
            case "follows":
                return frozenset({start} if self.parts[0].ends(subject, start) else ())
            case "differs":
                return frozenset(() if self.parts[0].ends(subject, start) else {start})
            case "repeated":
                return frozenset(self._repeated(subject, start))
            case _:
                ends = frozenset({start})
                for part in self.parts:
                    ends = frozenset(end for begin in ends for end in part.ends(subject, begin))
                return ends

    def _repeated(self, subject: str, start: int) -> Iterator[int]:
        low, high = self.counts
        ends = frozenset({start})
        # As many times as there are characters is enough: a part that reads nothing changes nothing.
        for times in range(min(high, low + len(subject) + 1) + 1):
            if times >= low:
                yield from ends
            ends = frozenset(end for begin in ends for end in self.parts[0].ends(subject, begin))


def _is_word(subject: str, place: int) -> bool:
    return 0 <= place < len(subject) and subject[place] in SETS[r"\w"]


ALPHABET = "ab1_-] é\n"
SETS = {
    "a": "a",
    "b": "b",
    r"\-": "-",
    "]": "]",
    ".": "ab1_-] é",
    "[ab]": "ab",
    "[^a]": "b1_-] é\n",
    "[[:alpha:]]": "ab",
    "[[:punct:]]": "_-]",
    "[^[:space:]1]": "ab_-]é",
    r"\w": "ab1_",
    r"\D": "ab_-] é\n",
    r"[\s\d]": "1 \n",
    "[]": "",
    "[^]": ALPHABET,
}
PLACES = {
    "^": lambda _, place: place == 0,
    "$": lambda subject, place: place == len(subject),
    r"\b": lambda subject, place: _is_word(subject, place - 1) != _is_word(subject, place),
    r"\B": lambda subject, place: _is_word(subject, place - 1) == _is_word(subject, place),
}
QUANTIFIERS = {"*": (0, 99), "+": (1, 99), "?": (0, 1), "{2}": (2, 2), "{1,2}": (1, 2), "{2,}": (2, 99)}
FORMS = {"group": "({})", "plain": "(?:{})", "follows": "(?={})", "differs": "(?!{})"}


def _grouped(kind: str, piece: Piece) -> Piece:
    return Piece(FORMS[kind].format(piece.text), kind, (piece,))


def _joined(parts: list[Piece]) -> Piece:
    return Piece("".join(part.text for part in parts), "sequence", tuple(parts))


def _either(parts: list[Piece]) -> Piece:
    return Piece(f"(?:{'|'.join(part.text for part in parts)})", "either", tuple(parts))


def _repeat(atom: Piece, quantifier: str, suffix: str) -> Piece:
    text = f"(?:{atom.text}){quantifier}{suffix}"
    return Piece(text, "repeated", (atom,), QUANTIFIERS[quantifier])


def _extend(pieces: st.SearchStrategy[Piece]) -> st.SearchStrategy[Piece]:
    return st.one_of(
        st.lists(pieces, max_size=3).map(_joined),
        st.lists(pieces, min_size=1, max_size=3).map(_either),
        st.builds(_repeat, pieces, st.sampled_from(sorted(QUANTIFIERS)), st.sampled_from(["", "?"])),
        st.builds(_grouped, st.sampled_from(sorted(FORMS)), pieces),
    )


pieces = st.recursive(
    st.sampled_from(sorted(SETS)).map(lambda text: Piece(text, "set"))
    | st.sampled_from(sorted(PLACES)).map(lambda text: Piece(text, "place")),
    _extend,
    max_leaves=6,
)


@given(piece=pieces, subject=st.text(ALPHABET, max_size=5))
@example(piece=_repeat(Piece("a", "set"), "*", ""), subject="aa\n")
def test_patterns_agree_with_a_matcher_of_their_own(piece: Piece, subject: str) -> None:
    """A pattern matches the texts that a matcher finds which follows all ways at once."""
    expected = len(subject) in piece.ends(subject, 0)

    assert (compile_pattern(piece.text).fullmatch(subject) is not None) == expected
