"""Rules as Spark data frames over codes, where frames mean exactly what the rule means.

A rule is read as relational algebra, and its joins, antijoins, selections and projections become those of
frames. Comparisons are of codes, so these serve for equality and for numbers alone. Arithmetic does not:
Spark's numbers overflow into errors, ours wrap.

A recursive stratum is a loop of such frames, whose plans are cut after every iteration so that they and
their lineage do not grow. It needs nothing but Spark's shuffle, and about half a second for each iteration.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from tidelog.algebra import nodes as algebra
from tidelog.algebra.translate import translate_rule
from tidelog.dataclass import dataclass
from tidelog.engine.convergence import check_iterations
from tidelog.engine.protocol import Settings
from tidelog.program import nodes
from tidelog.values import Codec, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Frames = Mapping[str, "DataFrame"]
View = Callable[[algebra.Scan], "DataFrame"]
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The one column of a frame that represents an expression without columns.
_ANY: Final = "%any"


def reason_against_frames(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum's rules cannot be frames, or None if they can."""
    for name in stratum.relations:
        if not program.relations[name].arity:
            return f"`{name}` has no columns"
    for rule in stratum.rules:
        for expression in algebra.walk_expression(translate_rule(rule, program)):
            reason = _reason(expression)
            if reason is not None:
                return reason
    return None


def _reason(expression: algebra.Expression) -> str | None:
    terms: Sequence[nodes.Term] = ()
    match expression:
        case algebra.Unit() | algebra.Rename() | algebra.NaturalJoin() | algebra.Antijoin():
            return None
        case algebra.Scan(relation=relation):
            return None if relation.arity else f"`{relation.name}` has no columns"
        case algebra.Select(constraints=constraints):
            for each in constraints:
                if each.op not in ("=", "!=") and (each.op not in _COMPARE or each.kind is not Kind.NUMBER):
                    return f"the constraint `{each.op}` does not compare codes"
            terms = [term for each in constraints for term in (each.left, each.right)]
        case algebra.Project():
            terms = [term for _, term in expression.terms]
        case algebra.Extend():
            terms = [expression.term]
        case _:
            return "a rule computes values"
    is_plain = all(isinstance(term, nodes.Variable | nodes.Constant) for term in terms)
    return None if is_plain else "a rule computes values"


