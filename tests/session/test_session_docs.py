"""Examples in docs/python.md and in the package's docstring are executed."""

import doctest
import inspect
from pathlib import Path

import pytest

import tidelog
from tidelog.session import open_session


def test_the_python_page_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example on the page prints what the page says; what it writes is written elsewhere."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "python.md"
    text = page.read_text().replace("```", "")

    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    outcome = doctest.DocTestRunner().run(test)

    assert outcome.attempted > 15
    assert outcome.failed == 0


def test_the_python_page_has_every_argument_of_open() -> None:
    """What `tidelog.open` takes stands in the page's table."""
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
    table = page.partition("## Everything `open` takes")[2]

    arguments = list(inspect.signature(open_session).parameters)[1:]

    assert [name for name in arguments if f"`{name}`" not in table] == []


def test_the_docstring_of_the_package_is_right() -> None:
    """`help(tidelog)` shows an example that works."""
    assert tidelog.__doc__ is not None
    test = doctest.DocTestParser().get_doctest(tidelog.__doc__, {}, "tidelog", None, 0)

    outcome = doctest.DocTestRunner().run(test)

    assert outcome.attempted == 3
    assert outcome.failed == 0


def test_the_public_names_are_importable() -> None:
    """Everything in `__all__` can be had from the package."""
    assert all(hasattr(tidelog, name) for name in tidelog.__all__)
    assert set(tidelog.__all__) <= set(dir(tidelog))

    with pytest.raises(AttributeError):
        _ = tidelog.nothing
