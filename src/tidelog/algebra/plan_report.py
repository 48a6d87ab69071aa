"""Everything about how a program will run, as text."""

from collections.abc import Iterator, Mapping, Sequence

from tidelog.algebra.translate import translate_rule
from tidelog.plan.flatten import is_fact
from tidelog.plan.lattice_paths import plan_paths
from tidelog.plan.measured import MeasuredPlan
from tidelog.plan.operators import StratumPlan
from tidelog.plan.printing import print_indexes, print_measured, print_plan
from tidelog.plan.statistics import Statistics
from tidelog.plan.stratum import for_evaluation, plan_stratum
from tidelog.program.nodes import Program, Rule, RuleId, Stratum
from tidelog.program.printing import print_rule
from tidelog.program.suggest import counted

# A program may hold thousands of facts; the first few tell what they look like.
_FACTS_SHOWN = 3


class PlanReport(str):
    """A plan as text; a notebook shows a part to open for each stratum."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415 - only needed in notebooks

        sections = (section.partition("\n") for section in self.split("\n\n") if section)
        return "".join(
            f'<details open=""><summary>{escape(title)}</summary><pre>{escape(body)}</pre></details>'
            for title, _, body in sections
        )


def plan_json(program: Program, statistics: Statistics, measured: Sequence[MeasuredPlan] = ()) -> str:
    """Return the same as JSON: for each stratum its relations and the lines of its plan."""
    import json  # noqa: PLC0415 - most plans are printed as text

    sections = report_plan(program, statistics, measured).split("\n\n")
    strata = [
        {
            "relations": list(stratum.relations),
            "recursive": stratum.is_recursive,
            "plan": section.rstrip("\n").split("\n")[1:],
        }
        for stratum, section in zip(program.strata, sections, strict=True)
    ]
    return json.dumps({"strata": strata}, indent=2, ensure_ascii=False)


def report_plan(
    program: Program, statistics: Statistics, measured: Sequence[MeasuredPlan] = ()
) -> PlanReport:
    """Return for each stratum its rules, each with its algebra and the operators of its delta rules.

    The statistics tell the sizes of input relations, as far as they are known. If the program was evaluated,
    the plans that ran, `measured`, stand for those of their rules.
    """
    by_rule: dict[RuleId, list[MeasuredPlan]] = {}
    for each in measured:
        by_rule.setdefault(each.plan.rule, []).append(each)
    sections = (
        _stratum(number, stratum, program, statistics, by_rule)
        for number, stratum in enumerate(program.strata)
    )
    return PlanReport("\n".join("\n".join(section) + "\n" for section in sections))


def _stratum(
    number: int,
    stratum: Stratum,
    program: Program,
    statistics: Statistics,
    measured: Mapping[RuleId, Sequence[MeasuredPlan]],
) -> Iterator[str]:
    recursive = " (recursive)" if stratum.is_recursive else ""
    yield f"stratum {number}: {', '.join(stratum.relations)}{recursive}"
    for name in stratum.relations:
        size = statistics.size(name)
        if program.is_input(name):
            yield f"  input {name}" + ("" if size is None else f", facts: {size:,.0f}")
    yield from _graph(stratum, program)
    yield from _facts([rule for rule in stratum.rules if is_fact(rule)])
    plan = for_evaluation(plan_stratum(stratum, program, statistics), stratum, statistics)
    for rule in stratum.rules:
        if not is_fact(rule):
            yield f"  {print_rule(rule)}"
            yield from _indented(str(translate_rule(rule, program)), 4)
            if rule.id in measured:
                texts = [print_measured(each, program, statistics) for each in _run(measured[rule.id])]
            else:
                plans = (each for each in (*plan.once, *plan.repeated) if each.rule == rule.id)
                texts = [print_plan(each, program, statistics) for each in plans]
            for text in texts:
                # The rule stands above already.
                yield from _indented("\n".join(text.split("\n")[1:]), 2)
    for subsumption in stratum.subsumptions:
        yield f"  {print_rule(subsumption)}"
    ran = [each.plan for rule in stratum.rules for each in _run(measured.get(rule.id, ()))]
    if ran:
        plan = StratumPlan(stratum.relations, (), tuple(ran))
    yield from (f"  {line}" for line in print_indexes(plan, program))


def _run(measured: Sequence[MeasuredPlan]) -> list[MeasuredPlan]:
    """Return the plans that took bindings, and the last one of a delta rule that had none, by atom."""
    last = {each.plan.delta_atom: each for each in measured if not each.plan.begins_with_keys}
    kept = [each for each in measured if each.bindings or each is last[each.plan.delta_atom]]
    return sorted(kept, key=lambda each: -1 if each.plan.delta_atom is None else each.plan.delta_atom)


def _graph(stratum: Stratum, program: Program) -> Iterator[str]:
    """Yield how a stratum runs that is a graph."""
    graph = plan_paths(stratum, program)
    if graph is not None and graph.arcs:
        bases, arcs = counted(len(graph.bases), "rule"), counted(len(graph.arcs), "rule")
        yield f"  a graph: {bases} for base values and {arcs} for arcs; best paths"
        yield "  the delta rules below run where values do not go one way along arcs"


def _facts(facts: list[Rule]) -> Iterator[str]:
    for fact in facts[:_FACTS_SHOWN]:
        yield f"  {print_rule(fact)}"
    if len(facts) > _FACTS_SHOWN:
        yield f"  ... and {len(facts) - _FACTS_SHOWN:,} more facts"


def _indented(text: str, depth: int) -> Iterator[str]:
    return (" " * depth + line for line in text.split("\n"))
