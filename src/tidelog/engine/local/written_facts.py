"""Facts that are written in rules, as rows of codes."""

from collections.abc import Iterable

import numpy as np

from tidelog.engine.local.expressions import Expressions
from tidelog.plan.flatten import is_fact
from tidelog.program.nodes import Rule
from tidelog.storage.kernel import Int64s


def written_facts(rules: Iterable[Rule], expressions: Expressions) -> dict[str, Int64s]:
    """Return the facts among rules as rows, by relation, without those that have a term with no value."""
    found: dict[str, list[list[int]]] = {}
    for rule in rules:
        codes = _codes(rule, expressions) if is_fact(rule) else None
        if codes is not None:
            found.setdefault(rule.head.relation, []).append(codes)
    return {name: np.array(rows, np.int64).reshape(len(rows), -1) for name, rows in found.items()}


def _codes(rule: Rule, expressions: Expressions) -> list[int] | None:
    codes = []
    for term in rule.head.terms:
        column, has_value = expressions.term(term, {}, 1)
        if has_value is not None and not has_value[0]:
            return None
        codes.append(int(column[0]))
    return codes
