"""What a run took, or a session so far: strata, epochs, and advice."""

from collections.abc import Iterator
from dataclasses import field
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.profile.record import RuleProfile, StratumProfile

# The version of the form; a reader refuses others.
FORM: Final = 1


@dataclass(slots=True)
class Advice:
    """What would make a run faster, with what it is concluded from."""

    code: str
    message: str
    hint: str
    source: str = ""
    line: int = 0


@dataclass(slots=True)
class EpochStratum:
    """What an epoch did to a stratum and why; `budget` is the work an update was allowed, None without."""

    relations: list[str]
    action: str
    strategy: str
    reason: str
    predicted_work: int
    budget: int | None
    work: int
    seconds: float


@dataclass(slots=True)
class EpochProfile:
    """What one epoch took, and how many facts it changed."""

    epoch: int
    seconds: float
    changes: int
    inserted: int
    deleted: int
    strata: list[EpochStratum] = field(default_factory=list)


@dataclass(slots=True)
class Profile:
    """Where a run, or a session so far, spent its time."""

    form: int = FORM
    version: str = ""
    program: str = ""
    engine: str = "local"
    jobs: int = 1
    is_complete: bool = True
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory_bytes: int = 0
    relations: dict[str, int] = field(default_factory=dict)
    strata: list[StratumProfile] = field(default_factory=list)
    epochs: list[EpochProfile] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)

    @property
    def evaluation_seconds(self) -> float:
        """Return the seconds of all strata."""
        return sum(stratum.seconds for stratum in self.strata)

    def rules(self) -> Iterator[tuple[StratumProfile, RuleProfile]]:
        """Yield the rules of all strata."""
        for stratum in self.strata:
            for rule in stratum.rules:
                yield stratum, rule

    def to_json(self) -> str:
        """Return the profile as `tidelog run --profile` writes it."""
        from tidelog.profile.json_form import profile_to_json  # noqa: PLC0415 - it imports this module

        return profile_to_json(self)

    def __str__(self) -> str:
        from tidelog.profile.terminal import plain_text, profile_report  # noqa: PLC0415 - as above

        return plain_text(profile_report(self))
