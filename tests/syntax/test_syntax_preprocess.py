"""Includes, macros and conditions."""

import pytest

from tidelog.errors import TidelogError
from tidelog.source import Source
from tidelog.syntax import parse, print_node
from tidelog.syntax.preprocess import preprocess


def tokens(text, **options):
    """Return the texts of the tokens that are left, joined by spaces."""
    left, mistakes = preprocess(Source("test.dl", text), **options)
    assert not mistakes
    return " ".join(token.text for token in left[:-1])


def mistakes(text, **options):
    """Return the code and the underlined text of every diagnostic."""
    _, found = preprocess(Source("test.dl", text), **options)
    return [(diagnostic.code, diagnostic.span.text) for diagnostic in found]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("#define A 1\nA B A", "1 B 1"),
        ("#define A B\n#define B C\nA", "C"),
        ("#define A 1\n#undef A\nA", "A"),
        ("#define EMPTY\nx EMPTY y", "x y"),
        ("#define F(x) x + x\nF(1)", "1 + 1"),
        ("#define F(x, y) y x\nF((1, 2), [3])", "[ 3 ] ( 1 , 2 )"),
        ("#define F() 1\nF() F", "1 F"),
        ("#define F (x)\nF", "( x )"),
        ("#define F(x) <x>\nF(F(1))", "< < 1 > >"),
        ("#define F(x) x\nF\n(\n1\n)", "1"),
        ("#define A A + 1\nA", "A + 1"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define F(x) x F\nF(1)(2)", "1 F ( 2 )"),
        ("#define J(a, b) a ## b\nJ(x, 1) J(x_, y)", "x1 x_y"),
        ("#define J(a) pre_##a##_post\nJ(x)", "pre_x_post"),
        ('#define Q(x) #x\nQ(a + "b" .)', '"a + \\"b\\" ."'),
        ("#define N 1\n#define Q(x) #x\n#define QQ(x) Q(x)\nQ(N) QQ(N)", '"N" "1"'),
        ("#define V(f, ...) f(__VA_ARGS__)\nV(a, 1, 2) V(b)", "a ( 1 , 2 ) b ( )"),
        ("#define LONG a \\\n  b\nLONG c", "a b c"),
        ("#define C 1 // one\nC /* two */ C", "1 1"),
        ('"A" // A\n#define A 1\n"A"', '"A" "A"'),
        ("a\n__LINE__ __FILE__", 'a 2 "test.dl"'),
        ('#line 10\n# 12 "file"\n#\n#pragma anything\na', "a"),
    ],
)
def test_macros(text, left):
    """Macros are replaced as C does, token by token."""
    assert tokens(text) == left


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("#if 1", True),
        ("#if 0", False),
        ("#if 1 + 2 * 3 == 7", True),
        ("#if (1 + 2) * 3 == 7", False),
        ("#if -7 / 2 == -3 && -7 % 2 == -1", True),
        ("#if UNKNOWN", False),
        ("#if !UNKNOWN", True),
        ("#if N > 3 || 0", True),
        ("#if defined(N) && !defined M", True),
        ("#if defined M", False),
        ("#if 1 << 3 == 8 && ~0 == -1", True),
        ("#if 0 ? 1 : 2", True),
        ("#if 0x10 == 16L", True),
        ("#ifdef N", True),
        ("#ifdef M", False),
        ("#ifndef M", True),
        ("#if RAM_DOMAIN_SIZE == 64", True),
    ],
)
def test_conditions(condition, holds):
    """Conditions are integer expressions; unknown words count as 0."""
    text = f"{condition}\nyes\n#else\nno\n#endif"

    assert tokens(text, defines={"N": "5"}) == ("yes" if holds else "no")


def test_branches_are_tried_in_order():
    """The first branch whose condition holds is taken, and no other."""
    text = "#if N == 1\none\n#elif N == 2\ntwo\n#elif N == 2\nagain\n#else\nmore\n#endif"

    assert [tokens(text, defines={"N": number}) for number in "123"] == ["one", "two", "more"]


