"""Plans as text: the operators of every delta rule, and the indexes they need."""

from collections.abc import Iterable, Iterator
from typing import Final

from tidelog.plan import operators as ops
from tidelog.plan.measured import MeasuredPlan, Place, expected_of_join, places
from tidelog.plan.statistics import UNKNOWN_SIZE, KnownSizes, Statistics
from tidelog.program.nodes import Constant, Program
from tidelog.program.printing import print_literal, print_term

Index = tuple[str, tuple[int, ...]]

_NO_STATISTICS: Final = KnownSizes()


def print_plan(
    plan: ops.StratumPlan | ops.RulePlan, program: Program, statistics: Statistics = _NO_STATISTICS
) -> str:
    """Return the plan, a line for each operator below the rule as written.

    Each operator is shown with the view it reads, its key, what it binds, its filters, how many facts it is
    expected to meet for each binding, and, after the arrow, the variables that later operators need:

        path(x, z) :- path(x, y), edge(y, z).
          delta rule of atom 1, about 317 bindings
            scan delta path: x, y → x, y
            join full edge by x = y: y as z (~316 each) → x, z
            insert path
    """
    printer = _Printer(program, statistics)
    if isinstance(plan, ops.RulePlan):
        return "\n".join(printer.rule(plan))
    lines: list[str] = []
    for rule in (*plan.once, *plan.repeated):
        lines.extend(printer.rule(rule))
    lines.extend(print_indexes(plan, program))
    return "\n".join(lines)


def print_measured(measured: MeasuredPlan, program: Program, statistics: Statistics) -> str:
    """Return a plan that ran, with the bindings that its operators yielded beside those expected:

    path(x, z) :- path(x, y), edge(y, z).
      delta rule of atom 1, about 3 bindings, measured 2.2 for each of 1,200
        scan delta path: x, y (measured 1,200) → x, y
        join full edge by x = y: y as z (~2 each, measured 1.2: 1,440) → x, z
        insert path
    """
    return "\n".join(_Printer(program, statistics, measured).rule(measured.plan))


def print_operator(operator: ops.Operator, program: Program) -> str:
    """Return an operator alone: `join full edge by x = y: y as z`."""
    printer = _Printer(program, _NO_STATISTICS)
    return f"{printer.operator(operator)}{printer.filters(operator)}"


def indexes_of(plan: ops.StratumPlan | ops.RulePlan) -> tuple[Index, ...]:
    """Return the indexes that the operators look up: a relation and its key columns, each once."""
    lookups = (x for x in _operators(plan) if isinstance(x, ops.Check | ops.IndexJoin))
    found = {
        (x.relation, x.key if isinstance(x, ops.Check) else x.index)
        for x in lookups
        if isinstance(x, ops.Check) or x.ordered is None
    }
    return tuple(sorted(found))


def print_indexes(plan: ops.StratumPlan | ops.RulePlan, program: Program) -> Iterator[str]:
    """Yield a line for each index: `index edge by x`."""

    def names(relation: str, places: tuple[int, ...]) -> str:
        return ", ".join(program.relations[relation].columns[place].name for place in places)

    for relation, key in indexes_of(plan):
        # A check of whole facts uses the membership table that every relation has.
        if 0 < len(key) < program.relations[relation].arity:
            yield f"index {relation} by {names(relation, key)}"
    operators = list(_operators(plan))
    joins = (x for x in operators if isinstance(x, ops.IndexJoin))
    for relation, key, ordered in sorted(
        {(x.relation, x.key, x.ordered) for x in joins if x.ordered is not None}
    ):
        by = f" by {names(relation, key)}" if key else ""
        yield f"index {relation}{by} ordered by {names(relation, (ordered,))}"
    atoms = (atom for x in operators if isinstance(x, ops.Leapfrog) for atom in x.atoms)
    for relation, levels in sorted({(atom.relation, atom.columns) for atom in atoms}):
        yield f"trie {relation} by {names(relation, levels)}"


def _operators(plan: ops.StratumPlan | ops.RulePlan) -> Iterator[ops.Operator]:
    rules = (plan,) if isinstance(plan, ops.RulePlan) else (*plan.once, *plan.repeated)
    # Those inside an aggregate that a scan tree answers are not run.
    return (operator for rule in rules for _, operator in places(rule.operators))


