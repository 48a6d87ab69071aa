"""Sixty mistakes that a new user makes in Python: each is a diagnostic that names the thing to do."""

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tidelog
from tidelog import Branch, OpenOptions, Session, TidelogError

PROGRAM = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl person(name: symbol, age: number)
.input person
"""
FACTS = {"edge": [(1, 2), (2, 3)], "person": [("Ada", 36)]}
FUNCTOR = ".functor half(x: number): number\n.decl a(x: number)\na(@half(2))."


class Tried:
    """What the calls below are made on: a session with one epoch, and others in odd states."""

    def __init__(self) -> None:
        self.db: Any = tidelog.open(PROGRAM, facts=FACTS, jobs=1)
        self.db.apply("+edge(3, 4).")
        self._held: list[Session] = [self.db]

    def open(self, *arguments: Any, **options: Any) -> Any:
        """Open a session; whatever is wrong is meant to be."""
        self._held.append(tidelog.open(*arguments, **options))
        return self._held[-1]

    def facts(self, **facts: Any) -> Any:
        """Open a session over these facts."""
        return self.open(PROGRAM, facts=facts, jobs=1)

    @property
    def closed(self) -> Any:
        """Return a session that was closed."""
        self.db.close()
        return self.db

    @property
    def fresh(self) -> Any:
        """Return a session without an epoch."""
        return self.facts(**FACTS)

    @property
    def ended(self) -> Any:
        """Return a transaction that was committed."""
        with self.db.transaction() as transaction:
            transaction.insert("edge", [(7, 8)])
        return transaction

    def commit(self, *facts: Any) -> None:
        """Insert facts in a transaction."""
        with self.db.transaction() as transaction:
            transaction.insert(*facts)

    def store(self) -> str:
        """Return the folder of a store that nobody uses."""
        with tidelog.open(PROGRAM, facts=FACTS, store="state", jobs=1):
            return "state"

    def close(self) -> None:
        """Close all sessions."""
        for each in self._held:
            each.close()


# The call, the code of its diagnostic, and words that it has.
Mistake = tuple[Callable[[Tried], object], str, tuple[str, ...]]
MISTAKES: dict[str, Mistake] = {
    # --- programs and options
    "a program that is not there": (
        lambda t: t.open("pp.dl"),
        "unreadable-program",
        ("cannot read pp.dl", "did you mean p.dl?"),
    ),
    "a file without its suffix": (
        lambda t: t.open("p"),
        "unreadable-program",
        ("`p` is not the text of a program", "pathlib.Path('p')"),
    ),
    "a folder for a program": (
        lambda t: t.open(Path()),
        "unreadable-program",
        ("`.` is a folder; name a file",),
    ),
    "bytes for a program": (lambda t: t.open(b".decl"), "bad-argument", ("must be a text or a path",)),
    "nothing at all": (lambda t: t.open(), "no-program", ("tidelog.open('prog.dl')",)),
    "facts without a name": (
        lambda t: t.open(PROGRAM, FACTS),
        "bad-argument",
        ("tidelog.open(program, facts=...)",),
    ),
    "a type of another language": (
        lambda t: t.open(".decl a(x: int)\na(1)."),
        "undeclared-type",
        ("there is no type `int`", "it is called `number` here"),
    ),
    "an option that is not there": (
        lambda t: t.open(PROGRAM, fact=FACTS),
        "unknown-option",
        ("did you mean `facts`?",),
    ),
    "an engine that is not there": (
        lambda t: t.open(PROGRAM, engine="souffle"),
        "unknown-engine",
        ("choose one of local, reference, spark",),
    ),
    "a number of threads as a text": (
        lambda t: t.open(PROGRAM, jobs="4"),
        "bad-jobs",
        ("'4' is not a number of threads", "give a whole number"),
    ),
    "an amount of memory in words": (
        lambda t: t.open(PROGRAM, memory_limit="4 gigs"),
        "bad-memory-limit",
        ("512M or 4G",),
    ),
    "a strategy that is not there": (
        lambda t: t.open(PROGRAM, strategy="incremental"),
        "unknown-strategy",
        ("choose one of auto, update",),
    ),
    "a macro that is a number": (
        lambda t: t.open(PROGRAM, defines={"N": 1}),
        "bad-argument",
        ("a mapping from names to texts, not 1 for 'N'",),
    ),
    "functions in a list": (
        lambda t: t.open(FUNCTOR, functions=[abs]),
        "bad-argument",
        ("a mapping from names to functions",),
    ),
    "options in a dict": (
        lambda t: t.open(PROGRAM, options={"jobs": 1}),
        "bad-argument",
        ("must be a tidelog.OpenOptions",),
    ),
    "options of another engine": (
        lambda _: OpenOptions(spark_options={"partners": 4}),
        "no-effect",
        ("only the engine `spark`", "leave out `spark_options`"),
    ),
    "Spark without a session": (
        lambda t: t.open(PROGRAM, engine="spark"),
        "spark-no-session",
        ("pass spark=",),
    ),
    "a functor without its function": (
        lambda t: t.open(FUNCTOR),
        "missing-function",
        ("pass functions={'half': ...}",),
    ),
    "a function of other arguments": (
        lambda t: t.open(FUNCTOR, functions={"half": lambda: 1}),
        "wrong-function-arity",
        ("`half` is declared with 1",),
    ),
    "a function that fails": (
        lambda t: t.open(FUNCTOR, functions={"half": lambda x: x // 0}),
        "functor-failed",
        ("`half(2)` failed: ZeroDivisionError", "raise NoValueError"),
    ),
    "rules without an end": (
        lambda t: t.open(".decl n(x: number)\nn(0).\nn(x + 1) :- n(x).", iteration_limit=10),
        "iteration-limit",
        ("no fixpoint within 10 iterations", "bound the values"),
    ),
    # --- stores
    "reading a store that is not named": (
        lambda t: t.open(PROGRAM, read_only=True),
        "no-effect",
        ("there is no store", "store='folder'"),
    ),
    "a store that is not there": (
        lambda t: t.open(store="nowhere"),
        "no-store",
        ("`nowhere`", "pass the program too"),
    ),
    "a store of another program": (
        lambda t: t.open(".decl a(x: number)", store=t.store()),
        "store-differs",
        ("open it without a program", "add_rules"),
    ),
    "a store that is open already": (
        lambda t: [t.open(PROGRAM, store="twice", jobs=1) for _ in range(2)],
        "store-in-use",
        ("close it there", "for reading only"),
    ),
    "a change where one may only read": (
        lambda t: t.open(store=t.store(), read_only=True).apply("+edge(5, 6)."),
        "read-only-store",
        ("leave out read_only",),
    ),
    "a checkpoint without a store": (
        lambda t: t.db.checkpoint(),
        "no-effect",
        ("tidelog.open(..., store='folder')",),
    ),
    # --- facts
    "facts without their relation": (
        lambda t: t.open(PROGRAM, facts=[(1, 2)]),
        "bad-facts",
        ("facts={'edge': [(1, 2)]}",),
    ),
    "a frame without its relation": (
        lambda t: t.open(PROGRAM, facts=pd.DataFrame({"x": [1], "y": [2]})),
        "bad-facts",
        ("DataFrame", "give a mapping from relations to facts"),
    ),
    "facts of a relation that is not there": (
        lambda t: t.facts(edges=[(1, 2)]),
        "undeclared-relation",
        ("did you mean `edge`?",),
    ),
    "one fact for a list of facts": (
        lambda t: t.facts(edge=(1, 2)),
        "wrong-value-type",
        ("row 1 is not a tuple but 1", "as a tuple, (x, y), in a list"),
    ),
    "a value too many": (
        lambda t: t.facts(edge=[(1, 2, 3)]),
        "wrong-column-count",
        ("row 1 has 3 values where 2 should be", "give x, y"),
    ),
    "a text for a number": (
        lambda t: t.facts(edge=[("1", 2)]),
        "wrong-value-type",
        ("row 1, column `x`: '1'", "int(value)"),
    ),
    "a number for a text": (lambda t: t.facts(person=[(1, 36)]), "wrong-value-type", ("str(value)",)),
    "a value that is missing": (
        lambda t: t.facts(person=[("Ada", None)]),
        "wrong-value-type",
        ("leave the fact out, or give a value",),
    ),
    "a number beyond 64 bits": (lambda t: t.facts(edge=[(2**70, 1)]), "wrong-value-type", ("an int from",)),
    "a branch that is not there": (
        lambda t: t.open(".type T = A {x: number}\n.decl a(t: T)", facts={"a": [(Branch("B", (1,)),)]}),
        "wrong-value-type",
        ("give a tidelog.Branch, one of: A",),
    ),
    "a frame with another column": (
        lambda t: t.facts(edge=pd.DataFrame({"x": [1], "z": [2]})),
        "column-names",
        ("`z` is not, `y` is missing", "name the columns x, y"),
    ),
    "a frame with a gap": (
        lambda t: t.facts(edge=pd.DataFrame({"x": [1.0, None], "y": [2, 3]})),
        "wrong-value-type",
        ("row 2 is missing", "frame.dropna()", 'frame["x"].astype("int64")'),
    ),
    "an array with one column": (
        lambda t: t.facts(edge=np.array([1, 2, 3])),
        "wrong-column-count",
        ("1 column where 2 should be", "one column for each name"),
    ),
    "dicts with other keys": (
        lambda t: t.facts(edge=[{"x": 1, "to": 2}]),
        "column-names",
        ("has no `y`", "give the keys 'x', 'y'"),
    ),
    "a folder that is not there": (
        lambda t: t.open(PROGRAM, facts="data"),
        "missing-fact-file",
        ("`data/edge.facts`", "there is no folder `data`", "facts="),
    ),
    "a file for a folder": (
        lambda t: t.open(PROGRAM, facts="edge.csv"),
        "missing-fact-file",
        ("`edge.csv` is a file", "facts={'edge': path}"),
    ),
    "a file that is not there": (
        lambda t: t.facts(edge="edges.csv"),
        "missing-fact-file",
        ("did you mean `edge.csv`?",),
    ),
    # --- relations and queries
    "a relation that is not there": (
        lambda t: t.db["paths"],
        "undeclared-relation",
        ("there is no relation `paths`", "did you mean `path`?"),
    ),
    "a relation by its place": (lambda t: t.db[0], "undeclared-relation", ("there are edge, path, person",)),
    "a place beyond the last fact": (lambda t: t.db["path"][99], "no-such-place", ("it has 6 facts",)),
    "a slice in steps of nothing": (
        lambda t: t.db["path"][::0],
        "bad-argument",
        ("`step` must be a whole number other than 0",),
    ),
    "a column for a place": (lambda t: t.db["path"]["x"], "bad-argument", ("a whole number or a slice",)),
    "an order by a column that is not there": (
        lambda t: t.db["path"].order_by("z"),
        "unknown-column",
        ("`path` has no column `z`", "its columns are x, y"),
    ),
    "fewer facts than none": (lambda t: t.db["path"].limit(-1), "bad-argument", ("at least 0, not -1",)),
    "a table in a folder's place": (
        lambda t: t.db["path"].to_csv("."),
        "unwritable-file",
        ("`.` is a folder; name a file",),
    ),
    "outputs in a file's place": (
        lambda t: t.db.write("p.dl"),
        "unwritable-file",
        ("`p.dl` is a file; name a folder",),
    ),
    "a query of a relation that is not there": (
        lambda t: t.db.query("paths(1, x)"),
        "undeclared-relation",
        ("did you mean `path`?",),
    ),
    "a query with a term too few": (
        lambda t: t.db.query("path(1)"),
        "wrong-arity",
        ("`path` has 2 columns", "path(x: number, y: number)"),
    ),
    "a query with a value of another type": (
        lambda t: t.db.query("path('a', x)"),
        "type-clash",
        ("expected `number`, found `symbol`",),
    ),
    "a value that is not given": (
        lambda t: t.db.query("path($start, x)"),
        "missing-value",
        ("`$start` has no value", "db.query(..., start=...)"),
    ),
    "a value that is not asked for": (
        lambda t: t.db.query("path(1, x)", start=1),
        "no-effect",
        ("the query has no `$start`", "write `$start`"),
    ),
    "values in a dict": (
        lambda t: t.db.query("path($start, x)", {"start": 1}),
        "bad-argument",
        ("given by name", "start=1"),
    ),
    "a rule for a query": (
        lambda t: t.db.query("far(x) :- path(1, x)."),
        "syntax",
        ("a query has no head", "add it as a rule"),
    ),
    "SQL for a query": (
        lambda t: t.db.query("SELECT * FROM path"),
        "syntax",
        ("expected a comparison", "write for example path(1, x)"),
    ),
    "a query that only denies": (
        lambda t: t.db.query("!path(x, 1)"),
        "unbound-variable",
        ("add a positive atom over `x`",),
    ),
    # --- changes
    "a change of what rules derive": (
        lambda t: t.db.apply(insert={"path": [(1, 2)]}),
        "not-an-input",
        ("declare `.input path`, or change `edge`",),
    ),
    "a list of tuples for changes": (
        lambda t: t.db.apply([(1, 2)]),
        "bad-changes",
        ("'+edge(1, 2). -edge(2, 3).'",),
    ),
    "a script without signs": (
        lambda t: t.db.apply("edge(1, 2)."),
        "syntax",
        ("a change is written `+edge(1, 2).`",),
    ),
    "the name of a script": (
        lambda t: t.db.apply("changes.dl"),
        "bad-changes",
        ("pathlib.Path('changes.dl').read_text()",),
    ),
    "a fact with a variable": (
        lambda t: t.db.apply(insert="edge(1, x)"),
        "not-a-constant",
        ("`x` is not a constant", "a text is written in quotes"),
    ),
    "a rule for a relation that is not there": (
        lambda t: t.db.add_rules("far(x) :- path(x, _)."),
        "undeclared-relation",
        ("declare it: `.decl far(...)`",),
    ),
    "a relation for its rules": (
        lambda t: t.db.remove_rules("path"),
        "no-such-rule",
        ("`db.rules` lists the rules",),
    ),
    "a transaction that is over": (
        lambda t: t.ended.insert("edge", [(1, 2)]),
        "transaction-ended",
        ("begin another one with db.transaction()",),
    ),
    "a delta before its time": (
        lambda t: t.db.transaction().delta,
        "transaction-ended",
        ("leave the `with` block first",),
    ),
    "a relation without its facts": (lambda t: t.commit("edge"), "syntax", ("`edge(...)`",)),
    "a session that is closed": (
        lambda t: t.closed.query("path(1, x)"),
        "session-closed",
        ("inside its `with` block", "tidelog.open"),
    ),
    "a callback that is a name": (
        lambda t: t.db.subscribe("path", "print"),
        "bad-argument",
        ("`callback` must be a function",),
    ),
    "a session in a pickle": (
        lambda t: pickle.dumps(t.db),
        "not-picklable",
        ("open a session where it is needed",),
    ),
    "a copy of a session": (lambda t: copy.deepcopy(t.db), "not-picklable", ("relations and answers can",)),
    # --- explanations
    "why of a fact that does not hold": (
        lambda t: t.db.why("path(9, 9)"),
        "fact-absent",
        ("path(9, 9) does not hold", "ask `why_not`"),
    ),
    "why not of a fact that holds": (
        lambda t: t.db.why_not("path(1, 2)"),
        "fact-holds",
        ("path(1, 2) holds", "ask `why`"),
    ),
    "why of a query": (lambda t: t.db.why("path(1, x)"), "not-a-constant", ("a query finds the facts",)),
    "why of bare values": (lambda t: t.db.why((1, 2)), "not-a-fact", ('("path", (1, 3))',)),
    "a metric that is not there": (
        lambda t: t.db.why("path(1, 2)", metric="depth"),
        "unknown-metric",
        ("choose height, nodes or leaves",),
    ),
    "a semiring that is not there": (
        lambda t: t.db.annotate("path(1, 2)", "sum"),
        "unknown-semiring",
        ("choose one of count, boolean, tropical",),
    ),
    "blame for nothing": (lambda t: t.db.blame(), "bad-fault", ("unwanted=",)),
    "blame for what was always there": (
        lambda t: t.db.blame("path(1, 2)"),
        "no-fault",
        ("holds in epoch 1, as it did in epoch 0", "name an unwanted fact that appeared"),
    ),
    "blame without an epoch": (lambda t: t.fresh.blame("path(1, 2)"), "epoch-not-kept", ()),
    "an epoch in words": (
        lambda t: t.db.blame("path(1, 4)", epoch="last"),
        "epoch-not-kept",
        ("give epoch=N",),
    ),
    "a repair that costs nothing": (
        lambda t: t.db.repair("path(1, 4)", costs={"edge": 0}),
        "bad-wish",
        ("the cost of `edge` is 0", "above zero"),
    ),
    "a repair that spares what is not there": (
        lambda t: t.db.repair("path(1, 4)", untouchable=["edgy"]),
        "undeclared-relation",
        ("did you mean `edge`?",),
    ),
    "a guard of a relation that is not there": (
        lambda t: t.db.guard("pathh(1, 2)"),
        "undeclared-relation",
        ("did you mean `path`?",),
    ),
    "a tree that is a file's name": (
        lambda _: tidelog.open_tree(PROGRAM, "a.py"),  # type: ignore[call-overload]
        "bad-argument",
        ("`tree` must be a Tree or a Forest",),
    ),
}


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tried]:
    """Return what calls are made on, in a folder with a program and a table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.dl").write_text(PROGRAM)
    (tmp_path / "edge.csv").write_text("1,2\n")
    made = Tried()
    yield made
    made.close()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_what_to_do(tried: Tried, name: str) -> None:
    """The call raises a diagnostic with this code, which says what is wrong and what to write instead."""
    call, code, words = MISTAKES[name]

    with pytest.raises(TidelogError) as caught:
        call(tried)

    assert caught.value.diagnostics[0].code == code
    told = str(caught.value)
    assert [each for each in words if each not in told] == [], told


def test_there_are_sixty_of_them() -> None:
    """No mistake gets lost, and almost all have words that say what to do."""
    assert len(MISTAKES) >= 60
    assert sum(bool(words) for *_, words in MISTAKES.values()) >= len(MISTAKES) - 1
