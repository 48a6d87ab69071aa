"""The public names: exported, documented, and all that a session returns."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import tidelog

DOCS = Path(__file__).parents[2] / "docs"
SUBMODULES = ("tidelog.analysis", "tidelog.pipeline", "tidelog.spark", "tidelog.trees", "tidelog.web")
# For tools that work on codes and rules, not for those who ask questions.
FOR_TOOLS = {"Codec", "Explorer", "ProofService", "RelationDeltas", "Snapshot"}
# Words of annotations that are not ours.
FOREIGN = {
    *("Any", "Callable", "Iterator", "Literal", "None", "Self", "Sequence", "T"),
    *("DataFrame", "SparkFrame", "Table"),
    # Plain data under a name.
    *("Json", "Value"),
}


def returned(cls: type) -> set[str]:
    """Return the names of types that public methods and properties of a class return."""
    found: set[str] = set()
    for name, member in inspect.getmembers(cls):
        function = member.fget if isinstance(member, property) else member
        if not name.startswith("_") and inspect.isfunction(function):
            found |= set(re.findall(r"\b[A-Z]\w*", str(inspect.signature(function).return_annotation)))
    return found


def test_every_name_is_there() -> None:
    """What is exported can be imported, also the names that are loaded when first asked for."""
    assert [name for name in tidelog.__all__ if not hasattr(tidelog, name)] == []
    for each in SUBMODULES:
        module = import_module(each)
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_every_name_is_documented() -> None:
    """The page about Python lists every name that `tidelog` exports, and every documented submodule."""
    page = (DOCS / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([\w.]+)`", page[page.index("## All names") :]))

    assert set(tidelog.__all__) - {"__version__"} - listed == set()
    assert set(SUBMODULES) - listed == set()


@pytest.mark.parametrize(
    "name",
    ["Session", "Transaction", "RelationView", "Answer", "Delta", "Proof", "Refutation", "Blame", "Repair"],
)
def test_what_is_returned_is_exported(name: str) -> None:
    """Whoever writes down the type of what a method returns can import it from `tidelog`."""
    assert returned(getattr(tidelog, name)) - FOREIGN - FOR_TOOLS - set(tidelog.__all__) == set()


def test_pages_import_public_names() -> None:
    """The pages import from `tidelog` and its documented submodules alone."""
    imported = re.compile(r"^(?:>>> )?from (tidelog[\w.]*) import", re.MULTILINE)
    named = {
        module for path in DOCS.rglob("*.md") for module in imported.findall(path.read_text(encoding="utf-8"))
    }

    assert named - {"tidelog", *SUBMODULES} == set()
