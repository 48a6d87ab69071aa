"""Explanations after random epochs: proofs that suffice, near misses that would do, repairs that are least.

Every kind takes a session through a history and asks about facts at random after each epoch; what must
hold of an answer is in `explanations_oracle`.
"""

from collections.abc import Callable
from random import Random
from typing import Final

from support.explanations_oracle import check_blame, check_proofs, check_why_not
from tidelog.session import Session
from tidelog.values import Fact
from torture.histories import History, histories, write_script
from torture.searching import RandomKind
from torture.sessions import Followed, valid_texts


def replay_proofs(history: History) -> int:
    """Check proofs of facts after every epoch; return how many."""
    return _replay(history, lambda now: check_proofs(*_asked(now), functions=history.functions))


def replay_why_not(history: History) -> int:
    """Check refutations of absent facts after every epoch; return how many."""
    return _replay(history, lambda now: check_why_not(*_asked(now), functions=history.functions))


def replay_repairs(history: History) -> int:
    """Check blame and repair of what every epoch changed; return how many answers."""
    followed = Followed(history)
    checked = 0
    for number, text in enumerate(valid_texts(history)):
        before = {name: set(facts) for name, facts in followed.inputs.items()}
        followed.step(number, text)
        checked += check_blame(
            followed.session,
            followed.text,
            before,
            followed.inputs,
            _chance(followed),
            functions=history.functions,
        )
    followed.session.close()
    return checked


def _replay(history: History, ask: Callable[[Followed], int]) -> int:
    followed = Followed(history)
    checked = ask(followed)
    for number, text in enumerate(valid_texts(history)):
        followed.step(number, text)
        checked += ask(followed)
    followed.session.close()
    return checked


def _asked(followed: Followed) -> tuple[Session, str, dict[str, set[Fact]], Random]:
    return followed.session, followed.text, followed.inputs, _chance(followed)


def _chance(followed: Followed) -> Random:
    """Return randomness that depends on the case alone, so that a failure comes again."""
    return Random(followed.session.epoch)


def _kind(
    name: str, unit: str, replay: Callable[[History], int], *, changes_rules: bool
) -> RandomKind[History]:
    return RandomKind(
        name,
        unit,
        lambda: histories(max_steps=4, changes_rules=changes_rules),
        replay,
        lambda history: write_script(f"torture.explanations.{replay.__name__}", history),
    )


PROOFS: Final = _kind("proofs", "proofs", replay_proofs, changes_rules=True)
WHY_NOT: Final = _kind("why-not", "answers", replay_why_not, changes_rules=True)
# Changes of rules are blamed too, but the brute force is over facts.
REPAIRS: Final = _kind("repairs", "answers", replay_repairs, changes_rules=False)
