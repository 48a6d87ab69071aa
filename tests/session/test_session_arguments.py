"""Odd arguments anywhere in the public interface are diagnostics, never tracebacks."""

import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

import tidelog
from tidelog import Session, TidelogError
from tidelog.engine import functions
from tidelog.session.subscriptions import DeltaStream
from tidelog.trees import Forest

# What is in a folder called tidelog need not be of the package.
PACKAGE = str(Path(tidelog.__file__).parent)
PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl name(s: symbol, f: float)
.input name
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


class Odd:
    """Nothing that any argument may be."""


def odd_values() -> dict[str, object]:
    """Return values that most arguments must not be; generators are new every time."""
    return {
        "None": None,
        "an int": 3,
        "a negative int": -1,
        "zero": 0,
        "a huge int": 10**30,
        "more digits than Python writes": 10**5000,
        "a huge fraction": Fraction(10**5000, 3),
        "True": True,
        "a float": 1.5,
        "NaN": float("nan"),
        "infinity": float("inf"),
        "bytes": b"abc",
        "an empty text": "",
        "a text that is nothing": "nonsense(",
        "a text with a zero byte": "a\0b",
        "half a character": "\ud800",
        "a program that is not there": "/nonexistent/y.dl",
        "a path that is not there": Path("/nonexistent/x"),
        "a path with a zero byte": Path("a\0b"),
        "a list": [1, None],
        "an empty list": [],
        "nested lists": [[[]]],
        "texts": ["x", "y"],
        "a tuple": (1, 2),
        "almost a fact": ("path", 5),
        "a set": {1},
        "a mapping of numbers": {1: 2},
        "a mapping of objects": {"a": Odd()},
        "facts that are None": {"edge": None},
        "facts that are a number": {"edge": 5},
        "facts in a file without a name": {"edge": ""},
        "facts in a file that cannot be": {"edge": "a\0b.csv"},
        "facts of another arity": {"edge": [(1,)]},
        "facts of another type": {"edge": [(1, 2.5)]},
        "facts that are too large": {"edge": [(1, 10**30)]},
        "facts that are no rows": {"edge": [None]},
        "facts with None": {"edge": [(None, None)]},
        "a generator": (number for number in (1, 2)),
        "an object": Odd(),
        "a class": Odd,
        "a function": lambda: 1,
        "a module": sys,
    }


def try_out(call: Callable[[], object]) -> None:
    """Call and accept an answer, or an error with diagnostics that can be shown."""
    refused: Exception | None = None
    try:
        answer = call()
        if isinstance(answer, Session | DeltaStream):
            answer.close()
        elif inspect.isgenerator(answer):
            list(islice(answer, 5))
        elif isinstance(answer, tidelog.Proof):
            answer.text()
    except (TidelogError, TypeError) as error:
        refused = error
    if isinstance(refused, TidelogError):
        assert refused.diagnostics
        assert str(refused)
    elif refused is not None:
        # Python itself refuses what a signature does not have.
        frames = traceback.extract_tb(refused.__traceback__)
        assert not [frame for frame in frames if frame.filename.startswith(PACKAGE)], refused


def fresh() -> Session:
    """Return a session with an epoch to ask about."""
    db = tidelog.open(PROGRAM, facts={"edge": [(1, 2), (2, 3)]}, jobs=1)
    db.apply("+edge(3, 4).")
    return db


# What can be called, and what its other arguments are.
SUBJECTS: Mapping[str, Callable[[Session], object]] = {
    "session": lambda db: db,
    "transaction": lambda db: db.transaction(),
    "relation": lambda db: db["path"],
    "snapshot": lambda db: db["path"].snapshot(),
    "answer": lambda db: db.query("path(1, x)"),
    "delta": lambda db: db.history[-1],
    "relation delta": lambda db: db.history[-1]["path"],
    "proof": lambda db: db.why("path(1, 4)"),
    "refutation": lambda db: db.why_not("path(9, 9)"),
    "guided refutation": lambda db: db.why_not("path(9, 9)", guided=True),
    "blame": lambda db: db.blame("path(1, 4)"),
    "repair": lambda db: db.repair("path(1, 4)"),
    "change": lambda db: db.repair("path(1, 4)").changes[0],
    "rule": lambda db: db.rules[0],
}
GOOD: Mapping[tuple[str, str], Mapping[str, object]] = {
    ("session", "why"): {"fact": "path(1, 2)"},
    ("session", "why_all"): {"fact": "path(1, 2)"},
    ("session", "annotate"): {"fact": "path(1, 2)", "semiring": "count"},
    ("session", "why_not"): {"fact": "path(9, 9)"},
    ("session", "blame"): {"unwanted": ["path(1, 4)"]},
    ("session", "repair"): {"unwanted": ["path(1, 4)"]},
    ("session", "query"): {"text": "path(1, x)"},
    ("session", "subscribe"): {"relation": "path", "callback": print},
    ("session", "guard"): {"text": "path(9, 9)"},
    ("session", "add_rules"): {"text": "path(x, x) :- edge(x, _)."},
    ("session", "remove_rules"): {"rules": 1},
    ("session", "write"): {"directory": "out"},
    ("transaction", "insert"): {"facts": "edge"},
    ("transaction", "delete"): {"facts": "edge"},
    ("guided refutation", "choose"): {"number": 1},
}
DUNDERS = ("__contains__", "__getitem__", "__eq__", "__and__", "__le__")
# What other parts of a session call, with the arguments that they take.
INTERNAL = {
    ("proof", "with_step"),
    ("repair", "gather"),
    ("repair", "gather_rules"),
    ("session", "proofs"),
    ("guided refutation", "count"),
}


