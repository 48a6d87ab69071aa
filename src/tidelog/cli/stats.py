"""What a run took, as JSON."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tidelog import __version__
from tidelog.engine.memory import peak_memory_bytes
from tidelog.engine.protocol import Settings
from tidelog.engine.recorder import SessionRecorder
from tidelog.io.staging import unwritable
from tidelog.program.suggest import counted

PHASES: Final = ("start", "parse", "load", "evaluate", "write")


def seconds_since_start() -> float:
    """Return how long ago this process began."""
    import psutil  # noqa: PLC0415 - only needed with a run

    return max(0.0, time.time() - float(psutil.Process().create_time()))


def write_stats(
    target: str, recorder: SessionRecorder, settings: Settings, sizes: Mapping[str, int], *, is_complete: bool
) -> None:
    """Write the statistics to a file, or to stdout for `-`; docs/cli.md explains the keys."""
    import json  # noqa: PLC0415 - only needed with statistics

    text = json.dumps(_stats(recorder, settings, sizes, is_complete=is_complete), indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as cause:
        raise unwritable(Path(target), cause) from cause


def write_stages(recorder: SessionRecorder) -> None:
    """Write to stderr what each stage and each stratum took."""
    statistics = recorder.statistics()
    lines = [f"{phase}: {statistics.seconds[phase]:.3f} s" for phase in PHASES if phase in statistics.seconds]
    place = next((place for place, line in enumerate(lines) if line.startswith("write")), len(lines))
    strata = [
        f"  {', '.join(stratum.relations)}: {counted(stratum.facts, 'fact')},"
        f" {counted(stratum.iterations, 'iteration')}, {stratum.seconds:.3f} s"
        for stratum in statistics.strata
    ]
    sys.stderr.write("\n".join([*lines[:place], *strata, *lines[place:], ""]))


def _stats(
    recorder: SessionRecorder, settings: Settings, sizes: Mapping[str, int], *, is_complete: bool
) -> dict[str, object]:
    statistics = recorder.statistics()
    return {
        "version": __version__,
        "complete": is_complete,
        "jobs": settings.jobs,
        "seconds": {
            **{phase: round(statistics.seconds.get(phase, 0.0), 6) for phase in PHASES},
            "total": round(seconds_since_start(), 6),
        },
        "strata": [
            {
                "relations": list(stratum.relations),
                "recursive": stratum.is_recursive,
                "iterations": stratum.iterations,
                "facts": stratum.facts,
                "derivations": stratum.derivations,
                "seconds": round(stratum.seconds, 6),
            }
            for stratum in statistics.strata
        ],
        "relations": dict(sizes),
        "peak_memory_bytes": peak_memory_bytes(),
    }
