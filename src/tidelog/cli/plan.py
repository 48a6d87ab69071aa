"""`tidelog plan`: what will run."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tidelog.cli.programs import read_program
from tidelog.program import build_program, print_program
from tidelog.syntax import parse


def print_plan(path: Path, include_path: tuple[Path, ...], defines: Mapping[str, str]) -> None:
    """Print the checked program as core Datalog, stratum by stratum."""
    program, _ = build_program(parse(read_program(path), include_path=include_path, defines=defines))
    sys.stdout.write(print_program(program))
