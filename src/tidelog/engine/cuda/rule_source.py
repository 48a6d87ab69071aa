"""A chain of operators as functions over codes.

Each join is a function that walks the posting of a binding and calls the next one for every entry. A long
posting is not walked but cut into pieces, which wait in a queue for a kernel of their own: so no thread has
much more to do than another, however unequal the postings are.
"""

from collections.abc import Callable, Sequence
from dataclasses import field

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.relation_source import entry_of_row
from tidelog.engine.cuda.resources import DeviceIndex, DeviceRelation, Resources
from tidelog.engine.cuda.term_source import TermSource, comparison, joined, literal, range_loop
from tidelog.plan import operators as ops
from tidelog.program.nodes import Aggregate, Constant
from tidelog.values import Kind
from tidelog.values.codec import Codec

End = Callable[[list[str], ops.Layout], None]
Operators = Sequence[ops.Operator]


@dataclass
class RuleSource:
    """Writes the functions and kernels of one delta rule, whose names begin with `name`."""

    name: str
    resources: Resources
    codec: Codec
    functions: list[str] = field(default_factory=list)
    # The kernels in the order in which they run, and the counters of the queues they push to.
    kernels: list[str] = field(default_factory=list)
    pushed: list[int] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)
    _joins: int = 0
    # Inside an aggregate the functions have its result as a parameter, and walk all postings themselves.
    _in_aggregate: bool = False

    def write(self, plan: ops.RulePlan) -> None:
        """Write a plan."""
        head = self.resources.relations[plan.relation]

        def emit(lines: list[str], outputs: ops.Layout) -> None:
            values = "".join(f", {self._operand(operand)}" for operand in outputs)
            lines.append(f"emit_{head.number}(stage{values});")

        first, *rest = plan.operators
        self.kernels.append(self.name)
        if isinstance(first, ops.Start):
            lines: list[str] = []
            self._follow(rest, lines, first.outputs, emit)
            self._function(f"{self.name}_start", [], lines)
            self._kernel(self.name, [f"if (thread == 0) {self.name}_start(STAGE_OF({self.name}));"])
            return
        assert isinstance(first, ops.ScanView), "a chain begins with a scan or a start"
        relation = self.resources.relations[first.relation]
        lines = self._entry_lines(relation, first.binds, first.filters)
        self._follow(rest, lines, first.outputs, emit)
        self._function(f"{self.name}_row", ["u64 entry"], lines)
        begin, end = self._rows(relation, first.view)
        loop = f"for (u64 row = {begin} + thread; row < {end}; row += threads)"
        self._kernel(
            self.name, [f"{loop} {self.name}_row(STAGE_OF({self.name}), {entry_of_row(relation, 'row')});"]
        )

    # --- operators -------------------------------------------------------------------------

    def _follow(self, operators: Operators, lines: list[str], bound: ops.Layout, end: End) -> None:
        """Write the rest of a chain, for a binding whose variables are those of `bound`."""
        outputs = bound
        for place, operator in enumerate(operators):
            rest = operators[place + 1 :]
            match operator:
                case ops.IndexJoin():
                    self._join(operator, rest, lines, outputs, end)
                    return
                case ops.Choose():
                    self._choose(operator, lines, outputs, end)
                    return
                case ops.Check():
                    condition = self._holds(operator)
                    lines.append(f"if ({'' if operator.is_negated else '!'}{condition}) return;")
                case ops.Compute():
                    value = self._terms(lines).term(operator.term)
                    lines.append(f"i64 {self._variable(operator.variable)} = {value};")
                    self._filter(lines, operator.filters)
                case ops.Filter():
                    constraint = operator.constraint
                    terms = self._terms(lines)
                    sides = terms.term(constraint.left), terms.term(constraint.right)
                    lines.append(f"if (!({comparison(constraint.op, constraint.kind, *sides)})) return;")
                case ops.Generate():
                    self._generate(operator, rest, lines, outputs, end)
                    return
                case ops.Reduce():
                    self._reduce(operator, lines)
                case ops.Rearrange():
                    pass
                case _:
                    raise AssertionError(f"{type(operator).__name__} is not placed on the device")
            outputs = operator.outputs
        end(lines, outputs)

    def _join(
        self, join: ops.IndexJoin, rest: Operators, lines: list[str], bound: ops.Layout, end: End
    ) -> None:
        """Write a join and what follows it as functions, and the call of the first."""
        name, values = self._write_join(join, rest, bound, end)
        lines.append(f"{name}(stage{values}, {name}_range(stage{values}));")

    def _choose(self, choose: ops.Choose, lines: list[str], bound: ops.Layout, end: End) -> None:
        """Write the alternatives, and the choice of the one with the shortest posting."""
        calls = []
        for alternative in choose.alternatives:
            join = alternative[0]
            assert isinstance(join, ops.IndexJoin), "alternatives begin with joins"
            name, values = self._write_join(join, alternative[1:], bound, end)
            calls.append((name, values))
        for place, (name, values) in enumerate(calls):
            lines.append(f"Range range{place} = {name}_range(stage{values});")
            lines.append(f"u64 size{place} = range{place}.end - range{place}.begin;")
            lines.append(f"if (!size{place}) return;")
        for place, (name, values) in enumerate(calls):
            others = [f"size{place} <= size{other}" for other in range(place + 1, len(calls))]
            call = f"{{ {name}(stage{values}, range{place}); return; }}"
            lines.append(f"if ({' && '.join(others)}) {call}" if others else call)

    def _write_join(
        self, join: ops.IndexJoin, rest: Operators, bound: ops.Layout, end: End
    ) -> tuple[str, str]:
        """Write the functions of a join; return their name, and the arguments behind the stage."""
        number = self._joins
        self._joins += 1
        name = f"{self.name}_join{number}"
        relation = self.resources.relations[join.relation]
        index = self.resources.indexes[join.relation, join.key] if join.key else None
        variables = list(dict.fromkeys(self._variable(x) for x in bound if isinstance(x, str)))
        parameters = [f"i64 {variable}" for variable in variables]
        values = "".join(f", {variable}" for variable in variables)
        if not self._in_aggregate:
            self.kernels.append(f"{name}_heavy")
        lines = self._entry_lines(relation, join.binds, ())
        if index is not None and index.is_hashed:
            self._verify(lines, index, join.operands)
        self._filter(lines, join.filters)
        self._follow(rest, lines, join.outputs, end)
        self._function(f"{name}_entry", ["u64 entry", *parameters], lines)
        self._write_range(name, parameters, join, relation, index)
        self._write_walk(name, variables, relation, index, number)
        return name, self._result() + values

    def _result(self) -> str:
        return ", result" if self._in_aggregate else ""

    def _write_range(
        self,
        name: str,
        parameters: Sequence[str],
        join: ops.IndexJoin,
        relation: DeviceRelation,
        index: DeviceIndex | None,
    ) -> None:
        """Write the function that finds the posting of a binding, or the rows in view."""
        if index is None:
            begin, end = self._rows(relation, join.view)
            lines = [f"Range found = {{{begin}, {end}}};", "return found;"]
        else:
            view = join.view.name if relation.grows else "FULL"
            view = f"{view}_VIEW"
            key = "".join(f"{self._operand(x)}, " for x in join.operands)
            lines = [
                "Range none = {0, 0};",
                "u64 key;",
                f"if (!key_{index.number}({key}key)) return none;",
                f"return range_{index.number}(key, {view});",
            ]
        self._function(f"{name}_range", parameters, lines, "Range")

    def _write_walk(
        self,
        name: str,
        variables: Sequence[str],
        relation: DeviceRelation,
        index: DeviceIndex | None,
        number: int,
    ) -> None:
        """Write the function that walks a posting, or cuts it into pieces, and the kernel of the pieces."""
        entry = _entry(relation, index)
        result = self._result()
        values = "".join(f", {variable}" for variable in variables)
        parameters = [*(f"i64 {variable}" for variable in variables), "Range range"]
        walk = f"{name}_entry(stage{result}, {entry}{values});"
        every = f"for (u64 place = range.begin; place < range.end; place++) {walk}"
        if self._in_aggregate:
            self._function(name, parameters, [every])
            return
        width = 2 + len(variables)
        self.resources.queue(number, width)
        counter = self.resources.pushes
        self.resources.pushes += 1
        self.pushed.append(counter)
        stores = "".join(f" item[{place}] = (u64){variable};" for place, variable in enumerate(variables, 2))
        self._function(
            name,
            parameters,
            [
                f"if (range.end - range.begin <= LIGHT) {{ {every} return; }}",
                "for (u64 begin = range.begin; begin < range.end; begin += PIECE) {",
                f"    u64 number = add(&COUNTER(PUSHED({counter})), 1);",
                f"    if (number >= state.queue_room_{number}) {{ stop(stage, QUEUE({number})); return; }}",
                f"    u64* item = state.queue_{number} + number * {width};",
                "    item[0] = begin;",
                "    item[1] = begin + PIECE < range.end ? begin + PIECE : range.end;",
                f"   {stores}",
                "}",
            ],
        )
        kernel = f"{name}_heavy"
        loads = [f"    i64 {variable} = (i64)item[{place}];" for place, variable in enumerate(variables, 2)]
        self._kernel(
            kernel,
            [
                f"u64 items = COUNTER(PUSHED({counter})) * LANES;",
                "for (u64 number = thread; number < items; number += threads) {",
                f"    const u64* item = state.queue_{number} + number / LANES * {width};",
                *loads,
                "    for (u64 place = item[0] + number % LANES; place < item[1]; place += LANES)",
                f"        {name}_entry(STAGE_OF({kernel}), {entry}{values});",
                "}",
            ],
        )

    def _holds(self, check: ops.Check) -> str:
        """Return the condition that a fact with these columns exists."""
        relation = self.resources.relations[check.relation]
        operands = [self._operand(operand) for operand in check.operands]
        if len(check.key) == relation.arity:
            return f"holds_{relation.number}({', '.join(operands)})"
        if not check.key:
            return f"(COUNTER(LAST({relation.number})) > 0)"
        index = self.resources.indexes[check.relation, check.key]
        return f"some_{index.number}({', '.join(operands)})"

    def _generate(
        self, generate: ops.Generate, rest: Operators, lines: list[str], bound: ops.Layout, end: End
    ) -> None:
        """Write what follows a range as a function, and the loop that calls it."""
        name = f"{self.name}_range{self._joins}"
        self._joins += 1
        variables = list(dict.fromkeys(self._variable(x) for x in bound if isinstance(x, str)))
        inner: list[str] = []
        self._follow(rest, inner, generate.outputs, end)
        parameters = [f"i64 {variable}" for variable in (self._variable(generate.variable), *variables)]
        self._function(name, parameters, inner)
        generator = generate.generator
        terms = self._terms(lines)
        start, stop = terms.term(generator.start), terms.term(generator.stop)
        step = None if generator.step is None else terms.term(generator.step)
        values = "".join(f", {variable}" for variable in variables)
        lines += range_loop(
            generator.kind, start, stop, step, f"{name}(stage{self._result()}, (i64)at{values});"
        )

    def _reduce(self, reduce: ops.Reduce, lines: list[str]) -> None:
        """Write an aggregate: functions that walk its body, and what is made of their result."""
        aggregate = reduce.aggregate
        outer = RuleSource(f"{self.name}_sum{self._joins}", self.resources, self.codec, self.functions)
        self._joins += 1
        outer._names, outer._in_aggregate = self._names, True

        def end(inner: list[str], outputs: ops.Layout) -> None:
            value = outer._operand(outputs[0]) if outputs else ""
            inner.append(joined(aggregate.functor, aggregate.kind, value))
            inner.append("result.count++;")

        start, *body = reduce.body
        assert isinstance(start, ops.Start), (
            "an aggregate without outer variables is not placed on the device"
        )
        inner: list[str] = []
        variables = [self._variable(name) for name in reduce.outer]
        outer._follow(body, inner, start.outputs, end)
        outer._function(outer.name, [f"i64 {variable}" for variable in variables], inner)
        result = f"result{self._joins}"
        lines.append(f"Result {result} = {{0, 0}};")
        values = "".join(f", {variable}" for variable in variables)
        lines.append(f"{outer.name}(stage, {result}{values});")
        if _needs_values(aggregate):
            lines.append(f"if (!{result}.count) return;")
        lines.append(f"i64 {self._variable(reduce.variable)} = {result}.value;")

    # --- parts -----------------------------------------------------------------------------

    def _entry_lines(
        self,
        relation: DeviceRelation,
        binds: Sequence[tuple[int, str]],
        filters: Sequence[ops.Comparison],
    ) -> list[str]:
        """Return the lines that bind the columns of an entry and compare them."""
        lines = [
            f"i64 {self._variable(name)} = column_{relation.number}_{column}(entry);"
            for column, name in binds
        ]
        self._filter(lines, filters)
        return lines

    def _verify(self, lines: list[str], index: DeviceIndex, operands: Sequence[ops.Operand]) -> None:
        """Write the comparison of an entry with a key that its group does not determine."""
        for column, operand in zip(index.key, operands, strict=True):
            found = f"column_{index.relation.number}_{column}(entry)"
            lines.append(f"if ({found} != {self._operand(operand)}) return;")

    def _filter(self, lines: list[str], filters: Sequence[ops.Comparison]) -> None:
        for each in filters:
            sides = self._operand(each.left), self._operand(each.right)
            lines.append(f"if (!({comparison(each.op, Kind.NUMBER, *sides)})) return;")

    def _rows(self, relation: DeviceRelation, view: ops.View) -> tuple[str, str]:
        """Return the first row in view and the one after the last."""
        first, last = f"COUNTER(FIRST({relation.number}))", f"COUNTER(LAST({relation.number}))"
        if not relation.grows or view is ops.View.FULL:
            return "0", last
        return ("0", first) if view is ops.View.OLD else (first, last)

    def _terms(self, lines: list[str]) -> TermSource:
        return TermSource(self.codec, self._variable, lines)

    def _operand(self, operand: ops.Operand) -> str:
        if isinstance(operand, Constant):
            return literal(self.codec.encode(operand.value, operand.type))
        return self._variable(operand)

    def _variable(self, name: str) -> str:
        """Return a variable's name in C."""
        return self._names.setdefault(name, f"v{len(self._names)}")

    def _function(
        self, name: str, parameters: Sequence[str], lines: Sequence[str], result: str = "void"
    ) -> None:
        shared = ["u32 stage", *(["Result& result"] if self._in_aggregate else [])]
        body = "\n".join(f"    {line}" for line in lines)
        self.functions.append(f"DEVICE {result} {name}({', '.join([*shared, *parameters])}) {{\n{body}\n}}")

    def _kernel(self, name: str, lines: Sequence[str]) -> None:
        body = "\n".join(f"    {line}" for line in ("if (COUNTER(STOP)) return;", *lines))
        self.functions.append(f"KERNEL({name}) {{\n{body}\n}}")


def _needs_values(aggregate: Aggregate) -> bool:
    """Say whether an aggregate over nothing has no value."""
    return aggregate.functor in ("min", "max")


def _entry(relation: DeviceRelation, index: DeviceIndex | None) -> str:
    """Return the entry at a place of a posting, or of the rows."""
    if index is not None:
        return f"state.index_{index.number}.entries[place]"
    return entry_of_row(relation, "place")
