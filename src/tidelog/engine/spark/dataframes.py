"""Rules as Spark data frames over codes, where frames say exactly what the rule says.

That is so for atoms, negated atoms, equalities, and comparisons of numbers: joins, anti joins and filters.
Arithmetic is not: Spark's numbers overflow into errors, ours wrap.

A recursive stratum is a loop of such frames, cut off from its past after every iteration, so that plans and
lineage do not grow. It needs nothing but Spark's shuffle, and about half a second for each iteration.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from tidelog.engine.convergence import check_iterations
from tidelog.engine.protocol import Settings
from tidelog.plan.flatten import FlatRule, flatten_rule
from tidelog.program import nodes
from tidelog.values import Codec, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Frames = Mapping[str, "DataFrame"]
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def reason_against_frames(stratum: nodes.Stratum, program: nodes.Program) -> str | None:
    """Return why a stratum's rules cannot be frames, None if they can."""
    for name in stratum.relations:
        if not program.relations[name].arity:
            return f"`{name}` has no columns"
    for rule in stratum.rules:
        flat = flatten_rule(rule, program)
        if flat.body and not flat.atoms:
            return f"a rule of `{rule.head.relation}` reads no relation"
        for literal in flat.body:
            reason = _reason(literal, program)
            if reason is not None:
                return reason
    return None


def _reason(literal: nodes.Literal, program: nodes.Program) -> str | None:
    match literal:
        case nodes.Atom():
            return (
                None if program.relations[literal.relation].arity else f"`{literal.relation}` has no columns"
            )
        case nodes.NegatedAtom():
            return _reason(literal.atom, program)
        case nodes.Constraint() if _is_plain(literal.left) and _is_plain(literal.right):
            if literal.op in ("=", "!=") or (literal.op in _COMPARE and literal.kind is Kind.NUMBER):
                return None
            return f"the constraint `{literal.op}` does not compare codes"
        case _:
            return "a rule computes values"


def _is_plain(term: nodes.Term) -> bool:
    return isinstance(term, nodes.Variable | nodes.Constant)


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
            derived = [self._derive(rule, lambda _, other: frames[other]) for rule in self._rules(name)]
            parts = [frames[name], *derived] if name in frames else derived
            found[name] = reduce(lambda left, right: left.union(right), parts).distinct()
        return found

    def loop(self, frames: Frames, iterate: Callable[[int, int], None]) -> tuple[dict[str, "DataFrame"], int]:
        """Return the relations of a recursive stratum, and the iterations it took.

        `iterate` hears of each iteration and the facts it found.
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
                    self._derive(rule, self._viewer(place, frames, full, delta))
                    for rule in self._rules(name)
                    for place in self._places(rule, is_first=iteration == 1)
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

    def _rules(self, name: str) -> list[FlatRule]:
        rules = (flatten_rule(rule, self.program) for rule in self.stratum.rules)
        return [rule for rule in rules if rule.relation == name]

    def _places(self, rule: FlatRule, *, is_first: bool) -> Sequence[int | None]:
        """Return the atoms that read the delta in turn; a rule without any runs in the first iteration."""
        places = [n for n, atom in enumerate(rule.atoms) if atom.relation in self.stratum.relations]
        return places or ([None] if is_first else [])

    def _viewer(
        self, place: int | None, frames: Frames, full: Frames, delta: Frames
    ) -> Callable[[int, str], "DataFrame"]:
        """Return what each atom of a rule reads; -1 is a negated atom's number."""

        def view(number: int, name: str) -> "DataFrame":
            if name not in full:
                return frames[name]
            return delta[name] if number == place else full[name]

        return view

    def _cut(self, frame: "DataFrame") -> "DataFrame":
        return frame.localCheckpoint(eager=True)

    def _derive(self, rule: FlatRule, view: Callable[[int, str], "DataFrame"]) -> "DataFrame":
        """Return the heads of one rule."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

        if not rule.body:
            codes = tuple(self._code(term) for term in rule.head.terms if isinstance(term, nodes.Constant))
            schema = ", ".join(f"c{place} long" for place in range(len(codes)))
            return self.spark.createDataFrame([codes], schema)
        frames = [self._bound(atom, view(number, atom.relation)) for number, atom in enumerate(rule.atoms)]
        joined = _join_all(frames)
        waiting = [literal for literal in rule.body if not isinstance(literal, nodes.Atom)]
        while waiting:
            literal = next(one for one in waiting if self._is_ready(one, joined.columns))
            waiting.remove(literal)
            joined = self._constrained(joined, literal, view)
        columns = [self._value(term, f).alias(f"c{place}") for place, term in enumerate(rule.head.terms)]
        return joined.select(*columns)

    def _bound(self, atom: nodes.Atom, frame: "DataFrame") -> "DataFrame":
        """Return a relation as bindings of an atom's variables."""
        from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

        kept: dict[str, Any] = {}
        for place, term in enumerate(atom.terms):
            column = f.col(f"c{place}")
            match term:
                case nodes.Constant():
                    frame = frame.where(column == self._code(term))
                case nodes.Variable() if term.name in kept:
                    frame = frame.where(column == kept[term.name])
                case nodes.Variable():
                    kept[term.name] = column
                case nodes.Wildcard():
                    pass
        if not kept:
            return frame.select(f.lit(1).alias("%any")).limit(1)
        return frame.select(*(column.alias(name) for name, column in kept.items())).distinct()

    def _is_ready(self, literal: nodes.Literal, bound: Sequence[str]) -> bool:
        terms = literal.atom.terms if isinstance(literal, nodes.NegatedAtom) else ()
        if isinstance(literal, nodes.Constraint):
            free = [
                t
                for t in (literal.left, literal.right)
                if isinstance(t, nodes.Variable) and t.name not in bound
            ]
            return not free or (literal.op == "=" and len(free) == 1)
        return all(term.name in bound for term in terms if isinstance(term, nodes.Variable))

    def _constrained(
        self, frame: "DataFrame", literal: nodes.Literal, view: Callable[[int, str], "DataFrame"]
    ) -> "DataFrame":
        from pyspark.sql import functions as f  # noqa: PLC0415 - Spark is loaded when it is used

        if isinstance(literal, nodes.NegatedAtom):
            against = self._bound(literal.atom, view(-1, literal.atom.relation))
            shared = [name for name in against.columns if name != "%any"]
            if shared:
                return frame.join(against, on=shared, how="left_anti")
            return frame.join(against, on=f.lit(True), how="left_anti")
        assert isinstance(literal, nodes.Constraint)
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, nodes.Variable) and one.name not in frame.columns:
                return frame.withColumn(one.name, self._value(other, f))
        left, right = self._value(literal.left, f), self._value(literal.right, f)
        return frame.where(_COMPARE[literal.op](left, right))

    def _value(self, term: nodes.Term, f: Any) -> Any:
        if isinstance(term, nodes.Constant):
            return f.lit(self._code(term)).cast("long")
        assert isinstance(term, nodes.Variable)
        return f.col(f"`{term.name}`")

    def _code(self, term: nodes.Constant) -> int:
        return self.codec.encode(term.value, term.type)


def _join_all(frames: Sequence["DataFrame"]) -> "DataFrame":
    """Return the natural join, with those first that share a variable with what is joined already."""
    joined, left = frames[0], list(frames[1:])
    while left:
        shared = [frame for frame in left if set(frame.columns) & set(joined.columns)]
        following = shared[0] if shared else left[0]
        left.remove(following)
        on = [name for name in following.columns if name in joined.columns]
        joined = joined.join(following, on=on, how="inner") if on else joined.crossJoin(following)
    return joined
