"""A process that writes epochs to a store, killed again and again; what is left must be whole epochs.

A case has operations, one to a line: change scripts, rules added and removed, checkpoints. It has
lives: each goes on where the last one ended, and ends by SIGKILL, at a file operation, in the midst of
a write, or after some milliseconds. After each the store must hold every epoch that was acknowledged,
at most one more, and exactly the facts that follow from the operations so far.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import tidelog
from support.lattice_functions import LATTICE_FUNCTIONS
from tidelog.errors import TidelogError
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax import print_node
from tidelog.syntax.changes import parse_changes
from torture.fuzzing import FuzzKind
from torture.sandbox import Limits
from torture.scratch import own_folder
from torture.shrinking import Parts

PROGRAM: Final = """
.decl edge(x: number, y: number, label: symbol)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y, _).
path(x, z) :- path(x, y), edge(y, z, _).
.decl lonely(x: number)
lonely(x) :- edge(x, _, _), !path(x, x).
.decl reach(x: number, n: number)
reach(x, n) :- edge(x, _, _), n = count : { path(x, _) }.
.decl joined(text: symbol)
joined(cat(s, t)) :- edge(x, y, s), edge(y, x, t).
.type Chain = [label: symbol, rest: Chain]
.decl chain(c: Chain)
chain([s, nil]) :- edge(0, _, s).
chain([s, c]) :- chain(c), c = [t, nil], edge(_, 1, s), s != t.
.functor constant(x: symbol, y: symbol): symbol
.functor hull(x: symbol, y: symbol): symbol
.functor widen(x: symbol, y: symbol): symbol
.functor shift(x: symbol, n: number): symbol
.type Constant <: symbol
.lattice Constant<> { Lub -> @constant(_, _) }
.type Wide <: symbol
.lattice Wide<> { Lub -> @hull(_, _), Widen -> @widen(_, _) }
.decl label(x: number, s: Constant<>)
label(y, as(s, Constant)) :- edge(_, y, s).
label(y, s) :- label(x, s), edge(x, y, _).
.decl hops(x: number, n: Wide<>)
hops(0, "0..0").
hops(y, as(@shift(n, 1), Wide)) :- hops(x, n), edge(x, y, _).
"""
_RULES: Final = (
    'path(y, x) :- edge(x, y, "b0").',
    "lonely(x + 100) :- reach(x, n), n > 2.",
    'chain([cat(s, "!"), nil]) :- joined(s).',
    "joined(s) :- edge(_, _, s), !path(1, 1).",
)
# The second writes an image, too.
_CHECKPOINTS: Final = ("checkpoint", "checkpoint indexes")
FILE_OPERATIONS: Final = ("pwrite", "fsync", "fdatasync", "ftruncate", "replace", "unlink", "mkdir")
LONGEST_LIFE_SECONDS: Final = 300
_LONGEST_UNTIL_KILL_SECONDS: Final = 0.08


def make(chance: random.Random) -> Parts:
    """Return operations and lives, one to a line."""
    facts: set[str] = set()
    rules: set[str] = set()
    lines = [_operation(chance, facts, rules, number) for number in range(chance.randint(4, 25))]
    lives = [_life(chance) for _ in range(chance.choice((1, 2, 3, 5)))]
    return "\n".join(lines) + "\n", "\n".join(lives) + "\n"


def _operation(chance: random.Random, facts: set[str], rules: set[str], number: int) -> str:
    drawn = chance.random()
    if drawn < 0.12:
        return chance.choice(_CHECKPOINTS)
    if drawn < 0.25:
        rule = chance.choice(_RULES)
        rules ^= {rule}
        return f"{'add' if rule in rules else 'remove'} {rule}"
    deleted = chance.sample(sorted(facts), min(len(facts), chance.randrange(4)))
    inserted = sorted({_edge(chance, number) for _ in range(chance.randrange(6))})
    facts -= set(deleted)
    facts |= set(inserted)
    return "apply " + " ".join([*(f"-{fact}." for fact in deleted), *(f"+{fact}." for fact in inserted)])


def _edge(chance: random.Random, number: int) -> str:
    """Return a fact, every other time with a text that no epoch had before."""
    label = f"{chance.choice('abcä')}{chance.choice((0, number))}"
    return f'edge({chance.randrange(9)}, {chance.randrange(9)}, "{label}")'


def _life(chance: random.Random) -> str:
    if chance.random() < 0.25:
        return f"seconds {chance.uniform(0, _LONGEST_UNTIL_KILL_SECONDS):.4f}"
    return f"{chance.choice(('before', 'after', 'half'))} {int(chance.expovariate(1 / 30)) + 1}"


def attempt(operations: str, lives: str) -> None:
    """Let a store be written by one life after the other; what is wrong with it is an assertion."""
    lines = [line for line in operations.splitlines() if line]
    if not is_possible(lines):
        return
    folder = str(own_folder() / "store")
    acknowledged = 0
    try:
        for life in [*filter(None, lives.splitlines()), "to the end"]:
            told = run_life(folder, lines, life)
            acknowledged = look(folder, lines, max([acknowledged, *told]))
        assert acknowledged == sum(_is_epoch(line) for line in lines), "the last life does the rest"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_possible(lines: Sequence[str]) -> bool:
    """Say whether the operations are right, which those of a case cut short need not be."""
    try:
        with tidelog.open(PROGRAM, jobs=1, functions=LATTICE_FUNCTIONS) as session:
            for line in lines:
                do(session, line)
            return session.epoch == sum(_is_epoch(line) for line in lines)
    except TidelogError:
        return False


def run_life(folder: str, lines: Sequence[str], life: str) -> list[int]:
    """Return the epochs that a forked process acknowledged before it died; the first is what it found."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        live(folder, lines, life, writing)
    os.close(writing)
    word, _, amount = life.partition(" ")
    if word == "seconds":
        time.sleep(float(amount))
        os.kill(child, signal.SIGKILL)
    told = b""
    while piece := os.read(reading, 1 << 16):
        told += piece
    os.close(reading)
    os.waitpid(child, 0)
    *whole, rest = told.decode().split("\n")
    assert not rest, f"half a line was told: {rest}"
    assert not any(line.startswith("error") for line in whole), " ".join(whole)
    return [int(line) for line in whole]


