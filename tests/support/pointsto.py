"""The running example: a points-to analysis in which `userSession` must not alias `sec`."""

import tidelog
from tidelog.session import Session

PROGRAM = """\
.decl new(variable: symbol, object: symbol)
.decl assign(to: symbol, from: symbol)
.decl load(to: symbol, base: symbol, field: symbol)
.decl store(base: symbol, field: symbol, from: symbol)
.input new, assign, load, store
.decl vpt(variable: symbol, object: symbol)
vpt(v, o) :- new(v, o).
vpt(v, o) :- assign(v, w), vpt(w, o).
vpt(v, o) :- load(v, w, f), store(q, f, p), vpt(p, o), vpt(w, r), vpt(q, r).
.decl alias(a: symbol, b: symbol)
.output alias
alias(a, b) :- vpt(a, o), vpt(b, o), a != b.
"""
FACTS = {
    "new": [("admin", "L1"), ("sec", "L2"), ("ins", "L3")],
    "assign": [("userSession", "ins")],
    "store": [("admin", "session", "sec")],
}
CHANGES = '+assign("upgradedSession", "userSession"). +load("userSession", "admin", "session").'
FAULT = "alias('userSession', 'sec')"


def before(engine: str = "local") -> Session:
    """Return a session before the faulty epoch."""
    return tidelog.open(PROGRAM, facts=FACTS, engine=engine)


def after(engine: str = "local") -> Session:
    """Return a session after it."""
    session = before(engine)
    session.apply(CHANGES)
    return session
