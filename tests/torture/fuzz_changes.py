"""Change scripts, facts, queries and faults as text: read, and asked of a session that is alive."""

import random
from functools import cache
from io import StringIO
from typing import Final

import tidelog
from tidelog.cli.deltas import delta_json, delta_lines
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax import parse_atom, print_node
from tidelog.syntax.changes import parse_changes, parse_facts, read_changes
from tidelog.views import Delta
from torture.fuzzing import FuzzKind
from torture.mutation import NUMBERS, TEXTS, mutate
from torture.shown import show
from torture.shrinking import Parts

PROGRAM: Final = """
.type Pair = [l: number, r: symbol]
.type Tree = Leaf {} | Fork {l: Tree, n: number}
.decl edge(x: number, y: number)
.input edge
.decl name(x: number, s: symbol)
.input name
.decl size(u: unsigned, f: float)
.input size
.decl shape(p: Pair, t: Tree)
.input shape
.decl flag()
.input flag
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.decl lonely(x: number, s: symbol)
lonely(x, s) :- name(x, s), !path(x, _), !flag().
.decl reach(x: number, n: number)
reach(x, n) :- edge(x, _), n = count : { path(x, _) }.
.decl label(s: symbol)
label(cat(s, t)) :- edge(x, y), name(x, s), name(y, t).
.decl sum_of(f: float)
sum_of(t) :- t = sum f : { size(_, f) }, t < 100.
.decl tip(t: Tree)
tip($Fork(t, n)) :- shape([n, _], t).
.output path, reach, label, tip
"""
_FACTS: Final = (
    *("edge(1, 2)", "edge(2, 3)", "edge(3, 1)", "edge(-4, 9)", 'name(1, "a")', "name(2, 'b')", 'name(3, "")'),
    *("size(3u, 1.5)", "size(1, -2)", "size(0, 0.25)", 'shape([1, "a"], $Leaf)'),
    "shape(nil, $Fork($Leaf, 2))",
    *("flag()", "path(1, 3)", "path(3, 9)", "lonely(4, 'a')", "reach(1, 3)", 'label("ab")', "sum_of(1.5)"),
    *("tip($Fork($Leaf(), 1))", "edge(x, 2)", "path(x, y)", "name(_, s)", "edge(1)", "nothing(1)"),
    "shape(p, t)",
)
_BODIES: Final = (
    *("path(1, x)", "edge(x, y), !edge(y, x), x < 10", "name(x, s), strlen(s) > 0"),
    "x = count : { edge(_, _) }",
    *("shape([a, b], t)", "t = $Fork(u, 3), tip(t)", "size(u, f), f > 0.5", "edge(x, y); edge(y, x)"),
    "flag()",
    *("x = range(1, 4), edge(x, _)", "s = cat('a', 'b')", "match('a.*', s), name(_, s)", "x = 1 / 0", "true"),
    *("name(x, s), y = to_number(s)", "n = sum x : { edge(x, _) }, n > 2", "edge(x, x + 1)", "undef(x)"),
)
_WORDS: Final = (
    *("+", "-", ".", ",", "(", ")", "[", "]", "$", "commit.", "commit", "edge", "name", "path", "size"),
    "shape",
    *("flag", "nil", "$Leaf", "_", "x", "'", '"', "//", "/*", "*/", "\n", " ", ":-", ";", "!", "=", "<"),
    *("count", ":"),
    *("{", "}", "never", "always", "#", "@f", ".decl a()", "as", "min", "sum", "autoinc()", "1u", "1.5"),
    *("-1", "edge."),
)
# What is done with the text; most often it is only read, which is a hundred times as quick.
_VERBS: Final = {
    "read script": 30,
    "read facts": 20,
    "read atom": 20,
    "apply": 6,
    "insert": 2,
    "query": 6,
    "why": 2,
    "why_not": 2,
    "blame": 1,
    "repair": 1,
    "guard": 1,
    "rules": 1,
}


def make(chance: random.Random) -> Parts:
    """Return what to do with a text, and the text."""
    verb = chance.choices(list(_VERBS), list(_VERBS.values()))[0]
    if verb in {"apply", "read script"}:
        text = "".join(_written_change(chance) for _ in range(chance.choice((1, 1, 2, 3, 6))))
    elif verb == "query":
        text = chance.choice((*_BODIES, *_FACTS))
    elif verb in {"insert", "read facts"}:
        text = chance.choice((". ", ", ", "\n", " ")).join(chance.choices(_FACTS, k=chance.choice((1, 2, 3))))
    elif verb == "rules":
        text = f"{chance.choice(_FACTS)} :- {chance.choice(_BODIES)}."
    else:
        text = chance.choice(_FACTS)
    if verb == "guard" and chance.random() < 0.5:
        text = f"{chance.choice(('never', 'always'))} {text}"
    words = (*_WORDS, chance.choice(NUMBERS), chance.choice(TEXTS))
    return verb, mutate(chance, text, words, chance.choice((0, 1, 1, 1, 2, 3, 6)))


