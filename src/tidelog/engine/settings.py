"""What a user may choose about a run, checked."""

from dataclasses import replace
from typing import Final

from tidelog.engine.memory import parse_memory_size
from tidelog.engine.protocol import Settings
from tidelog.errors import Diagnostic
from tidelog.errors.arguments import Arguments, described, is_whole

# More threads than any machine has are a mistake.
_MOST_JOBS: Final = 4_096


def make_settings(
    jobs: int | None, memory_limit: int | str | None, iteration_limit: int | None = None
) -> Settings:
    """Return the settings a user chose; None leaves the default."""
    settings = Settings()
    with Arguments() as arguments:
        if jobs is not None and not (is_whole(jobs) and 1 <= jobs <= _MOST_JOBS):
            message = f"{described(jobs)} is not a number of threads"
            hint = f"give a whole number from 1 to {_MOST_JOBS:,}"
            arguments.diagnostics.append(Diagnostic(code="bad-jobs", message=message, hint=hint))
        elif jobs is not None:
            settings = replace(settings, jobs=jobs)
        if memory_limit is not None:
            with arguments.noting():
                settings = replace(settings, memory_limit_bytes=parse_memory_size(memory_limit))
        if iteration_limit is not None and not (is_whole(iteration_limit) and iteration_limit >= 1):
            message = f"{described(iteration_limit)} is not a number of iterations"
            hint = "give 1 or more"
            arguments.diagnostics.append(Diagnostic(code="bad-iteration-limit", message=message, hint=hint))
        elif iteration_limit is not None:
            settings = replace(settings, iteration_limit=iteration_limit)
    return settings
