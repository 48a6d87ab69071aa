"""A text read again after an edit gives the tree that reading all of it gives."""

import ast
import random
from pathlib import Path

import pytest

from tidelog.errors import TidelogError
from tidelog.trees import Forest, Tree
from tidelog.trees.languages import find_language

PYTHON = find_language("python")
TEXT = '''"""A text."""
import a, b; import c

@decorator
@other(1,
       2)
def f(x):
    return x  # é

x = 1; y = 2  # together
if x:
    y = 1
else:
    y = 2
z = (1 +
     2)
class A:
    def g(self): pass
'''

NESTED = '''class A:
    """A class."""

    x = 1; y = 2

    @property
    def f(self):
        """Text
        of two lines."""
        if self.a:  # why
            return 1
        elif self.b:
            b = 'é'
        else:
            pass; c = 3;
        # the end

    async def g(self, x=(1,
                         2)):
        try:
            await h()
            return x
        except E as e:
            raise
        except (F, G):
            for i in x: print(i)
        else:
            while 1:
                break
            else:
                y
        finally:
            with a as b, c:
\t\tz = [
    1]
        match x:
            case [1, *_]:
                one
            case _:
                two
        def h(): return 1
'''


def assert_same(old: str, new: str) -> Tree | None:
    """Check that reading again is reading, and return the tree."""
    before = PYTHON.read(old)
    try:
        whole = PYTHON.read(new, "a.py")
    except TidelogError as error:
        told = str(error)
    else:
        told = ""
    if told:
        with pytest.raises(TidelogError) as caught:
            PYTHON.read_again(new, "a.py", before)
        assert str(caught.value) == told
        return None
    again = PYTHON.read_again(new, "a.py", before)
    assert again == whole
    assert again.places is not None
    assert whole.places is not None
    assert again.places.starts.tolist() == whole.places.starts.tolist()
    assert again.places.ends.tolist() == whole.places.ends.tolist()
    assert ast.dump(again.decode()) == ast.dump(ast.parse(new))
    return again


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, TEXT),
        (TEXT, TEXT.replace("return x", "return y")),
        (TEXT, TEXT.replace("@decorator\n", "")),
        (TEXT, TEXT.replace("import c", "import d")),
        (TEXT, TEXT.replace("x = 1; ", "")),
        (TEXT, TEXT.replace("else:\n    y = 2\n", "")),
        (TEXT, TEXT.replace("else:\n", "\n")),
        (TEXT, TEXT.replace("z = (1 +", "z = (2 +")),
        (TEXT, "\n\n# more\n" + TEXT),
        (TEXT, TEXT + "pass"),
        (TEXT, TEXT + "    def h(self): pass\n"),
        (TEXT, TEXT[:-1]),
        (TEXT, ""),
        (TEXT, "x = 1\n"),
        ("", TEXT),
        ("x = 1\n", "x = 1\n    y = 2\n"),
        ("x = 1 \\\n\ny = 2\n", "x = 1 \\\n+ 3\ny = 2\n"),
        ("x = 1\ny = 2\n", "x = 1\n+ 3\ny = 2\n"),
        ("x = 1\ny = 2\n", "x = 1; y = 2\n"),
        ("x = 1; y = 2\n", "x = 1;\n"),
        ("if a:\n    x\ny\n", "if a:\n    x\nelse:\n    z\ny\n"),
        ("a\nb\nc\n", 'a\n"""\nb\nc\n"""\n'),
        ("a\nb\nc\n", "a\n(\nb\nc\n)\n"),
        ("a\nb\nc\n", "a\n(\nb\nc\n"),
        ("a\nb\nc\n", "a\nb \\\nc\n"),
        ("def f():\n    a\nb\n", "@d\ndef f():\n    a\nb\n"),
        ("def f():\n    a\nb\n", "def f():\n    a\n@d\n"),
        ("a\nb", "a\nbc"),
        ("a\nb", "a\nb\nc"),
        ("a\nb\n", "a\r\nb\n"),
        ("a = 'é'\nb\n", "a = 'é'\nc\n"),
        ("a = 'é'\nb = '€'\nc\n", "a = 'é'\nb = '😀'\nc\n"),
        ("a\n\n\nb\n", "a\n\nc\n\nb\n"),
        ("a\nb\na\n", "a\na\n"),
        ("a\na\n", "a\nb\na\n"),
        ("a\nb\n", "a\n    b\n"),
    ],
)
def test_edits_between_and_inside_statements(old: str, new: str) -> None:
    """Wherever the edit is, and also if it joins statements or leaves a mistake."""
    assert_same(old, new)
    if _is_python(new):
        assert_same(new, old)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize("old", [NESTED, "before\n" + NESTED + "after\n", "if 1:\n  a\n  b\n  c\n"])
