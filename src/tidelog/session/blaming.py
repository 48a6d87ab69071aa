"""The questions a session answers about faults: which changes caused them, and which to take back."""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, described, is_path
from tidelog.explain.blame.answers import InputChange
from tidelog.explain.blame.wishes import (
    Method,
    Question,
    Rejected,
    SomeChanges,
    SomeEpochs,
    SomeFaults,
    Wishes,
)
from tidelog.explain.guards.guards import Guard, Guards, read_guards
from tidelog.session.epochs import Epochs

if TYPE_CHECKING:
    from tidelog.explain.blame.answers import Blame, Repair


class Blaming:
    """`blame`, `repair` and `guard` of a session."""

    _epochs: Epochs
    _guards: Guards
    _check_open: Callable[[], None]

    def blame(
        self,
        unwanted: SomeFaults | None = None,
        missing: SomeFaults | None = None,
        *,
        epoch: SomeEpochs | None = None,
        method: Method = "reasons",
    ) -> "Blame":
        """Return changes that cause all the faults; none of them can be left out.

        `unwanted` are facts that appeared, `missing` ones that vanished: texts, with variables if all
        facts that match are meant, or facts by relation. `epoch` is the one whose changes are suspects,
        or a pair of epochs; the last one by default. Nothing is changed.

            db.blame(unwanted=["alias(x, 'sec')"], epoch=(3, 7))
        """
        from tidelog.explain.blame.inquiry import blame  # noqa: PLC0415 - brings the local engine

        _check_method(method)
        with self._epochs.lock:
            self._check_open()
            return blame(self._epochs, Question(unwanted, missing, epoch, method))

    def repair(  # noqa: PLR0913 - each is a choice of its own, all have a default
        self,
        unwanted: SomeFaults | None = None,
        missing: SomeFaults | None = None,
        *,
        epoch: SomeEpochs | None = None,
        method: Method = "reasons",
        alternatives: int = 1,
        costs: Mapping[str, float] | None = None,
        untouchable: SomeChanges = (),
        reject: Rejected = (),
        seconds: float = 60.0,
    ) -> "Repair":
        """Return the cheapest changes to take back so that none of the faults remains.

        Faults are named as for `blame`. A change costs 1 unless `costs` has another number for its fact
        or relation; those that `untouchable` or `reject` name stay. A repair in `reject` is not given
        again. After `seconds` the best one so far is given, with the least cost that is possible.
        `db.apply` takes a repair as it is.
        """
        from tidelog.explain.blame.inquiry import repair  # noqa: PLC0415 - brings the local engine and the solver

        _check_method(method)
        with Arguments() as arguments:
            arguments.whole("alternatives", alternatives, least=1)
            arguments.number("seconds", seconds)
            wanted = "a mapping from names to costs"
            arguments.mapping("costs", costs, wanted, of=_is_number, is_optional=True)
            for name, value in (("untouchable", untouchable), ("reject", reject)):
                is_right = isinstance(value, str | Iterable | InputChange)
                arguments.expect(name, value, "the name of a change, or several", is_right=is_right)
            arguments.refuse(
                if_any={"alternatives": method == "ddmin" and alternatives != 1},
                because="delta debugging finds one repair",
            )
        wishes = Wishes(alternatives, costs, untouchable, reject, seconds)
        with self._epochs.lock:
            self._check_open()
            return repair(self._epochs, Question(unwanted, missing, epoch, method), wishes)

    def guard(self, text: str | Path, *, is_strict: bool = False) -> tuple[Guard, ...]:
        """Return guards that every epoch from now on is held against, until `unguard`.

        A text names facts that must never hold, with variables if all that match are meant; `always`
        before it says that those which hold must not vanish. A path names a file with one guard to a
        line. An epoch that breaks a guard tells so in its delta's `violations`, with blame and repair;
        a strict guard refuses the epoch.

            db.guard("alias('user', 'sec')")
            db.guard("always reachable('main')", is_strict=True)
        """
        with Arguments() as arguments:
            wanted = "a text, or the path of a file"
            is_right = isinstance(text, str) or (isinstance(text, Path) and is_path(text))
            arguments.expect("text", text, wanted, is_right=is_right)
            arguments.flag("is_strict", is_strict)
        guards = read_guards(text, is_strict=is_strict)
        with self._epochs.lock:
            self._check_open()
            self._guards.add(guards, self._epochs)
        return guards

    @property
    def guards(self) -> tuple[Guard, ...]:
        """Return the guards of the session."""
        return self._guards.all

    def unguard(self, *guards: Guard) -> None:
        """Drop some guards, or all of them."""
        with self._epochs.lock:
            known = self._guards.all
            with Arguments() as arguments:
                for guard in guards:
                    arguments.expect("guards", guard, "guards of the session", is_right=guard in known)
            self._guards.remove(guards)


def _check_method(method: object) -> None:
    if not isinstance(method, str):
        message = f"there is no method {described(method)}"
        raise TidelogError([Diagnostic(code="bad-wish", message=message, hint="choose reasons or ddmin")])


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
