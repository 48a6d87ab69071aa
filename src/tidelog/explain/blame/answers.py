"""What blame and repair answer, as values, text and JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Protocol

from tidelog.dataclass import dataclass
from tidelog.explain.blame.steps import StoryStep
from tidelog.explain.blame.story import step_json, step_lines
from tidelog.io.html import text_html
from tidelog.program.suggest import counted
from tidelog.values import Fact
from tidelog.views.fact_json import fact_json


class ChangeTaker(Protocol):
    """What a transaction is gathered in."""

    def data(self, name: str, data: object, *, is_insert: bool) -> None:
        """Take facts of one relation."""

    def rules(self, *, remove: Sequence[str], add: Sequence[str]) -> None:
        """Take rules to remove and rules to add."""


@dataclass(frozen=True, slots=True)
class InputChange:
    """A fact that was inserted or deleted between two epochs: `+edge(1, 2)`.

    For a rule that was added or removed `relation` is empty and `rule` is its text.
    """

    relation: str
    fact: Fact
    is_insert: bool
    text: str
    rule: str | None = None
    cost: float = field(default=1.0, compare=False)

    def __str__(self) -> str:
        return f"{'+' if self.is_insert else '-'}{self.text}"

    @property
    def inverse(self) -> "InputChange":
        """Return the change that takes this one back."""
        return replace(self, is_insert=not self.is_insert)

    def to_dict(self) -> dict[str, object]:
        """Return the change as plain data."""
        change = "insert" if self.is_insert else "delete"
        if self.rule is not None:
            return {"change": change, "rule": self.rule, "text": str(self)}
        return {"change": change, "relation": self.relation, "fact": fact_json(self.fact), "text": str(self)}

    def to_json(self) -> str:
        """Return the change as JSON text."""
        return _json(self.to_dict())


@dataclass(frozen=True, slots=True)
class AskedFaults:
    """The faults that were asked about, as texts of facts, and the two epochs they lie between."""

    unwanted: tuple[str, ...]
    missing: tuple[str, ...]
    epochs: tuple[int, int]

    def to_dict(self) -> dict[str, object]:
        """Return the faults as plain data."""
        return {
            "epochs": list(self.epochs),
            "unwanted": list(self.unwanted),
            "missing": list(self.missing),
        }

    def to_json(self) -> str:
        """Return the faults as JSON text."""
        return _json(self.to_dict())

    @property
    def when(self) -> str:
        """Return the epochs in words."""
        before, after = self.epochs
        return f"of epoch {after}" if after == before + 1 else f"of epochs {before + 1} to {after}"

    def lines(self) -> Iterator[str]:
        """Yield the faults, one to a line."""
        yield from (f"  unwanted: {fact}" for fact in self.unwanted)
        yield from (f"  missing: {fact}" for fact in self.missing)


@dataclass(frozen=True)
class Blame:
    """The changes that cause all the faults; none of them can be left out.

    `proofs` has one incremental proof for each fault. `trials` is how many worlds were tried.
    """

    faults: AskedFaults
    changes: tuple[InputChange, ...]
    proofs: tuple[StoryStep, ...]
    method: str
    trials: int
    seconds: float
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[InputChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __str__(self) -> str:
        verb = "causes" if len(self.changes) == 1 else "cause"
        lines = [
            f"{counted(len(self.changes), 'change')} {self.faults.when} {verb}",
            *self.faults.lines(),
            "blamed:",
            *(f"  {change}" for change in self.changes),
        ]
        for proof in self.proofs:
            lines += ["", *step_lines(proof)]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def to_json(self) -> str:
        """Return the answer as JSON text."""
        return _json(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """Return the answer as plain data; docs/blame.md explains the keys."""
        return {
            **self.faults.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
            "proofs": [step_json(proof) for proof in self.proofs],
            "method": self.method,
            "trials": self.trials,
            "seconds": round(self.seconds, 6),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Repair:
    """The cheapest way to take changes back so that none of the faults remains.

    `changes` are those to apply, which iteration also yields, and `taken_back` the past changes that they
    undo: `-edge(1, 2)` undoes `+edge(1, 2)`. The repair was tested in a trial epoch before it was returned.
    `bound` is a cost that no repair can go below: the repair is optimal if its cost is no higher.
    If no repair is left, `is_found` is False, and so is the repair itself. `alternatives` are
    others, cheapest first.
    """

    faults: AskedFaults
    changes: tuple[InputChange, ...]
    cost: float
    bound: float
    is_found: bool
    method: str
    trials: int
    seconds: float
    notes: tuple[str, ...] = ()
    alternatives: tuple["Repair", ...] = ()

    @property
    def is_optimal(self) -> bool:
        """Say whether it is proven that no cheaper repair exists."""
        return self.is_found and self.cost <= self.bound + 1e-6

    @property
    def script(self) -> str:
        """Return the changes to apply, as a change script; rules are not in it."""
        return "".join(f"{change}.\n" for change in self.changes if change.rule is None)

    @property
    def taken_back(self) -> tuple[InputChange, ...]:
        """Return the past changes that the repair undoes, in the order of `changes`."""
        return tuple(change.inverse for change in self.changes)

    def gather_rules(self, gathering: ChangeTaker) -> None:
        """Give the changes of rules to what gathers a transaction."""
        rules = [change for change in self.changes if change.rule is not None]
        if rules:
            gathering.rules(
                remove=[change.text for change in rules if not change.is_insert],
                add=[change.text for change in rules if change.is_insert],
            )

    def gather(self, gathering: ChangeTaker) -> None:
        """Give the changes of facts to what gathers a transaction."""
        for change in self.changes:
            if change.rule is None:
                gathering.data(change.relation, [change.fact], is_insert=change.is_insert)

    def __bool__(self) -> bool:
        return self.is_found

    def __iter__(self) -> Iterator[InputChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __str__(self) -> str:
        if not self.is_found:
            lines = [
                f"no repair is left: whatever else is taken back {self.faults.when}, faults remain",
                *self.faults.lines(),
            ]
        else:
            lines = [
                f"{counted(len(self.changes), 'change')} {self.faults.when} to take back, {self._quality()}",
                *(f"  {change}" for change in self.changes),
                "repairs:",
                *self.faults.lines(),
            ]
        for number, other in enumerate(self.alternatives, start=2):
            lines += [f"or, as number {number} (cost {other.cost:g}):"]
            lines += [f"  {change}" for change in other.changes]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _quality(self) -> str:
        if self.is_optimal:
            return f"cost {self.cost:g}, the least possible"
        return f"cost {self.cost:g}, at least {self.bound:g} is needed"

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def to_json(self) -> str:
        """Return the answer as JSON text."""
        return _json(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """Return the answer as plain data; docs/blame.md explains the keys."""
        return {
            **self.faults.to_dict(),
            "found": self.is_found,
            "changes": [change.to_dict() for change in self.changes],
            "apply": [str(change) for change in self.changes],
            "taken_back": [str(change) for change in self.taken_back],
            "cost": self.cost,
            "bound": self.bound,
            "optimal": self.is_optimal,
            "method": self.method,
            "trials": self.trials,
            "seconds": round(self.seconds, 6),
            "notes": list(self.notes),
            "alternatives": [other.to_dict() for other in self.alternatives],
        }


@dataclass(frozen=True)
class Violation:
    """A guard that an epoch breaks: the facts it forbids, what is to blame, and what to take back."""

    guard: str
    facts: tuple[str, ...]
    is_always: bool
    blame: Blame
    repair: Repair

    def __str__(self) -> str:
        verb = "vanished" if self.is_always else "appeared"
        lines = [f"guard broken: {self.guard}", *(f"  {fact} {verb}" for fact in self.facts)]
        lines += ["blamed:", *(f"  {change}" for change in self.blame)]
        if self.repair:
            lines += ["repair:", *(f"  {change}" for change in self.repair)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return the violation as JSON text."""
        return _json(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        """Return the violation as plain data."""
        return {
            "guard": self.guard,
            "facts": list(self.facts),
            "blame": self.blame.to_dict(),
            "repair": self.repair.to_dict(),
        }


def _json(plain: dict[str, object]) -> str:
    return json.dumps(plain, ensure_ascii=False)
