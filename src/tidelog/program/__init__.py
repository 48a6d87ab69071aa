"""Checked programs: names, types, safety, strata. If a `Program` exists it is valid."""

from tidelog.program.build import build_program
from tidelog.program.nodes import Program
from tidelog.program.printing import print_program

__all__ = ["Program", "build_program", "print_program"]
