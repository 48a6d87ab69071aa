"""`tidelog plan`: what will run."""

import sys
from pathlib import Path

from tidelog.algebra.plan_report import report_plan
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io import read_relation
from tidelog.plan.passes import keep_wanted
from tidelog.plan.statistics import KnownSizes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.session.options import OpenOptions
from tidelog.session.prepare import Request, read_text
from tidelog.values import Codec


def print_plan(path: Path, options: OpenOptions) -> None:
    """Print for each stratum its rules as algebra, the operators of its delta rules, and its indexes.

    With a folder of facts, orders are chosen by the sizes of the inputs in it.
    """
    program, _ = build_program(read_text(Request(read_program(path), options)).tree)
    sizes = _input_sizes(program, options.facts) if isinstance(options.facts, Path) else {}
    sys.stdout.write(report_plan(keep_wanted(program), KnownSizes(sizes)))


def _input_sizes(program: Program, folder: Path) -> dict[str, float]:
    """Return the number of rows of each input; mistakes in all of them are reported together."""
    codec = Codec(program.types)
    sizes: dict[str, float] = {}
    diagnostics: list[Diagnostic] = []
    for directive in program.directives:
        if directive.kind != "input":
            continue
        try:
            columns = read_relation(program.relations[directive.relation], directive, codec, folder)
        except TidelogError as error:
            diagnostics += error.diagnostics
            continue
        if columns:
            sizes[directive.relation] = sizes.get(directive.relation, 0.0) + len(columns[0])
    if diagnostics:
        raise TidelogError(diagnostics)
    return sizes
