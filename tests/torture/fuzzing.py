"""What the kinds of fuzzing share: an input is answered or refused with a diagnostic, and nothing else."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from torture.kind import Failure
from torture.reproduction import write_reproduction
from torture.sandbox import HANG, Fault, Limits, try_cases
from torture.scratch import scratch
from torture.shrinking import Parts, shrink

# A child lives this long: long enough that forking costs nothing, short enough that a report is no news.
_BATCH_SECONDS: Final = 10.0
_FIRST_BATCH: Final = 32
_LARGEST_BATCH: Final = 20_000
_SHRINK_SECONDS: Final = 20.0


@dataclass(frozen=True)
class FuzzKind:
    """A kind of fuzzing: `make` draws an input, and `attempt` raises only if something is wrong.

    An input is a tuple of texts, the arguments of `attempt`. `attempt` catches `TidelogError`; it uses
    nothing of its module that cannot be copied into a script. `load` is called before the first fork,
    for what all children need.
    """

    name: str
    make: Callable[[random.Random], Parts]
    attempt: Callable[..., object]
    load: Callable[[], object] = tuple
    limits: Limits = Limits()  # noqa: RUF009 - frozen, and the same for all kinds
    unit: str = "inputs"

    def run(self, seeds: Iterator[int], deadline: float) -> Iterator[int | Failure]:
        """Try the inputs of the seeds; a mistake is reported for the first seed that meets it."""
        with scratch():
            self.load()
            yield from self._run(seeds, deadline)

    def _run(self, seeds: Iterator[int], deadline: float) -> Iterator[int | Failure]:
        known: set[tuple[str, str]] = set()
        size = _FIRST_BATCH
        while time.monotonic() < deadline:
            batch = list(islice(seeds, size))
            if not batch:
                return
            begun = time.monotonic()
            tried = 0
            for position, fault in try_cases(self._try_seed, batch, self.limits, deadline):
                if fault is None:
                    tried = position
                elif fault.signature not in known:
                    known.add(fault.signature)
                    yield self._failure(batch[position], fault)
            yield tried
            speed = len(batch) / max(time.monotonic() - begun, 0.01)
            size = max(1, min(_LARGEST_BATCH, 2 * size, int(speed * _BATCH_SECONDS)))

    def case(self, seed: int) -> Failure | None:
        """Return the failure of one seed, or None if its input is treated as it must be."""
        with scratch():
            self.load()
            for _, fault in try_cases(self._try_seed, [seed], self.limits):
                if fault is not None:
                    return self._failure(seed, fault)
        return None

    def input_of(self, seed: int) -> Parts:
        """Return the input that a seed stands for."""
        return self.make(random.Random(seed))

    def _try_seed(self, seed: int) -> object:
        return self.attempt(*self.input_of(seed))

    def _try_parts(self, parts: Parts) -> object:
        return self.attempt(*parts)

    def _failure(self, seed: int, fault: Fault) -> Failure:
        parts, note = self.input_of(seed), ""
        # What hangs is told from what does not in less time than the limit.
        limits = Limits(min(2.0, self.limits.seconds)) if fault.what == HANG else self.limits

        def first_failing(candidates: Sequence[Parts]) -> int | None:
            for position, found in try_cases(self._try_parts, candidates, limits):
                if found is not None and found.signature == fault.signature:
                    return position
            return None

        if first_failing([parts]) == 0:
            parts = shrink(parts, first_failing, time.monotonic() + _SHRINK_SECONDS)
        else:
            note = " (not on its own: the inputs tried before it in the same process matter)"
        summary = f"{fault}{note}"
        title = f"{self.name}, seed {seed}: {summary}"
        return Failure(self.name, seed, summary, write_reproduction(self.attempt, parts, title))
