"""Sessions as users hold them: facts and rules change together, stores are closed and opened again.

After each epoch every relation is the reference engine's, and the delta, its reversal and what
subscribers heard are the difference.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import tidelog
from support.epochs import difference
from support.programs import Relations, build, run
from tidelog.session import Session
from tidelog.values import Fact
from tidelog.values.functors import canonical_value
from torture.histories import Facts, History, histories, write_script
from torture.searching import RandomKind

_ITERATIONS: Final = 500


@dataclass
class Followed:
    """A session with a model of what it holds: the program's text and the input facts."""

    history: History
    store: Path | None = None
    session: Session = field(init=False)
    text: str = field(init=False)
    inputs: dict[str, set[Fact]] = field(init=False)
    expected: Relations = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.history.text
        self.inputs = {name: set(map(_canonical, facts)) for name, facts in self.history.inputs.items()}
        self.session = tidelog.open(
            self.text,
            facts={name: list(facts) for name, facts in self.history.inputs.items()},
            jobs=self.history.jobs,
            store=self.store,
            iteration_limit=_ITERATIONS,
            functions=self.history.functions,
        )
        self.expected = self.check()

    def step(self, number: int, text: str) -> None:
        """Take the session through one step of the history and check everything."""
        step = self.history.steps[number]
        if step.is_reopened and self.store is not None:
            if step.is_mapped:
                self.session.checkpoint(indexes=True)
            self.reopen()
            assert self.session.epoch == number
        heard: list[int] = []
        subscribed = self.session.relations
        subscriptions = [
            self.session.subscribe(name, lambda delta: heard.append(len(delta))) for name in subscribed
        ]
        before, lines = self.expected, self.text.splitlines()
        removed = [line for line in dict.fromkeys(lines) if line not in text.splitlines()]
        added = [line for line in dict.fromkeys(text.splitlines()) if line not in lines]
        delta = self.session.apply(
            insert={name: list(facts) for name, facts in step.inserts.items() if facts},
            delete={name: list(facts) for name, facts in step.deletes.items() if facts},
            remove_rules=removed or None,
            add_rules="\n".join(added) or None,
            strategy=step.strategy,
            max_update_share=step.switch,
        )
        self.text = text
        self._follow(step.inserts, step.deletes)
        self.expected = self.check()
        assert self.session.epoch == number + 1
        found = {name: _sides(delta, name) for name in self.session.relations}
        right = difference(before, self.expected)
        nothing: frozenset[Fact] = frozenset()
        wanted = {
            name: (right.inserted.get(name, nothing), right.deleted.get(name, nothing))
            for name in self.session.relations
        }
        assert found == wanted, "the delta"
        # Relations made for parts of new rules are not subscribed to.
        changed = [len(a) + len(b) for name, (a, b) in wanted.items() if name in subscribed and (a or b)]
        assert sorted(heard) == sorted(changed), "subscribers"
        for subscription in subscriptions:
            subscription()

    def reopen(self) -> None:
        """Close the session and open its store again."""
        self.session.close()
        self.session = tidelog.open(
            store=self.store,
            jobs=self.history.jobs,
            iteration_limit=_ITERATIONS,
            functions=self.history.functions,
        )

    def check(self) -> Relations:
        """Assert that every relation is as evaluation from nothing gives it."""
        inputs = {name: sorted(facts, key=repr) for name, facts in self.inputs.items() if facts}
        expected = run(self.text, inputs=inputs, functions=self.history.functions)
        found = {name: frozenset(map(_canonical, self.session[name])) for name in self.session.relations}
        assert found == expected
        return expected

    def _follow(self, inserts: Facts, deletes: Facts) -> None:
        for name, facts in deletes.items():
            self.inputs[name].difference_update(map(_canonical, facts))
        for name, facts in inserts.items():
            self.inputs[name].update(map(_canonical, facts))


def replay(history: History) -> int:
    """Take a session through the history."""
    return _replay(Followed(history))


def replay_store(history: History) -> int:
    """Take a session with a store through the history; in the end it opens as it was left."""
    folder = Path(tempfile.mkdtemp(prefix="tidelog-torture-"))
    try:
        followed = Followed(history, folder / "store")
        checked = _replay(followed)
        followed.reopen()
        followed.check()
        followed.session.close()
        return checked
    finally:
        shutil.rmtree(folder)


def _replay(followed: Followed) -> int:
    with_rules = list(valid_texts(followed.history))
    for number, text in enumerate(with_rules):
        followed.step(number, text)
    followed.session.close()
    return len(with_rules) + 1


def valid_texts(history: History) -> list[str]:
    """Return the text after each step; rules that a valid program needs stay."""
    texts: list[str] = []
    for text in history.texts():
        try:
            build(text)
        except tidelog.TidelogError:
            texts.append(texts[-1] if texts else history.text)
        else:
            texts.append(text)
    return texts


def _sides(delta: Mapping[str, object], name: str) -> tuple[frozenset[Fact], frozenset[Fact]]:
    found = delta[name]
    return (
        frozenset(map(_canonical, found.inserted)),  # type: ignore[attr-defined]
        frozenset(map(_canonical, found.deleted)),  # type: ignore[attr-defined]
    )


def _canonical(fact: Fact) -> Fact:
    return tuple(map(canonical_value, fact))


SESSIONS: Final = RandomKind(
    "sessions", "epochs", histories, replay, lambda history: write_script("torture.sessions.replay", history)
)
STORES: Final = RandomKind(
    "stores",
    "epochs",
    histories,
    replay_store,
    lambda history: write_script("torture.sessions.replay_store", history),
)
