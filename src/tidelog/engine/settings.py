"""What a user may choose about a run, checked."""

from dataclasses import replace
from typing import Final

from tidelog.engine.memory import parse_memory_size
from tidelog.engine.protocol import Settings
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described, is_whole

# More threads than any machine has are a mistake.
_MOST_JOBS: Final = 4_096


def make_settings(
    jobs: int | None, memory_limit: int | str | None, iteration_limit: int | None = None
) -> Settings:
    """Return the settings a user chose; None leaves the default."""
    settings = Settings()
    if jobs is not None:
        if not is_whole(jobs) or not 1 <= jobs <= _MOST_JOBS:
            message = f"{described(jobs)} is not a number of threads"
            hint = f"give a whole number from 1 to {_MOST_JOBS:,}"
            raise TidelogError([Diagnostic(code="bad-jobs", message=message, hint=hint)])
        settings = replace(settings, jobs=jobs)
    if memory_limit is not None:
        settings = replace(settings, memory_limit_bytes=parse_memory_size(memory_limit))
    if iteration_limit is not None:
        if not is_whole(iteration_limit) or iteration_limit < 1:
            message = f"{described(iteration_limit)} is not a number of iterations"
            raise TidelogError([Diagnostic("bad-iteration-limit", message, hint="give 1 or more")])
        settings = replace(settings, iteration_limit=iteration_limit)
    return settings