def test_text_left_out_is_not_judged():
    """What a condition leaves out may be anything, nested conditions included."""
    text = '#if 0\nit\'s "odd\n#if 1\n#error no\n#else\n#endif\n#include "nowhere"\n#endif\na'

    assert tokens(text) == "a"


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("#if 1\na", "bad-preprocessor-line", "if"),
        ("#endif", "bad-preprocessor-line", "endif"),
        ("#else", "bad-preprocessor-line", "else"),
        ("#if 1\n#else\n#else\n#endif", "bad-preprocessor-line", "else"),
        ("#if 1 / 0\n#endif", "bad-preprocessor-line", "/"),
        ("#if 1.5\n#endif", "bad-preprocessor-line", "1.5"),
        ("#if (1\n#endif", "bad-preprocessor-line", "if"),
        ("#if " + "(" * 3000 + "\n#endif", "bad-preprocessor-line", "if"),
        ("#defines A", "bad-preprocessor-line", "defines"),
        ("#define 1", "bad-preprocessor-line", "define"),
        ("#define F(x\nF", "bad-preprocessor-line", "F"),
        ("#error out of date", "user-error", "error"),
        ("#define F(x) x\nF(1, 2)", "bad-macro-use", "F"),
        ("#define F(x) x\nF(1", "bad-macro-use", "F"),
        ('#include "nowhere.dl"', "missing-include", '"nowhere.dl"'),
        ("#include <nowhere.dl>", "missing-include", "<nowhere.dl>"),
        ('.include "nowhere.dl"', "missing-include", '"nowhere.dl"'),
        ('#include "a\0b"', "missing-include", '"a\0b"'),
    ],
)
def test_mistakes_are_diagnostics(text, code, underlined):
    """A wrong preprocessor line is reported at its place."""
    assert mistakes(text) == [(code, underlined)]


def test_macros_that_multiply_are_given_up():
    """Definitions that double each other end in a diagnostic, soon."""
    text = "#define A0 x\n" + "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, 40)) + "A39"

    ((code, underlined),) = mistakes(text)

    assert (code, underlined) == ("bad-macro-use", "A39")


def test_uses_nested_too_deeply_are_given_up():
    """Thousands of uses inside each other are a diagnostic, not a RecursionError."""
    assert mistakes("#define F(x) x\n" + "F(" * 3000 + ")" * 3000) == [("bad-macro-use", "F")]


def test_made_tokens_stand_where_the_macro_is_used():
    """A mistake inside a macro's text is shown at the use of the macro."""
    source = Source("test.dl", "#define BAD edge(1, +)\n\nBAD.")

    with pytest.raises(TidelogError) as caught:
        parse(source)

    (found,) = caught.value.diagnostics
    assert (found.span.line, found.span.text) == (3, "BAD")


def test_includes_are_found_beside_the_file_and_on_the_path(tmp_path):
    """Quotes look beside the including file first, angle brackets only on the include path."""
    beside, library = tmp_path / "beside", tmp_path / "library"
    beside.mkdir()
    library.mkdir()
    (beside / "a.dl").write_text('a(1).\n#include "b.dl"\n', encoding="utf-8")
    (beside / "b.dl").write_text("b(1).\n", encoding="utf-8")
    (library / "b.dl").write_text("b(2).\n", encoding="utf-8")
    source = Source(str(beside / "main.dl"), '#include "a.dl"\n#include <b.dl>\n.include "b.dl"\nc(1).')

    tree = parse(source, include_path=[library])

    assert [print_node(item) for item in tree.items] == ["a(1).", "b(1).", "b(2).", "b(1).", "c(1)."]
    assert tree.items[1].span.source.name == str(beside / "b.dl")


def test_missing_include_suggests_a_neighbour(tmp_path):
    """A misspelt file name is answered with the one that exists."""
    (tmp_path / "common.dl").write_text("", encoding="utf-8")

    _, (found,) = preprocess(Source(str(tmp_path / "main.dl"), '#include "commons.dl"'))

    assert (found.code, found.hint) == ("missing-include", "did you mean `common.dl`?")


def test_cyclic_include_is_a_diagnostic(tmp_path):
    """Files that include each other without end are reported with the way round."""
    (tmp_path / "a.dl").write_text('#include "b.dl"\n', encoding="utf-8")
    (tmp_path / "b.dl").write_text('#include "a.dl"\n', encoding="utf-8")

    _, (found,) = preprocess(Source(str(tmp_path / "a.dl"), '#include "b.dl"\n'))

    assert (found.code, found.message) == (
        "cyclic-include",
        "`a.dl` includes itself: a.dl -> b.dl -> a.dl",
    )


@pytest.mark.parametrize(
    "guard", ["#ifndef G\n#define G\na(1).\n#endif\n", "#pragma once\na(1).\n", ".once\na(1).\n"]
)
def test_guarded_files_are_read_once(tmp_path, guard):
    """Include guards of every kind work."""
    (tmp_path / "a.dl").write_text(guard, encoding="utf-8")

    tree = parse(Source(str(tmp_path / "main.dl"), '#include "a.dl"\n#include "a.dl"\n'))

    assert len(tree.items) == 1


def test_file_that_is_no_text_is_a_diagnostic(tmp_path):
    """An include that is not UTF-8 is reported at the include."""
    (tmp_path / "a.dl").write_bytes(b"\xff\xfe\x00")

    _, (found,) = preprocess(Source(str(tmp_path / "main.dl"), '#include "a.dl"\n'))

    assert found.code == "missing-include"
