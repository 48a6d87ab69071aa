"""The options of `tidelog.open`: one list for everything that opens a session."""

import inspect
import re
from dataclasses import FrozenInstanceError, fields, replace

import pytest

import tidelog
from tidelog import OpenOptions, TidelogError
from tidelog.trees import Tree

PROGRAM = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\npath(x, y) :- edge(x, y)."
NAMES = [each.name for each in fields(OpenOptions)]


def test_options_are_given_by_name_or_together() -> None:
    """An `OpenOptions` means what its fields mean by name, and what is named goes before it."""
    facts = {"edge": [(1, 2)]}
    options = OpenOptions(engine="reference", facts=facts)

    with tidelog.open(PROGRAM, engine="reference", facts=facts) as named:
        expected = list(named["path"])
    with tidelog.open(PROGRAM, options=options) as together:
        assert list(together["path"]) == expected == [(1, 2)]
    with tidelog.open(PROGRAM, options=options, facts={"edge": [(3, 4)]}) as both:  # type: ignore[call-overload]
        assert list(both["path"]) == [(3, 4)]


def test_a_session_over_a_tree_takes_the_same_options() -> None:
    """`open_tree` takes the options as `open` does."""
    tree = Tree.from_source("x = 1", "python")
    program = ".decl names(n: Node)\nnames(n) :- Node_Name(n)."

    with tidelog.open_tree(program, tree, options=OpenOptions(jobs=1)) as db:
        assert len(db["names"]) == 1
    with pytest.raises(TidelogError, match="did you mean `jobs`"):
        tidelog.open_tree(program, tree, job=1)  # type: ignore[call-overload]


def test_options_cannot_be_changed() -> None:
    """Options are a value; `replace` makes others of them, which are checked again."""
    options = OpenOptions(jobs=2)

    assert replace(options, jobs=3) == OpenOptions(jobs=3)
    with pytest.raises(FrozenInstanceError):
        options.jobs = 3  # type: ignore[misc]
    with pytest.raises(TidelogError, match="0 is not a number of threads"):
        replace(options, jobs=0)


def test_all_mistakes_are_told_together() -> None:
    """Every option that is wrong has its diagnostic, whichever comes first."""
    with pytest.raises(TidelogError) as caught:
        OpenOptions(
            engine="lokal",  # type: ignore[arg-type]
            jobs=0,
            memory_limit="much",
            iteration_limit=-1,
            functions={"f": 3},  # type: ignore[dict-item]
            include_path=[b"x"],  # type: ignore[list-item]
            defines="A=1",  # type: ignore[arg-type]
            strategy="dredd",
            max_update_share=-1.0,
            read_only=True,
            provenance="depth",
            spark_options={},
        )

    assert sorted(each.code for each in caught.value.diagnostics) == [
        *("bad-argument", "bad-argument", "bad-argument"),
        *("bad-iteration-limit", "bad-jobs", "bad-memory-limit", "bad-update-share"),
        *("no-effect", "no-effect", "unknown-engine", "unknown-metric", "unknown-strategy"),
    ]


@pytest.mark.parametrize("options", [{"jobs": 1}, "fast", OpenOptions])
def test_options_are_options(options: object) -> None:
    """Anything else in their place is a mistake."""
    with pytest.raises(TidelogError, match=r"`options` must be a tidelog\.OpenOptions"):
        tidelog.open(PROGRAM, options=options)  # type: ignore[call-overload]


def test_help_shows_every_option() -> None:
    """Signatures have all options with types and defaults, and the documentation says what each means."""
    for function in (tidelog.open, tidelog.open_tree):
        shown = inspect.signature(function).parameters
        assert set(NAMES) < set(shown)
        assert all(shown[name].annotation is not inspect.Parameter.empty for name in NAMES)
    assert re.findall(r"^ *`(\w+)`: ", OpenOptions.__doc__ or "", re.MULTILINE) == NAMES