@dataclass(frozen=True)
class FrameStratum:
    """A stratum whose rules are frames."""

    spark: "SparkSession"
    stratum: nodes.Stratum
    program: nodes.Program
    codec: Codec
    settings: Settings

    def once(self, frames: Frames) -> dict[str, "DataFrame"]:
        """Return the relations of a stratum that is not recursive; `frames` has their input facts."""
        found = {}
        for name in self.stratum.relations:
            derived = [
                self._derive(rule, lambda scan: frames[scan.relation.name]) for rule in self._rules(name)
            ]
            parts = [frames[name], *derived] if name in frames else derived
            found[name] = reduce(lambda left, right: left.union(right), parts).distinct()
        return found

    def loop(self, frames: Frames, iterate: Callable[[int, int], None]) -> tuple[dict[str, "DataFrame"], int]:
        """Return the relations of a recursive stratum, and the iterations it took.

        `iterate` is called after each iteration with the facts it found.
        """
        full = {name: self._cut(frames[name].distinct()) for name in self.stratum.relations}
        delta = dict(full)
        iteration = 0
        while True:
            iteration += 1
            check_iterations(iteration, self.stratum, self.settings)
            new = {}
            for name in self.stratum.relations:
                candidates = [
                    self._derive(rule, _viewer(scan, frames, full, delta))
                    for rule in self._rules(name)
                    for scan in self._scans(rule, is_first=iteration == 1)
                ]
                if not candidates:
                    new[name] = full[name].limit(0)
                    continue
                together = reduce(lambda left, right: left.union(right), candidates).distinct()
                new[name] = self._cut(together.join(full[name], on=together.columns, how="left_anti"))
            found = sum(frame.count() for frame in new.values())
            iterate(iteration, found)
            if not found:
                return full, iteration
            full = {name: self._cut(full[name].union(new[name])) for name in full}
            delta = new

    def _rules(self, name: str) -> list[algebra.Project]:
        rules = [rule for rule in self.stratum.rules if rule.head.relation == name]
        return [translate_rule(rule, self.program) for rule in rules]

    def _scans(self, rule: algebra.Project, *, is_first: bool) -> Sequence[algebra.Scan | None]:
        """Return the scans that read the delta in turn; a rule without any runs in the first iteration."""
        scans = [each for each in algebra.walk_expression(rule) if isinstance(each, algebra.Scan)]
        inside = [scan for scan in scans if scan.relation.name in self.stratum.relations]
        return inside or ([None] if is_first else [])

    def _cut(self, frame: "DataFrame") -> "DataFrame":
        return frame.localCheckpoint(eager=True)

    def _derive(self, rule: algebra.Project, view: View) -> "DataFrame":
        """Return the heads of one rule, some perhaps more than once."""
        source = self._lower(rule.source, view)
        return source.select(*(self._value(term).alias(f"c{n}") for n, (_, term) in enumerate(rule.terms)))

    def _lower(self, expression: algebra.Expression, view: View) -> "DataFrame":
        """Return the rows of an expression as a frame with its columns."""
        match expression:
            case algebra.Unit():
                return _with_columns(self.spark.range(1), {})
            case algebra.Scan():
                frame = view(expression)
                return frame.toDF(*map(_spelled, expression.columns))
            case algebra.Select():
                frame = self._lower(expression.source, view)
                for each in expression.constraints:
                    holds = _COMPARE[each.op](self._value(each.left), self._value(each.right))
                    frame = frame.where(holds)
                return frame
            case algebra.Project():
                named = {name: self._value(term) for name, term in expression.terms}
                return _with_columns(self._lower(expression.source, view), named).distinct()
            case algebra.Rename():
                renamed = {new: _column(old) for old, new in expression.names}
                return _with_columns(self._lower(expression.source, view), renamed)
            case algebra.Extend():
                frame = self._lower(expression.source, view)
                return frame.withColumn(_spelled(expression.column), self._value(expression.term))
            case algebra.NaturalJoin() | algebra.Antijoin():
                how = "inner" if isinstance(expression, algebra.NaturalJoin) else "left_anti"
                return _joined(self._lower(expression.left, view), self._lower(expression.right, view), how)
        raise AssertionError(f"{expression} was refused")

    def _value(self, term: nodes.Term) -> "Column":
        from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

        if isinstance(term, nodes.Constant):
            return f.lit(self.codec.encode(term.value, term.type)).cast("long")
        assert isinstance(term, nodes.Variable)
        return _column(term.name)


def _viewer(delta_scan: algebra.Scan | None, frames: Frames, full: Frames, delta: Frames) -> View:
    """Return what each scan of a rule reads."""

    def view(scan: algebra.Scan) -> "DataFrame":
        name = scan.relation.name
        if name not in full:
            return frames[name]
        return delta[name] if scan is delta_scan else full[name]

    return view


def _joined(left: "DataFrame", right: "DataFrame", how: str) -> "DataFrame":
    """Return the join over the columns of the same name."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    shared = [name for name in left.columns if name in right.columns and name != _ANY]
    return left.join(right, on=shared or f.lit(True), how=how)


def _with_columns(frame: "DataFrame", columns: Mapping[str, "Column"]) -> "DataFrame":
    """Return a frame with columns of these names; without any, it has a row if the frame has one."""
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    if not columns:
        return frame.select(f.lit(1).alias(_ANY)).limit(1)
    return frame.select(*(column.alias(_spelled(name)) for name, column in columns.items()))


def _column(name: str) -> "Column":
    from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

    return f.col(f"`{_spelled(name)}`")


def _spelled(name: str) -> str:
    """Return a column's name in lower case, for to Spark `x` and `X` are the same."""
    return "".join(f"^{letter.lower()}" if letter.isupper() else letter for letter in name)
