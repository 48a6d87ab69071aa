"""What a user asks of blame and repair; nothing here loads an engine."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Literal

from tidelog.dataclass import dataclass
from tidelog.errors.arguments import Arguments
from tidelog.explain.blame.answers import InputChange, Repair
from tidelog.values import Fact

Method = Literal["reasons", "ddmin"]
# Texts such as `alias(x, 'sec')`, or facts by relation.
SomeFaults = str | Iterable[str] | Mapping[str, Iterable[Fact]]
# The epoch whose changes are suspects, or the two epochs they lie between.
SomeEpochs = int | tuple[int, int]
# A change is named by a fact, a pattern, a relation or the text of a rule.
SomeChanges = str | InputChange | Iterable[str | InputChange]
Rejected = str | InputChange | Repair | Iterable[str | InputChange | Repair]


@dataclass(frozen=True, slots=True)
class FaultQuestion:
    """The faults, where their causes are sought, and how; `proofs` asks how the causes lead to the faults."""

    unwanted: SomeFaults | None = None
    missing: SomeFaults | None = None
    epoch: SomeEpochs | None = None
    method: Method = "reasons"
    proofs: bool = True


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is asked of repairs beside the faults."""

    alternatives: int = 1
    costs: Mapping[str, float] | None = None
    untouchable: SomeChanges = ()
    reject: Rejected = ()
    seconds: float = 60.0

    @property
    def all_untouchable(self) -> tuple[str | InputChange, ...]:
        """Return what must stay; one change may be given as it is."""
        if isinstance(self.untouchable, str | InputChange):
            return (self.untouchable,)
        return tuple(self.untouchable)

    @property
    def all_rejected(self) -> tuple[str | InputChange | Repair, ...]:
        """Return what is rejected; one change or repair may be given as it is."""
        if isinstance(self.reject, str | InputChange | Repair):
            return (self.reject,)
        return tuple(self.reject)

    def check(self, method: Method) -> None:
        """Raise all that is wrong with the wishes."""
        with Arguments() as arguments:
            arguments.whole("alternatives", self.alternatives, least=1)
            arguments.number("seconds", self.seconds)
            wanted = "a mapping from names to costs"
            arguments.mapping("costs", self.costs, wanted, of=_is_number, is_optional=True)
            for name, value in (("untouchable", self.untouchable), ("reject", self.reject)):
                is_right = isinstance(value, str | Iterable | InputChange)
                arguments.expect(name, value, "the name of a change, or several", is_right=is_right)
            arguments.refuse(
                if_any={"alternatives": method == "ddmin" and self.alternatives != 1},
                because="delta debugging finds one repair",
            )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