def parameters() -> Iterator[tuple[str, str, str]]:
    """Yield the subject, the method and the parameter of everything that can be called."""
    with fresh() as db:
        classes = {subject: type(make(db)) for subject, make in SUBJECTS.items()}
    for subject, cls in classes.items():
        for name, member in inspect.getmembers(cls, callable):
            is_public = not name.startswith("_") or name in DUNDERS
            if not is_public or (subject, name) in INTERNAL or isinstance(member, type):
                continue
            try:
                signature = inspect.signature(member)
            except ValueError:
                continue
            for parameter in list(signature.parameters.values())[0 if _is_class_method(cls, name) else 1 :]:
                yield subject, name, parameter.name


def _is_class_method(cls: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(cls, name), classmethod | staticmethod)


@pytest.mark.parametrize(("subject", "method", "parameter"), list(parameters()))
def test_methods_take_odd_arguments_for_mistakes(
    subject: str, method: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one argument of a method is, the answer is an answer or a diagnostic."""
    monkeypatch.chdir(tmp_path)
    db = fresh()
    for value in odd_values().values():
        if db.epoch != 1 or db.guards:
            db.close()
            db = fresh()
        bound = getattr(SUBJECTS[subject](db), method)
        kind = inspect.signature(bound).parameters[parameter].kind
        others = {k: v for k, v in GOOD.get((subject, method), {}).items() if k != parameter}
        if kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL}:
            try_out(lambda bound=bound, value=value: bound(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            try_out(lambda bound=bound, value=value: bound(x=value))
        else:
            try_out(lambda bound=bound, value=value, others=others: bound(**others, **{parameter: value}))
    db.close()


@pytest.mark.parametrize("parameter", list(inspect.signature(tidelog.open).parameters))
def test_open_takes_odd_arguments_for_mistakes(
    parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one argument of `tidelog.open` is, there is a session or a diagnostic."""
    monkeypatch.chdir(tmp_path)
    good = {"program": PROGRAM, "engine": "reference"}

    for value in odd_values().values():
        try_out(lambda value=value: tidelog.open(**{**good, parameter: value}))


@pytest.mark.parametrize("parameter", ["program", "tree", "facts", "include_path", "defines", "store"])
def test_open_tree_takes_odd_arguments_for_mistakes(
    parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever one argument of `tidelog.open_tree` is, there is a session or a diagnostic."""
    monkeypatch.chdir(tmp_path)
    good = {"program": PROGRAM, "tree": Forest.of("python"), "engine": "reference"}

    for value in odd_values().values():
        try_out(lambda value=value: tidelog.open_tree(**{**good, parameter: value}))


def test_a_number_of_too_many_digits_is_a_mistake() -> None:
    """Python does not write such numbers, so messages say how large they are."""
    huge = 10**5000
    with fresh() as db:
        for wish in ({"alternatives": -huge}, {"seconds": -huge}, {"untouchable": huge}, {"costs": huge}):
            with pytest.raises(TidelogError, match="not a number of more than 40 digits") as caught:
                db.repair("path(1, 4)", **wish)  # type: ignore[arg-type]
            assert [each.code for each in caught.value.diagnostics] == ["bad-argument"]

        assert len(db.repair("path(1, 4)", alternatives=huge)) == 1


def test_decorators_take_odd_arguments_for_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a function or a class, and a name that is not a text, are not registered."""
    monkeypatch.setattr(functions, "_REGISTERED", {})

    for value in odd_values().values():
        for decorator in (tidelog.functor, tidelog.aggregate):
            try_out(lambda decorator=decorator, value=value: decorator(value))
            try_out(lambda decorator=decorator, value=value: decorator(name=value)(Odd))


def test_a_closed_session_says_so() -> None:
    """All that needs facts is refused with `session-closed`; program and history can still be read."""
    db = fresh()
    relation, transaction, proof, desk = db["path"], db.transaction(), db.why("path(1, 4)"), db.proofs
    db.close()

    for call in (
        lambda: db["path"], lambda: db.query("path(1, x)"), lambda: db.apply("+edge(9, 9)."),
        db.transaction, lambda: db.add_rules("path(1, 1)."), lambda: db.remove_rules(1),
        lambda: db.subscribe("path", print), db.deltas, lambda: db.write("out"),
        db.checkpoint, lambda: db.why("path(1, 2)"), lambda: db.why_not("path(9, 9)"),
        lambda: db.blame("path(1, 4)"), lambda: db.repair("path(1, 4)"), lambda: db.guard("path(9, 9)"),
        lambda: len(relation), lambda: list(relation), lambda: (1, 2) in relation, lambda: desk.book,
        transaction.commit,
    ):  # fmt: skip
        with pytest.raises(TidelogError) as error:
            call()
        assert error.value.diagnostics[0].code == "session-closed"
    try_out(proof.text)
    assert (db.epoch, len(db.history), len(db.rules), "path" in db) == (1, 1, 2, True)
    assert repr(db) == "<closed session>"


# --- arguments that would have no effect ----------------------------------------------------------------

IGNORED: Mapping[str, Callable[[Session], object]] = {
    "why_not: depth with guided": lambda db: db.why_not("path(9, 9)", guided=True, depth=2),
    "why_not: limit with guided": lambda db: db.why_not("path(9, 9)", guided=True, limit=2),
    "repair: alternatives with ddmin": lambda db: db.repair("path(1, 4)", method="ddmin", alternatives=2),
    "checkpoint without a store": lambda db: db.checkpoint(),
    "open: read_only without a store": lambda _: tidelog.open(PROGRAM, read_only=True),
    "open: spark with another engine": lambda _: tidelog.open(PROGRAM, spark=Odd()),
    "open: spark_options with another engine": lambda _: tidelog.open(PROGRAM, spark_options={}),
    "open: a strategy of another engine": lambda _: tidelog.open(
        PROGRAM, engine="reference", strategy="update"
    ),
    "open: max_update_share where there is only one way": lambda _: tidelog.open(
        PROGRAM, engine="reference", max_update_share=0.5
    ),
    "open: memory_limit that nobody watches": lambda _: tidelog.open(
        PROGRAM, engine="reference", memory_limit="4G"
    ),
    "apply: a strategy of another engine": lambda _: tidelog.open(PROGRAM, engine="reference").apply(
        "+edge(1, 2).", strategy="dred"
    ),
}


@pytest.mark.parametrize("call", IGNORED)
def test_arguments_without_effect_are_refused(call: str) -> None:
    """An argument is obeyed or refused, never passed over."""
    with fresh() as db, pytest.raises(TidelogError) as error:
        IGNORED[call](db)

    assert {each.code for each in error.value.diagnostics} == {"no-effect"}


def test_all_proofs_are_shown_to_the_depth() -> None:
    """`depth` is obeyed with `all`."""
    with fresh() as db:
        (proof,) = db.why_all("path(1, 4)", depth=0)

        assert proof.depth == 0
        assert proof.text() == db.why("path(1, 4)", depth=0).text()
        assert proof.text() != db.why("path(1, 4)").text()


def test_facts_beside_an_existing_store_are_warned_of(tmp_path: Path) -> None:
    """A store has its facts; those given beside it are not read, and a warning says so."""
    facts = {"edge": [(1, 2)]}
    with tidelog.open(PROGRAM, facts=facts, store=tmp_path / "s") as db:
        assert "facts-not-read" not in {each.code for each in db.warnings}

    with tidelog.open(PROGRAM, facts={"edge": [(5, 6)]}, store=tmp_path / "s") as db:
        assert [each.code for each in db.warnings] == ["facts-not-read"]
        assert set(db["edge"]) == {(1, 2)}
    with tidelog.open(PROGRAM, store=tmp_path / "s") as db:
        assert not db.warnings


def test_include_path_and_macros_are_for_rules_added_later_too(tmp_path: Path) -> None:
    """A session over a store reads the files that added rules include."""
    (tmp_path / "more.dl").write_text("path(x, LAST) :- edge(x, _).\n", "utf-8")
    tidelog.open(PROGRAM, facts={"edge": [(1, 2)]}, store=tmp_path / "s").close()

    with tidelog.open(store=tmp_path / "s", include_path=tmp_path, defines={"LAST": "9"}) as db:
        delta = db.add_rules('#include "more.dl"')

    assert delta["path"].inserted == {(1, 9)}


def test_one_folder_is_an_include_path() -> None:
    """A single folder is not taken for a list of its characters."""
    with tidelog.open(PROGRAM, include_path="include", engine="reference") as db:
        assert db._epochs.request.options.include_folders == (Path("include"),)
