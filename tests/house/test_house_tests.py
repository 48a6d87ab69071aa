"""What must be true of every test: it asserts what it is about, and leaves nothing running."""

import ast
from functools import cache
from pathlib import Path

from support.spark_session import group_of

TESTS = Path(__file__).parents[1]
# What functions that assert for many tests are called: `follow` checks every epoch, `agree` compares with a
# golden file, `survive` checks what was read from a damaged text.
CHECKING = ("assert", "check", "follow", "agree", "survive")


@cache
def functions_of(path: Path) -> tuple[ast.FunctionDef, ...]:
    """Return all functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_asserting(function: ast.FunctionDef, path: Path, callers: frozenset[str] = frozenset()) -> bool:
    """Say whether a function has an assertion, expects an exception, or calls what asserts for it."""
    callers |= {function.name}
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("pytest.raises", "pytest.fail", "pytest.warns"):
                return True
            name = name.rpartition(".")[2]
            if name not in callers and any(is_asserting(*each, callers) for each in _named(name, path)):
                return True
    return False


def _named(name: str, path: Path) -> list[tuple[ast.FunctionDef, Path]]:
    """Return what may assert under a name: functions of the file, or else those that tests share to check."""
    own = [(each, path) for each in functions_of(path) if each.name == name]
    if own or not name.lstrip("_").startswith(CHECKING):
        return own
    shared = TESTS.glob("support/*.py")
    return [(each, place) for place in shared for each in functions_of(place) if each.name == name]


def test_every_test_asserts_something():
    """No test passes only because nothing was raised."""
    silent = [
        f"{path.name}: {function.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for function in functions_of(path)
        if function.name.startswith("test_") and not is_asserting(function, path)
    ]

    assert silent == []


def test_processes_are_started_where_they_are_ended():
    """Only `processes.started`, after which a process is gone, starts one that a test talks to."""
    start = "Pope" + "n("

    # Torture kills what it starts.
    paths = [path for path in TESTS.rglob("*.py") if TESTS / "torture" not in path.parents]
    begun = [path.name for path in paths if start in path.read_text(encoding="utf-8")]

    assert begun == ["processes.py"]


def test_tests_that_share_a_session_share_a_process():
    """Tests with a Spark session are one group, those about a killed cluster another; others go anywhere."""
    alone = "tests/house/test_house.py::test_files_stay_short"

    assert group_of("tests/engine/spark/test_spark_session.py::test_one") == "spark"
    assert group_of("tests/pipeline/test_pipeline_runs.py::test_two[a::b]") == "spark"
    assert group_of("tests/engine/spark/test_spark_failure.py::test_three[0]") == "spark cluster"
    assert group_of(alone) == alone
