"""Which partner a derivation belongs to where rows with frequent values are spread.

    path(x, z) :- path(x, y), path(y, z).

If `y` is frequent, the rows of the first atom are spread over all partners, and each has all rows of the
second: see `skew`. But a row can be spread by one column and shared by the other, so a partner also has rows
of the first atom that were not spread to it, and several partners find the same derivation. It belongs to the
one to which the row of the first atom is spread. The head of such a rule has that row too, and where
derivations are counted the other partners drop what they find.
"""

from dataclasses import replace

import numpy as np

from tidelog.engine.spark.ownership import owner_of
from tidelog.engine.spark.plans import reads_stratum
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire
from tidelog.plan.flatten import flatten_rule
from tidelog.program.nodes import Program, Rule, RuleId, Stratum, Variable, Wildcard
from tidelog.storage.kernel import CodeArray


class SpreadRules:
    """The rules of a stratum whose derivations several partners may find in an iteration.

    Where a rule reads one fact of the stratum, the partner that scans the fact finds the derivation; rules
    that no variable divides are divided by the row that is scanned.
    """

    def __init__(self, stratum: Stratum, program: Program, routes: Routes, wire: Wire) -> None:
        self._stratum = stratum
        self._program = program
        self._wire = wire
        self._heavy = routes.heavy
        reading = [rule for rule in stratum.rules if routes.heavy and reads_stratum(rule, stratum)]
        divided = {rule.id: routes.rules[rule.id].columns for rule in reading}
        # The place of the first atom, and the column that divides the rule there.
        self._first = {
            rule: min(columns.items())
            for rule, columns in divided.items()
            if len(columns) > 1 and min(columns.values()) >= 0
        }

    def widened(self) -> Stratum:
        """Return the stratum with the row of the first atom in the heads of these rules."""
        rules = (self._widened(rule) if rule.id in self._first else rule for rule in self._stratum.rules)
        return replace(self._stratum, rules=tuple(rules)) if self._first else self._stratum

    def _widened(self, rule: Rule) -> Rule:
        flat = flatten_rule(rule, self._program)
        first = flat.atoms[self._first[rule.id][0]]
        terms = tuple(
            Variable(f"%first{place}", term.type, span=term.span) if isinstance(term, Wildcard) else term
            for place, term in enumerate(first.terms)
        )
        named = replace(first, terms=terms)
        head = replace(flat.head, terms=(*flat.head.terms, *terms))
        return replace(rule, head=head, body=tuple(named if x is first else x for x in flat.body))

    def own_heads(self, rule: RuleId, arity: int, batch: CodeArray) -> CodeArray:
        """Return the heads, of this arity, of the derivations in a batch that belong to this partner."""
        if rule not in self._first:
            return batch
        _, column = self._first[rule]
        rows = np.ascontiguousarray(batch[:, arity:])
        is_own = owner_of(rows, column, self._wire.partners, self._heavy) == self._wire.me
        return np.ascontiguousarray(batch[is_own, :arity])
