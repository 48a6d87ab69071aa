"""Every variable has a value when it is needed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tidelog.errors import Diagnostic
from tidelog.program import nodes
from tidelog.program.binding import bound_variables, has_value
from tidelog.program.draft import Draft
from tidelog.program.resolve_rules import TypedRule
from tidelog.program.scope_aggregates import SELECTING
from tidelog.program.walk_nodes import aggregates_in, needed_variables, subterms, terms_of
from tidelog.program.written_names import written_name

IN_NEGATED = "is in a negated atom but no positive atom binds it"
IN_FACT = "is a variable, and a fact has no body that could bind it"


def check_safety(draft: Draft) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each variable that nothing binds."""
    for rule in draft.rules:
        yield from unbound_variables(rule)


def unbound_variables(rule: TypedRule) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each variable of a rule that nothing binds.

    path(x, z) :- edge(x, y), !edge(y, z).     // nothing binds z
    """
    atoms: tuple[nodes.Literal, ...] = () if rule.greater is None else (rule.head, rule.greater)
    body = (*atoms, *rule.body)
    bound = bound_variables(body)
    reported: set[str] = set()
    where = "is in the head but no positive atom binds it"
    if not body:
        where = IN_FACT
    found = [
        *(each for term in rule.head.terms for each in _unbound(term, bound, reported, where)),
        *_check_body(body, bound, reported),
    ]
    grouped = {name: part.functor for part in aggregates_in((rule.head, *body)) for name in part.outer}
    needs = _needs(rule.body, bound)
    for each in found:
        name = "" if each.span is None else each.span.text
        cycle = _cycle(needs, name) if each.code == "unbound-variable" else None
        yield _with_functor(each, grouped) if cycle is None else _cyclic(each, cycle)


def _needs(body: tuple[nodes.Literal, ...], bound: frozenset[str]) -> dict[str, list[str]]:
    """Return, for each unbound variable that equals an aggregate, the unbound variables it is made of."""
    needs: dict[str, list[str]] = {}
    for literal in body:
        if not isinstance(literal, nodes.Constraint) or literal.op != "=":
            continue
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(one, nodes.Variable) and any(True for _ in aggregates_in((other,))):
                found = dict.fromkeys(v.name for v in needed_variables((other,)) if v.name not in bound)
                needs.setdefault(one.name, []).extend(found)
    return needs


def _cycle(needs: Mapping[str, list[str]], name: str) -> list[str] | None:
    """Return a shortest way from a variable over those it needs back to itself, None if there is none."""
    ways = [[name]]
    seen: set[str] = set()
    for way in ways:
        for needed in needs.get(way[-1], ()):
            if needed == name:
                return [*way, name]
            if needed not in seen:
                seen.add(needed)
                ways.append([*way, needed])
    return None


def _cyclic(unbound: Diagnostic, cycle: list[str]) -> Diagnostic:
    return replace(
        unbound,
        code="cyclic-aggregate",
        message=f"`{cycle[0]}` depends on itself through an aggregate: {' -> '.join(cycle)}",
        hint="bind one of these variables with a positive atom",
    )


def _with_functor(diagnostic: Diagnostic, grouped: Mapping[str, str]) -> Diagnostic:
    """Return the diagnostic; where an aggregate has the variable too, the hint says what would bind it."""
    name = "" if diagnostic.span is None else diagnostic.span.text
    if diagnostic.code != "unbound-variable" or name not in grouped:
        return diagnostic
    functor = grouped[name].replace("@", "@@")
    why = "" if functor in SELECTING else f"; `{functor}` has no witnesses, unlike `min` and `max`"
    return replace(diagnostic, hint=f"{diagnostic.hint}, outside the aggregate{why}")


def _check_body(
    body: tuple[nodes.Literal, ...], bound: frozenset[str], reported: set[str]
) -> Iterator[Diagnostic]:
    for literal in body:
        match literal:
            case nodes.Atom():
                where = "is an operand, and no positive atom binds it"
            case nodes.NegatedAtom():
                where = IN_NEGATED
            case nodes.Generator():
                where = "is needed by `range` but no positive atom binds it"
            case nodes.Constraint():
                where = "is in a constraint but no positive atom binds it"
        for term in terms_of(literal):
            yield from _unbound(term, bound, reported, where)
        if isinstance(literal, nodes.Constraint):
            yield from _check_patterns(literal, bound)


def _check_patterns(literal: nodes.Constraint, bound: frozenset[str]) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each wildcard of a constraint that is not in a pattern for a value."""
    for pattern, value in ((literal.left, literal.right), (literal.right, literal.left)):
        # A wildcard that is a side of its own was reported where types were resolved.
        for part in subterms(pattern):
            if part is pattern or not isinstance(part, nodes.Wildcard):
                continue
            if literal.op != "=" or not has_value(value, bound):
                yield Diagnostic(
                    code="misplaced-wildcard",
                    message="`_` is in a record or branch that is not matched with a value",
                    span=part.span,
                    hint="match it with `=`, or in an atom",
                )


def _unbound(term: nodes.Term, bound: frozenset[str], reported: set[str], where: str) -> Iterator[Diagnostic]:
    for variable in needed_variables((term,)):
        if variable.name not in bound and variable.name not in reported:
            reported.add(variable.name)
            name = written_name(variable.name)
            if name == "_":
                # It has no value because the aggregate has none, and that is reported.
                continue
            hint = f"add a positive atom over `{name}` to the body"
            if where is IN_NEGATED:
                hint += ", or write `_` if it must not hold for any value"
            if where is IN_FACT:
                hint = f'a text is written in quotes: "{name}"'
            yield Diagnostic(
                code="unbound-variable", message=f"`{name}` {where}", span=variable.span, hint=hint
            )
    for part in subterms(term):
        if isinstance(part, nodes.Aggregate):
            yield from _check_aggregate(part, bound, reported)


def _check_aggregate(
    aggregate: nodes.Aggregate, bound: frozenset[str], reported: set[str]
) -> Iterator[Diagnostic]:
    # Outer variables that nothing binds are reported where the aggregate stands.
    outer = bound | frozenset(aggregate.outer)
    inner = bound_variables(aggregate.body, outer)
    yield from _check_body(aggregate.body, inner, reported)
    aggregated = "is aggregated but the aggregate's body does not bind it"
    begun = "is where the aggregate begins, and nothing outside it binds it"
    for term, known, where in ((aggregate.target, inner, aggregated), (aggregate.init, outer, begun)):
        if term is not None:
            yield from _unbound(term, known, reported, where)