def _written_change(chance: random.Random) -> str:
    end = chance.choice((".", ".", ".", ". commit.", "", "\n"))
    return chance.choice("+-") + chance.choice(_FACTS) + end + chance.choice(" \n")


def attempt(verb: str, text: str) -> None:
    """Do with the text what the verb says; a session is afterwards as it was."""
    try:
        if verb == "read script":
            check_script(text)
        elif verb == "read facts":
            parse_facts(text)
        elif verb == "read atom":
            atom = parse_atom(text)
            assert parse_atom(print_node(atom)) == atom, "the printed atom is another one"
        else:
            ask(open_session(PROGRAM), verb, text)
    except TidelogError as error:
        show(error)


def check_script(text: str) -> None:
    """Read a script at once and line by line, which must come to the same."""
    at_once = parse_changes(Source("script", text))
    by_line = tuple(read_changes(StringIO(text), "script"))
    for transaction in at_once:
        for diagnostic in transaction.diagnostics:
            show(TidelogError([diagnostic]))
    changes = [[each.changes for each in transactions] for transactions in (at_once, by_line)]
    assert changes[0] == changes[1], "reading line by line gives other transactions"


def ask(session: Session, verb: str, text: str) -> None:
    """Put the text to a session, and look at the answer in all its forms."""
    match verb:
        case "query":
            list(session.query(text))
        case "why":
            proof = session.why(text)
            assert proof.check(), "a proof holds"
            str(proof)
            proof.to_json()
        case "why_not":
            str(session.why_not(text))
        case "blame":
            str(session.blame(unwanted=text, epoch=(1, 3)))
        case "repair":
            str(session.repair(unwanted=text, epoch=(1, 3), seconds=2.0))
        case "guard":
            session.unguard(*session.guard(text))
        case _:
            apply_and_undo(session, verb, text)


def apply_and_undo(session: Session, verb: str, text: str) -> None:
    """Change a session by text, and take that back."""
    before = {name: frozenset(session[name]) for name in session.relations}
    if verb == "rules":
        known = {rule.id for rule in session.rules}
        session.add_rules(text)
        added = [rule for rule in session.rules if rule.id not in known]
        if added:
            session.remove_rules(added)
    else:
        delta = session.apply(text) if verb == "apply" else session.apply(insert=text)
        check_delta(delta, session)
        session.apply({name: delta.inverse()[name] for name in delta.changes})
    after = {name: frozenset(session[name]) for name in session.relations}
    assert {name: after[name] for name in before} == before, "a change taken back leaves nothing behind"


def check_delta(delta: Delta, session: Session) -> None:
    """Print a delta, whose text must be a change script."""
    shown = frozenset(session.relations)
    script = "\n".join(delta_lines(delta, shown, explains=True))
    for transaction in parse_changes(Source("delta", script)):
        assert not transaction.diagnostics, f"a delta is written as a script: {script}"
    delta_json(delta, shown)


@cache
def open_session(program: str) -> Session:
    """Return a session with some facts and epochs, the same one for every text of this process."""
    facts = {"edge": [(1, 2), (2, 3)], "name": [(1, "a"), (3, "b")], "size": [(3, 1.5)]}
    session = tidelog.open(program, facts=facts, jobs=1, iteration_limit=50, memory_limit="300M")
    session.apply("+edge(3, 4). +name(2, 'c').")
    session.apply("+edge(4, 1). -name(3, 'b'). +shape([1, 'x'], $Leaf).")
    session.apply("-edge(2, 3). +edge(3, 9). +flag().")
    return session


def load() -> None:
    """Ask everything once, so that children find the kernels loaded and a session open."""
    for verb, text in (
        *(("apply", "+edge(7, 8). -edge(1, 2)."), ("query", "path(1, x)"), ("why", "path(1, 2)")),
        *(("why_not", "path(7, 7)"), ("blame", "path(3, 9)"), ("repair", "path(3, 9)")),
        ("guard", "path(8, 8)"),
        ("rules", "path(x, x) :- edge(x, _)."),
    ):
        attempt(verb, text)


KIND: Final = FuzzKind("fuzz-changes", make, attempt, load)