def test_every_line_of_nested_blocks_deleted_doubled_or_moved_in(old: str) -> None:
    """Edits at the beginning, in the middle and at the end of blocks give the tree of the whole text."""
    old = old.replace("\t\t", " " * 16)
    lines = old.splitlines(keepends=True)
    assert _is_python(old)

    for at, line in enumerate(lines):
        before, after = "".join(lines[:at]), "".join(lines[at + 1 :])
        for changed in (
            "", line + line, "\n" + line, "    " + line, line.removeprefix("    "), "\t\t" + line.lstrip(),
            "# c\n" + line, line[:-1] + ";\n", line[:-1] + " # c\n", line.replace(":", ": 1"),
            line + "        new\n", line + "    new\n",
        ):  # fmt: skip
            assert_same(old, before + changed + after)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def f():\n    a\n    b\n", "def f():\n    a\n"),
        ("def f():\n    a\n    b\n", "def f():\n    a\n    b\n    # c\n"),
        ("def f():\n    a\n    b\n", "def f():\n    a\n    b;\n"),
        ("def f():\n    a\n    b\n", "def f():\n    a\nb\n"),
        ("def f():\n    a\n    b\n", "def f():\n    # c\n"),
        ("def f():\n    a\n    b\n\ndef g():\n    c\n", "def f():\n    a\n    b\n    d\n\ndef g():\n    c\n"),
        ("def f():\n    a\n    b\nc\n", "def f():\n    a\n    if b:\n        d\nc\n"),
        ("if a:\n    b\n    c\nelse:\n    d\n", "if a:\n    b\nelse:\n    c\nelse:\n    d\n"),
        ("if a:\n    b\n    c\nelse:\n    d\n", "if a:\n    b\nelif c:\n    e\nelse:\n    d\n"),
        ("if a:\n    b\nelif c:\n    d\n", "if a:\n    b\nelif c:\n    e\n"),
        ("if a:\n    b\n    c\n", "if a:\n    b\n    '''\n    c\n"),
        ("if a:\n    b\n    c\n", "if a:\n    b\n    (\n    c)\n"),
        ("if a:\n    b\n    c\n", "if a:\n    b \\\n    c\n"),
        ("if a:\n    b\n    c\n", "if a:\n  b\n  c\n"),
        ("if a:\n    b\n    c\n", "if a:\n\tb\n\tc\n"),
        ("if a:\n    b\n    'é'\n    c\nd\n", "if a:\n    b\n    'éé'\n    c\nd\n"),
        ("class A:\n    @d\n    def f(): pass\n", "class A:\n    @d\n    @e\n    def f(): pass\n"),
    ],
)
def test_edits_inside_blocks(old: str, new: str) -> None:
    """An edit that stays in its block, leaves it, ends it, or changes how deep it is."""
    assert_same(old, new)
    if _is_python(new):
        assert_same(new, old)


def test_only_the_statements_around_an_edit_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit in a method parses one of its statements, not the class."""
    old = "class A:\n" + "    def f(self):\n        a\n        b\n        c\n" * 20
    before, parsed = PYTHON.read(old), []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *rest: (parsed.append(text), parse(text, *rest))[1])

    PYTHON.read_again(old[:500] + old[500:].replace("b\n", "d\n", 1), "a.py", before)

    assert parsed == ["if 1:\n        d\n"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["real", "nested"])
def test_random_edits(seed: int, kind: str) -> None:
    """Pieces of lines and of characters cut out, doubled or moved give the same tree, or the same mistake."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    text = Path(random.__file__).read_text()[:12000].rsplit("\n\n\n", 1)[0] + "\n"
    text = {"real": text if _is_python(text) else TEXT, "nested": NESTED.replace("\t\t", " " * 16)}[kind]
    for _ in range(40):
        lines = text.splitlines(keepends=True)
        first, length = chance.randrange(len(lines)), chance.randrange(1, 6)
        match chance.randrange(4):
            case 0:
                edited = "".join(lines[:first] + lines[first + length :])
            case 1:
                edited = "".join(lines[:first] + lines[first : first + length] * 2 + lines[first + length :])
            case 2:
                at = chance.randrange(len(text))
                edited = text[:at] + chance.choice(["x", "(", "\n", " ", "'", "é", "#"]) + text[at:]
            case _:
                at = chance.randrange(len(text))
                edited = text[:at] + text[at + length :]
        if assert_same(text, edited) is not None and chance.random() < 0.5:
            text = edited


def test_a_forest_reads_again() -> None:
    """An edit in a file of a forest keeps the ids of all statements around it."""
    forest = Forest.of("python").update({"a.py": TEXT}).forest

    step = forest.update({"a.py": TEXT.replace("z = (1 +", "z = (3 +")})

    assert [str(edit).split()[0] for edit in step.script] == ["update"]
    assert (
        step.forest.files["a.py"]
        == Forest.of("python").update({"a.py": TEXT.replace("z = (1 +", "z = (3 +")}).forest.files["a.py"]
    )
