"""`tidelog plan`: what will run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidelog.algebra.plan_report import plan_json, report_plan
from tidelog.cli.guard import show
from tidelog.cli.output import write_result
from tidelog.cli.parameters import OutputFormat
from tidelog.cli.programs import read_program, with_facts
from tidelog.errors import Diagnostic, Severity, TidelogError
from tidelog.io import read_relation
from tidelog.options import OpenOptions
from tidelog.plan.measured import MeasuredPlan
from tidelog.plan.passes import keep_wanted
from tidelog.plan.statistics import KnownSizes
from tidelog.program import build_program
from tidelog.program.nodes import Program
from tidelog.session.prepare import Request, read_text
from tidelog.values import Codec


def print_plan(path: Path, options: OpenOptions, form: OutputFormat) -> None:
    """Print for each stratum its rules as algebra, the operators of its delta rules, and its indexes.

    Orders are chosen by the sizes of the inputs. Without `-F` a relation may lack its file, which is shown;
    its size is guessed then.
    """
    program, _ = build_program(read_text(Request(read_program(path), options)).tree)
    facts = with_facts(options, path).facts
    assert isinstance(facts, Path), "the command line names a folder"
    sizes = _input_sizes(program, facts, is_strict=options.facts is not None)
    write_plan(keep_wanted(program), KnownSizes(sizes), form)


def write_plan(
    program: Program, sizes: KnownSizes, form: OutputFormat, measured: Sequence[MeasuredPlan] = ()
) -> None:
    """Print a plan, of what will run or of what ran."""
    report = plan_json if form is OutputFormat.JSON else report_plan
    write_result(report(program, sizes, measured))


def _input_sizes(program: Program, folder: Path, *, is_strict: bool) -> dict[str, float]:
    """Return the number of rows of each input; mistakes in all of them are reported together."""
    codec = Codec(program.types)
    sizes: dict[str, float] = {}
    found: list[Diagnostic] = []
    for directive in program.directives:
        if directive.kind != "input":
            continue
        try:
            columns = read_relation(program.relations[directive.relation], directive, codec, folder)
        except TidelogError as error:
            found += error.diagnostics
            continue
        if columns:
            sizes[directive.relation] = sizes.get(directive.relation, 0.0) + len(columns[0])
    missing = [each for each in found if each.code == "missing-fact-file" and not is_strict]
    if len(found) > len(missing):
        raise TidelogError(found)
    show([replace(each, severity=Severity.WARNING) for each in missing])
    return sizes