class _Printer:
    """Prints operators with the names of a program's columns."""

    def __init__(
        self, program: Program, statistics: Statistics, measured: MeasuredPlan | None = None
    ) -> None:
        self._program = program
        self._statistics = statistics
        self._measured = measured

    def rule(self, plan: ops.RulePlan) -> list[str]:
        kind = "once" if plan.delta_atom is None else f"delta rule of atom {plan.delta_atom + 1}"
        kind += ", by keys" if plan.begins_with_keys else ""
        unit = "steps" if any(isinstance(x, ops.Leapfrog) for x in plan.operators) else "bindings"
        return [
            " ".join(plan.span.text.split()),
            f"  {kind}, about {_number(plan.estimate)} {unit}{self.total(plan)}",
            *(f"  {line}" for line in (plan.reason,) if line),
            *("    " + line for line in self.operators(plan.operators, ())),
            f"    insert {plan.relation}",
            *self.keyed(plan),
        ]

    def keyed(self, plan: ops.RulePlan) -> Iterator[str]:
        """Yield the lines of the chain that begins with keys, if there is one."""
        if plan.keyed:
            yield "  where many facts of the delta share a key"
            yield from ("    " + line for line in self.operators(plan.keyed, None))

    def operators(self, operators: tuple[ops.Operator, ...], before: Place | None) -> Iterator[str]:
        """Yield the lines of a chain at a place, None for one that is not measured."""
        for number, operator in enumerate(operators):
            place = None if before is None else (*before, number)
            line = f"{self.operator(operator)}{self.sizes(operator, place)}{self.filters(operator)}"
            yield f"{line} → {_layout(operator.outputs)}"
            if isinstance(operator, ops.Reduce) and operator.scan is None:
                inside = None if place is None else (*place, 0)
                yield from ("  " + line for line in self.operators(operator.body, inside))
            if isinstance(operator, ops.Choose):
                for each, alternative in enumerate(operator.alternatives):
                    beginning = None if place is None else (*place, each)
                    yield f"  alternative {each + 1}{_in_brackets([self.count(beginning)])}"
                    yield from ("    " + line for line in self.operators(alternative, beginning))

    def total(self, plan: ops.RulePlan) -> str:
        """Return how many bindings the atoms of a plan yielded; a delta rule's are for each of its delta."""
        of_atoms = ops.ScanView | ops.IndexJoin | ops.Check | ops.Find
        reduced = {place for place, x in places(plan.operators) if isinstance(x, ops.Reduce)}
        found = ((place, x) for place, x in places(plan.operators) if isinstance(x, of_atoms))
        atoms = [place for place, _ in found if not any(place[: len(each)] == each for each in reduced)]
        if self._measured is None or not atoms:
            return ""
        counts = self._measured.bindings
        total = sum(counts[place] for place in atoms)
        if plan.delta_atom is None:
            return f", measured {_number(total)}"
        return f", measured {_number(total / max(counts[0,], 1))} for each of {_number(counts[0,])}"

    def count(self, place: Place | None) -> str:
        """Return how many bindings passed a place, if that was measured."""
        if self._measured is None or place is None:
            return ""
        return f"measured {_number(self._measured.bindings[place])}"

    def sizes(self, operator: ops.Operator, place: Place | None) -> str:
        """Return what an operator was expected to yield, and what it did."""
        count = self.count(place)
        match operator:
            case ops.ScanView():
                return _in_brackets([self.size(operator, place), count])
            case ops.IndexJoin():
                expected = f"~{self.matches(operator, place)} each"
                if count and self._measured is not None and place is not None:
                    each = self._measured.bindings[place] / max(self._measured.before(place), 1)
                    count = count.replace("measured ", f"measured {_number(each)}: ")
                ordered = ""
                if operator.ordered is not None:
                    column = self._program.relations[operator.relation].columns[operator.ordered]
                    ordered = f" ordered by {column.name}"
                return _in_brackets([expected, count]) + ordered
            case ops.Start() | ops.Choose():
                return ""
            case _:
                return _in_brackets([count])

    def operator(self, operator: ops.Operator) -> str:  # noqa: C901, PLR0912 - one case per kind of operator
        match operator:
            case ops.Start():
                return "start"
            case ops.ScanView():
                keys = "keys of " if operator.key else ""
                return f"scan {keys}{operator.view.value} {operator.relation}{self.binds(operator)}"
            case ops.IndexJoin():
                return self.join(operator)
            case ops.Check():
                key = self.key(operator.relation, operator.key, operator.operands)
                word = "reject" if operator.is_negated else "check"
                return f"{word} {operator.view.value} {operator.relation}{key}"
            case ops.Compute():
                return f"compute {operator.variable} = {print_term(operator.term)}"
            case ops.Filter():
                return f"filter {print_literal(operator.constraint)}"
            case ops.Rearrange():
                return "project"
            case ops.Generate():
                return f"generate {operator.variable}: {print_literal(operator.generator)}"
            case ops.Unpack():
                return f"take apart {operator.variable} = {print_term(operator.pattern)}"
            case ops.Reduce():
                outer = f" for each {', '.join(operator.outer)}" if operator.outer else ""
                scan = "" if operator.scan is None else self.scan(operator.scan)
                return f"reduce {operator.variable} = {operator.aggregate.functor}{outer}{scan}"
            case ops.Leapfrog():
                return self.leapfrog(operator)
            case ops.Choose():
                return "choose for each binding the join that matches the fewest facts"
            case _:
                # Looks up the row number of a whole fact.
                return f"{type(operator).__name__.lower()} {operator.relation}"

    def join(self, operator: ops.IndexJoin) -> str:
        key = self.key(operator.relation, operator.key, operator.operands)
        view = operator.view.value
        if operator.over:
            columns = self._program.relations[operator.relation].columns
            view = f"keys {', '.join(columns[place].name for place in operator.over)} of"
        elif operator.group:
            key += ", already found"
        return f"join {view} {operator.relation}{key}{self.binds(operator)}"

    def scan(self, scan: ops.RangeScan) -> str:
        columns = self._program.relations[scan.relation].columns
        keys = ", ".join(
            f"{columns[place].name} = {print_term(term)}"
            for place, term in zip(scan.key, scan.operands, strict=True)
        )
        by, name = f" by {keys}" if keys else "", columns[scan.column].name
        bounds = ", ".join(f"{name} {op} {print_term(term)}" for op, term in scan.bounds)
        return f" from a scan tree of {scan.relation}{by} where {bounds}"

    def leapfrog(self, operator: ops.Leapfrog) -> str:
        atoms = []
        for atom in operator.atoms:
            terms = dict(zip(atom.columns, atom.operands, strict=True))
            listed = ", ".join(_operand(terms[column]) for column in sorted(terms))
            atoms.append(f"{atom.view.value} {atom.relation}({listed})")
        asked = operator.order[: operator.witness]
        some = operator.order[operator.witness :]
        witness = f"some {', '.join(some)} " if some else ""
        over = f"{', '.join(asked)} " if asked else ""
        return f"leapfrog {over}{witness}in {', '.join(atoms)}"

    def size(self, operator: ops.ScanView, place: Place | None) -> str:
        if operator.view is ops.View.DELTA:
            return ""
        if self._measured is not None and place is not None:
            return f"~{_number(self._measured.expected[place])}"
        size = self._statistics.size(operator.relation)
        return f"~{_number(UNKNOWN_SIZE)}, not known" if size is None else f"~{_number(size)}"

    def matches(self, operator: ops.IndexJoin, place: Place | None) -> str:
        if self._measured is not None and place is not None:
            return _number(self._measured.expected[place])
        return _number(expected_of_join(operator, self._program, self._statistics))

    def key(self, relation: str, key: tuple[int, ...], operands: tuple[ops.Operand, ...]) -> str:
        if not key:
            return ""
        names = (self._program.relations[relation].columns[place].name for place in key)
        pairs = zip(names, operands, strict=True)
        return " by " + ", ".join(f"{name} = {_operand(operand)}" for name, operand in pairs)

    def binds(self, operator: ops.ScanView | ops.IndexJoin) -> str:
        # The column after the last one is the row number.
        columns = [*(column.name for column in self._program.relations[operator.relation].columns), "row"]
        names = [(columns[place], variable) for place, variable in operator.binds]
        if not names:
            return ""
        return ": " + ", ".join(
            column if column == variable else f"{column} as {variable}" for column, variable in names
        )

    def filters(self, operator: ops.Operator) -> str:
        match operator:
            case ops.ScanView() | ops.IndexJoin() | ops.Compute() | ops.Unpack() | ops.Leapfrog() if (
                operator.filters
            ):
                return " where " + ", ".join(_comparison(each) for each in operator.filters)
            case _:
                return ""


def _comparison(comparison: ops.Comparison) -> str:
    return f"{_operand(comparison.left)} {comparison.op} {_operand(comparison.right)}"


def _operand(operand: ops.Operand) -> str:
    return print_term(operand) if isinstance(operand, Constant) else operand


def _layout(layout: ops.Layout) -> str:
    return ", ".join(_operand(operand) for operand in layout) or "()"


def _in_brackets(sizes: Iterable[str]) -> str:
    """Return the sizes that there are in brackets."""
    listed = ", ".join(size for size in sizes if size)
    return f" ({listed})" if listed else ""


def _number(number: float) -> str:
    """Return a rough number as people read it: `0.5`, `316`, `1,200,000`."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
