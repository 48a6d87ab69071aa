"""Terms under a binding: the value a term has, and the values a pattern takes apart."""

from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

from tidelog.engine.protocol import UserFunctions
from tidelog.engine.reference.variables import awaited, counts
from tidelog.engine.user_aggregates import UserAggregate, concatenated, is_object
from tidelog.engine.user_functors import call_functor, find_functor
from tidelog.program import nodes
from tidelog.source import Span
from tidelog.values import Branch, Codec, Kind, NoValueError, Value
from tidelog.values.aggregates import combine
from tidelog.values.functors import apply, canonical, canonical_value, order_key

Binding = Mapping[str, Value]
Solve = Callable[[tuple[nodes.Literal, ...], Binding], Iterator[Binding]]


class Terms:
    """Evaluates terms; `solve` finds the derivations of an aggregate's body."""

    def __init__(self, program: nodes.Program, codec: Codec, functions: UserFunctions, solve: Solve) -> None:
        self._program = program
        self.codec = codec
        self._functions = functions
        self._solve = solve
        self._found: dict[str, Callable[..., Value]] = {}
        self._rule: nodes.RuleId | None = None
        # What a stateful functor gave to a derivation: naive evaluation meets each
        # derivation again in every iteration, and it must be the same derivation then.
        self._drawn: dict[object, Value] = {}

    def enter(self, rule: nodes.RuleId) -> None:
        """Set the rule whose derivations are sought from now on."""
        self._rule = rule

    def value(self, term: nodes.Term, binding: Binding) -> Value:
        """Return the term's value, or raise `NoValueError`; all it awaits must be bound."""
        match term:
            case nodes.Variable():
                return binding[term.name]
            case nodes.Constant():
                return canonical(term.value, self._kind(term))
            case nodes.RecordTerm():
                return tuple(self.value(part, binding) for part in term.terms)
            case nodes.BranchTerm():
                return Branch(term.name, tuple(self.value(part, binding) for part in term.terms))
            case nodes.Application():
                return self._apply(term, binding)
            case nodes.UserApplication():
                arguments = tuple(self.value(part, binding) for part in term.terms)
                if self._program.functors[term.name].is_stateful:
                    return self._once(term, binding, lambda: self._call(term, arguments))
                return self._call(term, arguments)
            case nodes.Aggregate():
                return self._aggregate(term, binding)
            case nodes.Wildcard() | nodes.Counter():
                raise AssertionError(f"{type(term).__name__} has no value of its own")
        assert_never(term)

    def fit(
        self, term: nodes.Term, value: Value, binding: dict[str, Value], later: list[nodes.Literal]
    ) -> bool:
        """Say whether the term can match the value; free variables are bound to its parts.

        A part that has no value yet, such as `y + 1` with `y` free, is compared `later`.
        """
        match term:
            case nodes.Wildcard():
                return True
            case nodes.Variable() if term.name not in binding:
                binding[term.name] = value
                return True
            case _ if awaited(term) <= binding.keys() and not self._is_stateful(term):
                return same(self.value(term, binding), value)
            case nodes.RecordTerm():
                return isinstance(value, tuple) and self._fit_all(term.terms, value, binding, later)
            case nodes.BranchTerm():
                return (
                    isinstance(value, Branch)
                    and value.name == term.name
                    and self._fit_all(term.terms, value.fields, binding, later)
                )
            case _:
                known = nodes.Constant(value, term.type, span=term.span)
                later.append(nodes.Constraint("=", self._kind(term), term, known, span=term.span))
                return True

    def _is_stateful(self, term: nodes.Term) -> bool:
        """Say whether the value of a term must not be computed again."""
        return counts(term)

    def call(self, name: str, arguments: tuple[Value, ...], span: Span | None) -> Value:
        """Return the result of the user's function, as a value of the declared type."""
        if name in nodes.INTRINSIC_JOINS:
            return (min if nodes.INTRINSIC_JOINS[name] == "min" else max)(arguments, key=order_key)
        function = self._function(name, span)
        result_type = self._program.functors[name].result
        result = call_functor(name, function, arguments, span)
        # The codec refuses what is not a value of the type, and makes equal values the same.
        return canonical_value(self.codec.decode(self.codec.encode(result, result_type), result_type))

    def _call(self, term: nodes.UserApplication, arguments: tuple[Value, ...]) -> Value:
        return self.call(term.name, arguments, term.span)

    def _function(self, name: str, span: Span | None) -> Callable[..., Value]:
        if name not in self._found:
            self._found[name] = find_functor(name, self._functions, self.codec, span)
        return self._found[name]

    def _apply(self, term: nodes.Application, binding: Binding) -> Value:
        arguments = tuple(self.value(part, binding) for part in term.terms)
        if term.functor == "ord":
            return self.codec.encode(arguments[0], term.terms[0].type)
        return canonical(apply(term.functor, term.kind, arguments), self._kind(term))

    def _aggregate(self, term: nodes.Aggregate, binding: Binding) -> Value:
        shared = {name: binding[name] for name in awaited(term)}
        values: list[Value] = []
        for derivation in self._solve(term.body, shared):
            try:
                values.append(0 if term.target is None else self.value(term.target, derivation))
            except NoValueError:
                continue
        if not term.functor.startswith("@") and term.functor != nodes.CONCAT:
            return canonical(combine(term.functor, term.kind, values), self._kind(term))
        if is_object(term):
            return self._object(term, sorted(values, key=order_key))
        assert term.init is not None
        result = self.value(term.init, shared)
        if term.functor == nodes.CONCAT:
            return concatenated(result, sorted(values, key=order_key))
        for value in sorted(values, key=order_key):
            result = self.call(term.functor[1:], (result, value), term.span)
        return result

    def _object(self, term: nodes.Aggregate, values: list[Value]) -> Value:
        """Return the result of a user's class for values; no value for an empty group."""
        name = term.functor[1:]
        function = self._function(name, term.span)
        if not values:
            raise NoValueError
        result = UserAggregate(name, function, term.span).combine(values)
        return canonical_value(self.codec.decode(self.codec.encode(result, term.type), term.type))

    def _fit_all(
        self,
        terms: tuple[nodes.Term, ...],
        values: tuple[Value, ...],
        binding: dict[str, Value],
        later: list[nodes.Literal],
    ) -> bool:
        return len(terms) == len(values) and all(
            self.fit(term, value, binding, later) for term, value in zip(terms, values, strict=True)
        )

    def _once(self, term: nodes.Term, binding: Binding, give: Callable[[], Value]) -> Value:
        key = (self._rule, id(term), frozenset(binding.items()))
        if key not in self._drawn:
            self._drawn[key] = give()
        return self._drawn[key]

    def _kind(self, term: nodes.Term) -> Kind:
        return self._program.kind_of(term.type)


def same(left: Value, right: Value) -> bool:
    """Say whether two values are the same; NaN is the same as NaN."""
    # Every NaN that enters is the same object, and Python's tuples compare objects first.
    return (left,) == (right,)
