"""Trees that are made when somebody asks for them, and the pool that they share."""

from collections.abc import Callable

import pytest

from tidelog.trees import Forest, Tree
from tidelog.trees.lazy_trees import LazyTrees, WaitingTree
from tidelog.trees.pool import Pool


def _waiting(forest: Forest, asked: list[str]) -> LazyTrees:
    """Return the trees of a forest, which note when they are made."""

    def maker(path: str) -> Callable[[], Tree]:
        return lambda: (asked.append(path), forest.files[path])[1]

    return LazyTrees(
        {
            path: WaitingTree(maker(path), int(tree.ids.min()), int(tree.ids.max()), f"digest of {path}")
            for path, tree in forest.files.items()
        }
    )


def _forest() -> Forest:
    return Forest.of("python").update({"a.py": "x = 1\n", "b.py": "y = 2\n", "c.py": "z = 3\n"}).forest


def test_a_step_makes_the_trees_it_touches() -> None:
    """A file that changes and one that is deleted are read, the others are not; the result is the same."""
    plain, asked = _forest(), []
    lazy = Forest(plain.language, _waiting(plain, asked), plain.next_id)
    changes = {"b.py": "y = 4\n", "c.py": None, "d.py": "w = 5\n"}

    step = lazy.update(changes)

    expected = plain.update(changes)
    assert sorted(asked) == ["b.py", "c.py"]
    assert str(step.script) == str(expected.script)
    assert list(step.forest) == list(expected.forest) == ["a.py", "b.py", "d.py"]
    assert [tree.ids.tolist() for tree in step.forest.files.values()] == [
        tree.ids.tolist() for tree in expected.forest.files.values()
    ]


def test_a_node_is_looked_for_where_it_may_be() -> None:
    """Trees whose ids are all smaller or larger are not made."""
    plain, asked = _forest(), []
    lazy = Forest(plain.language, _waiting(plain, asked), plain.next_id)
    node = int(plain.files["b.py"].ids[3])

    span = lazy.place_of(node)

    assert span == plain.place_of(node)
    assert asked == ["b.py"]
    assert lazy.place_of(10_000) is None


def test_a_tree_is_made_once_and_its_digest_is_dropped_with_it() -> None:
    """A tree that takes the place of another has no digest."""
    plain, asked = _forest(), []
    trees = _waiting(plain, asked)

    first = trees["a.py"]
    later = trees.changed(["c.py"], {"b.py": plain.files["a.py"]})

    assert (first is later["a.py"], asked) == (True, ["a.py"])
    assert [later.digest_of(path) for path in later] == ["digest of a.py", None]
    assert (len(later), "c.py" in later) == (2, False)


@pytest.mark.parametrize("known", [[], ["b", 1.5]])
def test_a_pool_takes_the_values_of_another(known: list[object]) -> None:
    """An empty pool takes the numbers too, another one gives numbers of its own."""
    other = Pool()
    numbers = other.numbers(["a", 1, "b", True, 1.0, "c"])
    others = {number: value for number, value in enumerate(other.values) if type(value) is not str}
    pool = Pool()
    pool.numbers(known)

    found = pool.extend([value for value in other.values if type(value) is str], others)

    assert (found is None) == (not known)
    places = numbers if found is None else found[numbers]
    assert list(map(repr, pool.pick(places))) == ["'a'", "1", "'b'", "True", "1.0", "'c'"]
    assert pool.number("b") == places[2]
    assert pool.number(1.0) == places[4]
