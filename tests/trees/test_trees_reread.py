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


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_of_a_real_file(seed: int) -> None:
    """Pieces of lines and of characters cut out, doubled or moved give the same tree, or the same mistake."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    text = Path(random.__file__).read_text()[:12000].rsplit("\n\n\n", 1)[0] + "\n"
    text = text if _is_python(text) else TEXT
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
