"""Examples in docs/store.md are executed."""

import doctest
from pathlib import Path


def test_the_page_of_stores_is_right(tmp_path, monkeypatch):
    """Every example on the page prints what the page says."""
    page = Path(__file__).parents[2] / "docs" / "store.md"
    text = page.read_text(encoding="utf-8").replace("```", "")
    monkeypatch.chdir(tmp_path)

    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    outcome = doctest.DocTestRunner().run(test)

    assert outcome.attempted > 15
    assert outcome.failed == 0
