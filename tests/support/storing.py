"""Sessions with a store in a few lines, and what must be in them."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import tidelog
from tidelog.session import Session
from tidelog.store import Store
from tidelog.values import Fact

PATHS = """
.decl edge(x: number, y: symbol)
.input edge
.decl named(y: symbol, x: number)
named(y, x) :- edge(x, y).
.decl pair(z: symbol)
pair(cat(y, w)) :- edge(x, y), edge(x, w), y < w.
.type List = [head: number, tail: List]
.decl list(l: List)
list([x, nil]) :- edge(x, _).
list([x, [y, nil]]) :- edge(x, s), edge(y, s), x < y.
"""
Relations = dict[str, frozenset[Fact]]


def make(path: Path, text: str = PATHS, facts: Mapping[str, Sequence[Fact]] | None = None) -> Session:
    """Return a session with a new store."""
    return tidelog.open(text, facts=facts, store=path, jobs=1)


def reopen(path: Path, *, read_only: bool = False) -> Session:
    """Return the session of a store as another process would open it."""
    return tidelog.open(store=path, read_only=read_only, jobs=1)


def relations(session: Session) -> Relations:
    """Return all facts."""
    return {name: frozenset(session[name]) for name in session.relations}


def from_scratch(text: str, edges: set[Fact]) -> Relations:
    """Return all facts that follow from these edges."""
    with tidelog.open(text, facts={"edge": sorted(edges)}, jobs=1) as session:
        return relations(session)


def store_of(session: Session) -> Store:
    """Return the store of a session."""
    store = session._epochs._store
    assert store is not None
    return store


def random_change(chance: random.Random, edges: set[Fact]) -> tuple[set[Fact], set[Fact]]:
    """Return some edges to insert, with new texts at times, and some to delete."""
    deleted = set(chance.sample(sorted(edges), min(len(edges), chance.randrange(4))))
    inserted = {
        (chance.randrange(6), f"{chance.choice('abcäλ')}{chance.randrange(9)}")
        for _ in range(chance.randrange(5))
    }
    return inserted - edges, deleted
