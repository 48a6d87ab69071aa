"""Guards: what must never hold, or must always hold, whatever changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import RelationChange
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.files import reason_of, unreadable_hint
from tidelog.explain.blame.answers import Violation
from tidelog.views import Delta

if TYPE_CHECKING:
    # Loaded by the first guard: a session without any starts without explanations.
    from tidelog.explain.port import Explained, ExplainedProgram


@dataclass(frozen=True, slots=True)
class Guard:
    """Facts that no epoch may insert, or with `is_always` none may delete.

    A strict guard refuses an epoch that does; others report it.
    """

    text: str
    is_always: bool = False
    is_strict: bool = False

    def __str__(self) -> str:
        return f"{'always' if self.is_always else 'never'} {self.text}"


class GuardError(TidelogError):
    """Strict guards refused an epoch; `violations` say which, and what to leave out."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(map(_refused, violations))
        self.violations = tuple(violations)


def read_guards(text: str | Path, *, is_strict: bool = False) -> tuple[Guard, ...]:
    """Return one guard from a text, or all guards of a file: one to a line, `//` begins a comment.

    never alias(x, 'sec')
    always reachable('main')
    """
    if not isinstance(text, Path):
        return (_read(text, is_strict=is_strict),)
    try:
        lines = text.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as cause:
        # Not UTF-8, or a name that no file can have.
        message, hint = f"cannot read {text}: {reason_of(cause)}", unreadable_hint(text, cause)
        raise TidelogError([Diagnostic("unreadable-guards", message, hint=hint)]) from cause
    written = (line.partition("//")[0].strip() for line in lines)
    return tuple(_read(line, is_strict=is_strict) for line in written if line)


def _read(text: str, *, is_strict: bool) -> Guard:
    word, _, rest = text.strip().removesuffix(".").partition(" ")
    if word in {"never", "always"} and rest.strip():
        return Guard(rest.strip(), word == "always", is_strict)
    return Guard(text.strip().removesuffix("."), is_always=False, is_strict=is_strict)


class Guards:
    """The guards of a session."""

    def __init__(self) -> None:
        self._guards: dict[Guard, None] = {}

    @property
    def all(self) -> tuple[Guard, ...]:
        """Return the guards in the order they were set."""
        return tuple(self._guards)

    @property
    def strict(self) -> tuple[Guard, ...]:
        """Return the guards that refuse epochs."""
        return tuple(guard for guard in self._guards if guard.is_strict)

    def add(self, guards: Sequence[Guard], epochs: "Explained") -> None:
        """Take guards, all or none: their atoms must be of the program."""
        from tidelog.explain.blame.faults import FaultFinder  # noqa: PLC0415 - brings the local engine

        found: list[Diagnostic] = []
        finder = FaultFinder(epochs.prepared.program, epochs.handle.codec)
        for guard in guards:
            finder.pattern(guard.text, found, "guard")
        if found:
            raise TidelogError(found)
        self._guards.update(dict.fromkeys(guards))

    def remove(self, guards: Sequence[Guard]) -> None:
        """Drop some guards, or all of them."""
        for guard in guards or tuple(self._guards):
            self._guards.pop(guard, None)

    def rehearse(
        self, epochs: "Explained", changes: Mapping[str, RelationChange], after: "ExplainedProgram | None"
    ) -> None:
        """Raise `GuardError` if an epoch would break a strict guard; nothing has changed then.

        `after` is the program of the epoch if rules change too.
        """
        from tidelog.explain.guards.rehearsal import rehearse_facts, rehearse_rules  # noqa: PLC0415 - local engine

        if after is None:
            violations = rehearse_facts(epochs, changes, self.strict)
        else:
            violations = rehearse_rules(epochs, after, changes, self.strict)
        if violations:
            raise GuardError(violations)

    def check(self, epochs: "Explained", delta: Delta) -> tuple[Violation, ...]:
        """Return the guards that an epoch broke, which was committed just now."""
        if not self._guards:
            return ()
        from tidelog.explain.guards.rehearsal import look_back  # noqa: PLC0415 - brings the local engine

        return look_back(epochs, delta, self.all)


def _refused(violation: Violation) -> Diagnostic:
    verb = "vanish" if violation.is_always else "appear"
    if len(violation.facts) == 1:
        verb = "vanishes" if violation.is_always else "appears"
    facts = ", ".join(f"`{fact}`" for fact in violation.facts[:3])
    more = f" and {len(violation.facts) - 3} more" if len(violation.facts) > 3 else ""
    left_out = ", ".join(map(str, violation.repair.taken_back)) if violation.repair else ""
    return Diagnostic(
        code="guard-broken",
        message=f"the epoch is refused: {facts}{more} {verb}, against the guard `{violation.guard}`",
        hint=f"leave out {left_out}"
        if left_out
        else "no part of the epoch can be left out to keep the guard",
    )
