"""`tidelog plan`: what will run."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tidelog.algebra.plan_report import report_plan
from tidelog.cli.programs import read_program
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.io import read_relation
from tidelog.plan.passes import keep_wanted
from tidelog.plan.statistics import KnownSizes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.syntax import parse
from tidelog.values import Codec


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the command line asked for."""

    program: Path
    fact_directory: Path | None
    functions: tuple[Path, ...]
    include_path: tuple[Path, ...]
    defines: Mapping[str, str]


def print_plan(options: PlanOptions) -> None:
    """Print for each stratum its rules as algebra, the operators of its delta rules, and its indexes.

    With a folder of facts, orders are chosen by the sizes of the inputs in it.
    """
    text = parse(read_program(options.program), include_path=options.include_path, defines=options.defines)
    program, _ = build_program(text)
    sizes = {} if options.fact_directory is None else _input_sizes(program, options.fact_directory)
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