def live(folder: str, lines: Sequence[str], life: str, writing: int) -> None:
    """Apply the operations from where the store is, and tell every epoch when it is committed."""
    try:
        # Whoever waits for this process may be killed for waiting too long: it ends by itself then.
        signal.alarm(LONGEST_LIFE_SECONDS)
        word, _, amount = life.partition(" ")
        if word in {"before", "after", "half"}:
            die_at(word, int(amount))
        session = tidelog.open(PROGRAM, store=folder, jobs=1, functions=LATTICE_FUNCTIONS)
        os.write(writing, f"{session.epoch}\n".encode())
        epoch = 0
        for line in lines:
            epoch += _is_epoch(line)
            if epoch > session.epoch:
                do(session, line)
                os.write(writing, f"{session.epoch}\n".encode())
            elif not _is_epoch(line) and epoch == session.epoch:
                session.checkpoint(indexes=line == _CHECKPOINTS[1])
        session.close()
    except BaseException as error:  # noqa: BLE001 - the parent reports it, whatever it is
        os.write(writing, f"error: {error!r} {error}".replace("\n", " ").encode() + b"\n")
    os._exit(0)


def _is_epoch(line: str) -> bool:
    return line not in _CHECKPOINTS


def do(session: Session, line: str) -> None:
    """Do one operation, which is an epoch."""
    word, _, text = line.partition(" ")
    match word:
        case "apply":
            session.apply(text)
        case "add":
            session.add_rules(text)
        case "remove":
            session.remove_rules(text)


def die_at(when: str, number: int) -> None:
    """Let this process kill itself at a file operation: before it, after it, or half way through a write."""
    left = [number]

    def fatal(name: str, operation: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*given: Any, **named: Any) -> object:
            left[0] -= 1
            if left[0] == 0:
                if name == "pwrite" and when == "half":
                    handle, data, offset = given
                    operation(handle, data[: len(data) // 2], offset)
                elif when == "after":
                    operation(*given, **named)
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*given, **named)

        return wrapped

    for name in FILE_OPERATIONS:
        setattr(os, name, fatal(name, getattr(os, name)))


def look(folder: str, lines: Sequence[str], acknowledged: int) -> int:
    """Return the epoch of the store, which must have all facts that it must have, and no others."""
    try:
        session = tidelog.open(store=folder, read_only=True, jobs=1, functions=LATTICE_FUNCTIONS)
    except TidelogError as error:
        if acknowledged == 0 and error.diagnostics[0].code == "no-store":
            return 0
        raise AssertionError(f"epoch {acknowledged} was acknowledged, the store does not open") from error
    with session:
        found = session.epoch
        assert acknowledged <= found <= acknowledged + 1, (
            f"epoch {acknowledged} was acknowledged, not {found}"
        )
        facts, rules = model(lines, found)
        with tidelog.open(f"{PROGRAM}\n{rules}\n{facts}", jobs=1, functions=LATTICE_FUNCTIONS) as right:
            for name in right.relations:
                assert set(session[name]) == set(right[name]), f"epoch {found}: {name} is wrong"
    return found


def model(lines: Sequence[str], epoch: int) -> tuple[str, str]:
    """Return the facts and the rules that there are after so many epochs, as text."""
    facts: dict[str, None] = {}
    rules: dict[str, None] = {}
    for line in [each for each in lines if _is_epoch(each)][:epoch]:
        word, _, text = line.partition(" ")
        if word == "add":
            rules[text] = None
        elif word == "remove":
            rules.pop(text, None)
        else:
            for change in (each for part in parse_changes(Source("line", text)) for each in part.changes):
                fact = print_node(change.atom)
                facts.pop(fact, None)
                if change.is_insert:
                    facts[fact] = None
    return " ".join(f"{fact}." for fact in facts), " ".join(rules)


def load() -> None:
    """Take a store through everything once, so that children find it all loaded."""
    changes = 'apply +edge(0, 1, "a"). +edge(1, 0, "b").', _CHECKPOINTS[1], 'apply -edge(0, 1, "a").'
    attempt("\n".join([*changes, f"add {_RULES[0]}"]), "")


KIND: Final = FuzzKind("kill-store", make, attempt, load, Limits(seconds=60.0), unit="kills")
