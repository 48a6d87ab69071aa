"""`tidelog run -r FILE`: a page with the program after each stage, its strata and its plans."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from tidelog.algebra.plan_report import report_plan
from tidelog.cli.output import write_result
from tidelog.engine.profile.recorder import ProfileRecorder
from tidelog.plan.measured import MeasuredPlan
from tidelog.plan.passes import wanted_stages
from tidelog.plan.statistics import KnownSizes
from tidelog.profile.pictures import PictureKind, draw_picture
from tidelog.profile.profile import Profile
from tidelog.program import print_program
from tidelog.program.build import make_draft
from tidelog.program.nodes import Program, Rule, RuleId, Subsumption
from tidelog.program.printing import print_rule
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.suggest import counted
from tidelog.session.prepare import Prepared
from tidelog.syntax import print_node, print_tree

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
       color: #1c2430; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .4rem; } p { color: #51606f; }
pre { font: 13px/1.4 ui-monospace, monospace; overflow-x: auto; background: #f6f8fa; padding: .6rem; }
details { border-bottom: 1px solid #e2e7ec; padding: .4rem 0; } summary { cursor: pointer; }
svg { max-width: 100%; height: auto; }
"""


def write_debug_report(
    path: Path, prepared: Prepared, sizes: Mapping[str, int], profile: Profile | None, plans: "Plans"
) -> None:
    """Write the page; the sizes are those at the end of the run, as far as it came."""
    parts = list(_page(prepared, sizes, profile, plans))
    title = f"{prepared.text.sources[0].name}: stages, strata and plans"
    write_result(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n" + "\n".join(parts) + "\n</body></html>\n",
        path,
    )


Plans = Sequence[MeasuredPlan]


def measured_plans(recorder: ProfileRecorder | None) -> Plans:
    """Return the plans that ran with what they took, none if nothing was measured."""
    return () if recorder is None else recorder.measurements.gather()


def _page(
    prepared: Prepared, sizes: Mapping[str, int], profile: Profile | None, plans: Plans
) -> Iterator[str]:
    yield "<h2>The program, stage by stage</h2>"
    before = ""
    program = prepared.program
    for name, text, stage in _stages(prepared):
        same = " (unchanged)" if text == before else ""
        yield _section(f"{name}{same}", "" if same else text)
        before, program = text, stage or program
    yield "<h2>Strata</h2>"
    yield _section(counted(len(program.strata), "stratum").replace("stratums", "strata"), _strata(program))
    yield "<h2>Plans</h2>"
    measured = f", measured in {counted(len(plans), 'plan')}" if plans else ""
    known = KnownSizes({name: float(size) for name, size in sizes.items() if name in program.relations})
    yield _section(f"operators of every delta rule{measured}", str(report_plan(program, known, plans)))
    if profile is not None:
        yield "<h2>Profile</h2>"
        yield from (draw_picture(profile, kind) for kind in PictureKind)
        yield _section("tables", str(profile))


def _stages(prepared: Prepared) -> Iterator[tuple[str, str, Program | None]]:
    """Yield the forms of a program from its text to what runs; the later ones are programs."""
    tree = prepared.text.tree
    yield "as written, with macros and includes resolved", print_tree(tree), None
    draft = make_draft(tree)[0]
    yield "components expanded", "\n".join(print_node(item) for item in draft.items), None
    yield "rules typed, without disjunction", "\n".join(_typed(rule) for rule in draft.typed), None
    yield "relations inlined", "\n".join(_typed(rule) for rule in draft.rules), None
    yield "checked and stratified", print_program(prepared.program), prepared.program
    for name, program in wanted_stages(prepared.program):
        yield f"pass: {name}", print_program(program), program


def _typed(rule: TypedRule) -> str:
    if rule.greater is None:
        return print_rule(Rule(RuleId(0), rule.head, rule.body, span=rule.span))
    return print_rule(Subsumption(RuleId(0), rule.head, rule.greater, rule.body, span=rule.span))


def _strata(program: Program) -> str:
    lines = []
    for number, stratum in enumerate(program.strata):
        recursive = " (recursive)" if stratum.is_recursive else ""
        rules = counted(len(stratum.rules), "rule")
        lines.append(f"{number}: {', '.join(stratum.relations)}{recursive}, {rules}")
    return "\n".join(lines)


def _section(title: str, text: str) -> str:
    if not text:
        return f"<p>{escape(title)}</p>"
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
