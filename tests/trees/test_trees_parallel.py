"""Files read by several processes give the forest that reading them one by one gives."""

import pickle
from io import BytesIO

import numpy as np
import pytest

from tidelog.kernels import compilers
from tidelog.trees import Forest, parallel_read
from tidelog.trees.languages import find_language
from tidelog.trees.python_source import PythonSource
from tidelog.trees.read_worker import answer
from tidelog.trees.tree_sitter_source import TreeSitterSource

TEXTS = {
    f"m{number}.py": f'''"""Module {number}: é."""
import m{number // 2} as other

class C{number % 5}(other.Base):
    x: int = {number} + 10 ** {number} - 1.5
    def f(self, *a, k={number % 3!r}):
        return [x for x in a if x != "text {number % 7}"] or {"{" + '"a"' + f": -{number}" + "}"}
'''
    for number in range(40)
} | {"empty.py": "", "wrong.py": "x = (\n", "comment.py": "# nothing\n", "deep.py": "x = " + "-" * 80 + "1\n"}


@pytest.fixture
def few_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes read even a few characters, a few files at a time."""
    monkeypatch.setattr(parallel_read, "_MANY", 1)
    monkeypatch.setattr(parallel_read, "_PER_BATCH", 1500)


def assert_same(one: Forest, other: Forest) -> None:
    """Check that two forests of languages of their own are the same, number by number."""
    assert list(one.files) == list(other.files)
    assert one.next_id == other.next_id
    assert one.language.pool.values == other.language.pool.values
    for path, tree in one.files.items():
        same = other.files[path]
        for part in ("types", "links", "parents", "sizes", "value_starts", "values"):
            left, right = getattr(tree.nodes, part), getattr(same.nodes, part)
            assert left.dtype == right.dtype
            assert left.tolist() == right.tolist()
        assert tree.ids.tolist() == same.ids.tolist()
        assert tree.places is not None
        assert same.places is not None
        assert tree.places.starts.tolist() == same.places.starts.tolist()
        assert tree.places.ends.tolist() == same.places.ends.tolist()
        assert tree.places.source == same.places.source


@pytest.mark.usefixtures("few_is_much")
def test_processes_give_the_same_forest() -> None:
    """Nodes, ids, values, places and mistakes are the same, also of a second step with new files."""
    first = {path: text for path, text in TEXTS.items() if "1" not in path}
    alone, together = Forest(PythonSource()), Forest(PythonSource())

    for changes in (first, {**TEXTS, "m2.py": None, "m3.py": "x = 1\n"}):
        step, same = alone.update(changes, jobs=1), together.update(changes, jobs=2)
        alone, together = step.forest, same.forest

        assert_same(alone, together)
        assert [str(each) for each in step.mistakes] == [str(each) for each in same.mistakes]
        assert str(step.script) == str(same.script)


@pytest.mark.usefixtures("few_is_much")
def test_a_grammar_is_read_by_processes_too() -> None:
    """Languages of tree-sitter have the same forests."""
    texts = {
        f"{number}.go": f"package p\nfunc f{number}() int {{ return {number} }}\n" for number in range(60)
    }
    alone, together = Forest(TreeSitterSource("go")), Forest(TreeSitterSource("go"))

    assert_same(alone.update(texts, jobs=1).forest, together.update(texts, jobs=2).forest)


@pytest.mark.usefixtures("few_is_much")
@pytest.mark.parametrize("module", ["tidelog.no_such_module", "tidelog.trees.read_worker"])
def test_processes_that_end_leave_the_work_to_the_caller(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that cannot start, or dies, costs time and nothing else."""
    monkeypatch.setattr(parallel_read, "start", lambda *_: compilers.start(module, "no language"))

    assert_same(
        Forest(PythonSource()).update(TEXTS, jobs=1).forest,
        Forest(PythonSource()).update(TEXTS, jobs=2).forest,
    )


def test_a_process_answers_batches_until_there_are_no_more() -> None:
    """Values come once each, in the order in which they were met; a text with a mistake has no answer."""
    questions, answers = BytesIO(), BytesIO()
    for batch in ([("a.py", "b = a\na = b\n")], [("w.py", "("), ("n.py", "1\n")]):
        pickle.dump(batch, questions)
    questions.seek(0)

    answer(questions, answers, find_language("python"))

    answers.seek(0)
    (found,), (wrong, number) = pickle.load(answers), pickle.load(answers)  # noqa: S301 - written above
    assert found.distinct == ["b", "Store", "a", "Load"]
    assert np.flatnonzero(found.values < 0).size
    assert wrong is None
    assert number.distinct[0] == 1


def test_few_texts_are_read_here() -> None:
    """Starting processes takes longer than reading a few files."""
    assert not parallel_read.pays(TEXTS, 8)
    assert not parallel_read.pays({"a.py": "x\n" * (1 << 21)}, 1)
    assert parallel_read.pays({"a.py": "x\n" * (1 << 21)}, 2)
