"""Random cases drawn by Hypothesis, which also shrinks the first one that fails."""

import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.strategies import SearchStrategy

from torture.kind import Failure

Case = TypeVar("Case")

# How many cases one seed stands for: enough to share the start, few enough to be tried again soon.
_CASES_PER_SEED: Final = 20
_SHRINKING_SECONDS: Final = 60.0
_SETTINGS: Final = settings(
    max_examples=_CASES_PER_SEED,
    database=None,
    deadline=None,
    phases=(Phase.generate, Phase.shrink),
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
)


@dataclass(frozen=True)
class RandomKind(Generic[Case]):
    """A kind whose cases are drawn from a strategy.

    `check` raises if a case fails and returns how many units it checked; `script` is the reproduction.
    """

    name: str
    unit: str
    cases: Callable[[], SearchStrategy[Case]]
    check: Callable[[Case], int]
    script: Callable[[Case], str]

    def run(self, seeds: Iterator[int], deadline: float) -> Iterator[int | Failure]:
        """Try the cases of each seed until the deadline."""
        cases = self.cases()
        for number in seeds:
            if time.monotonic() >= deadline:
                return
            search = _Search(self.check, deadline)
            found = search.run(cases, number)
            yield search.checked
            if found is not None:
                case, error = found
                yield Failure(self.name, number, _summary(error), _file(self.script(case), error))


@dataclass
class _Search(Generic[Case]):
    check: Callable[[Case], int]
    deadline: float
    checked: int = 0
    failed: list[tuple[Case, Exception]] = field(default_factory=list)

    def run(self, cases: SearchStrategy[Case], number: int) -> tuple[Case, Exception] | None:
        """Return the smallest case found that fails, with its error."""
        attempt = seed(number)(_SETTINGS(given(cases)(self._attempt)))
        try:
            attempt()
        except Exception as error:
            if not self.failed:
                raise
            # A case that fails only now and then is not shrunk; the last one that failed is told.
            case, last = self.failed[-1]
            return case, last if isinstance(error, ExceptionGroup) else error
        return None

    def _attempt(self, case: Case) -> None:
        # Beyond the deadline nothing is tried any more, but a failure is shrunk for a while.
        if time.monotonic() >= self.deadline + (_SHRINKING_SECONDS if self.failed else 0.0):
            return
        try:
            checked = self.check(case)
        except UnsatisfiedAssumption:
            raise
        except Exception as error:
            self.failed.append((case, error))
            raise
        if not self.failed:
            self.checked += checked


def _summary(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__} at {last.filename.rpartition('/')[2]}:{last.lineno}: {message[0][:200]}"


def _file(script: str, error: Exception) -> str:
    """Return the script with the error it gave as a comment."""
    told = "".join(traceback.format_exception(error)).strip().splitlines()
    return script + "\n" + "\n".join(f"# {line}" for line in told[-40:]) + "\n"
