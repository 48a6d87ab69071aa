"""Keys of relations that partners keep: two facts for one key are noticed where they are.

Facts that agree on a key have one owner, who compares them. Which rules derive them is found by all partners,
each for the derivations that are its own, and told by the driver:

    partner 1    one(1, 2) and one(1, 5) agree on `x`
    all          rule 3 derives one(1, 2), rule 4 derives one(1, 5)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.functional import two_values
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.functional import FunctionalRelations, Mask, claim_of, written_fact
from tidelog.engine.local.state import LocalState
from tidelog.engine.spark.message import Message, Rows
from tidelog.engine.spark.routes import Routes
from tidelog.engine.spark.wire import Wire, total
from tidelog.errors import TidelogError
from tidelog.maintain.partners.heads import are_mine
from tidelog.maintain.row_delta import RowDelta
from tidelog.plan.flatten import FlatRule
from tidelog.program.nodes import Program, Relation, Stratum
from tidelog.storage.kernel import CodeArray
from tidelog.values.codec import Codec


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A fact as codes, and written out where the partner has its texts, with the rules that derive it."""

    relation: str
    codes: tuple[int, ...]
    fact: str | None
    rules: tuple[int, ...]


class RepeatedKeyError(Exception):
    """Relations have two facts for one key; all partners raise it together, with the same claims."""

    def __init__(self, claims: Sequence[KeyClaim]) -> None:
        super().__init__()
        self.claims = claims


class PartnerKeys:
    """The keys of the facts that one partner has, from epoch to epoch."""

    def __init__(self, state: LocalState, wire: Wire, *, has_texts: bool) -> None:
        self._state = state
        self._wire = wire
        self._has_texts = has_texts

    def evaluate_with(self, expressions: Expressions) -> None:
        """Use these expressions from now on."""
        self._codec = expressions.codec
        self._functional = FunctionalRelations(self._state, expressions)

    def undo(self) -> None:
        """Look at all facts next time: a change was undone."""
        self._functional.forget()

    def check(self, stratum: Stratum, routes: Routes, changes: Mapping[str, RowDelta] | None) -> None:
        """Raise if two facts agree on their keys after these changes (None: any); all partners call it."""
        if not any(self._state.program.relations[name].keys for name in stratum.relations):
            return
        rows = None if changes is None else {name: (x.deleted, x.inserted) for name, x in changes.items()}
        found = self._functional.repeated(stratum, rows)
        tables = tuple(
            Rows(relation.name, self._state.relations[relation.name].rows[list(pair)])
            for relation, pair in found
        )
        pairs: dict[str, list[list[int]]] = {}
        for message in self._wire.exchange([Message((), tables)] * self._wire.partners):
            for table in message.tables:
                pair = sorted(table.rows.tolist())
                pairs[table.name] = min(pair, pairs.get(table.name, pair))
        if pairs:
            raise RepeatedKeyError([self._claim(stratum, routes, n, row) for n in pairs for row in pairs[n]])

    def _claim(self, stratum: Stratum, routes: Routes, name: str, codes: list[int]) -> KeyClaim:
        """Return a fact with the rules that derive it at any partner."""
        state = self._state
        relation, stored = state.program.relations[name], state.relations[name]
        # Where the fact is not known it is absent, which the epoch's end undoes like all else.
        number = int(stored.locate(np.array([codes], stored.dtype))[0])

        def mine(rule: FlatRule, batch: CodeArray) -> Mask:
            return are_mine(rule, batch, 1, routes, state.relations, self._wire)

        rules = [rule for rule in stratum.rules if rule.head.relation == name]
        counts = total(self._wire, *(self._functional.derives(rule, number, mine) for rule in rules))
        deriving = tuple(int(rule.id) for rule, count in zip(rules, counts, strict=True) if count)
        fact = written_fact(relation, codes, self._codec) if self._has_texts else None
        return KeyClaim(name, tuple(codes), fact, deriving)


def described(repeated: RepeatedKeyError) -> list[list[object]]:
    """Return claims as the driver gets them."""
    return [[each.relation, each.codes, each.fact, each.rules] for each in repeated.claims]


def raise_repeated(replies: Sequence[Mapping[str, Any]], program: Program, codec: Codec) -> None:
    """Raise the diagnostics for the claims of a reply, if there are any."""
    by_relation: dict[str, list[KeyClaim]] = {}
    for name, codes, fact, rules in replies[0].get("repeated", ()) if replies else ():
        by_relation.setdefault(name, []).append(KeyClaim(name, tuple(codes), fact, tuple(rules)))
    if not by_relation:
        return
    rules_by_id = {int(rule.id): rule for stratum in program.strata for rule in stratum.rules}

    def written(relation: Relation, claim: KeyClaim) -> str:
        return written_fact(relation, claim.codes, codec) if claim.fact is None else claim.fact

    raise TidelogError(
        [
            two_values(
                relation,
                [claim_of(written(relation, c), [rules_by_id[each] for each in c.rules]) for c in claims],
            )
            for relation, claims in ((program.relations[n], found) for n, found in by_relation.items())
        ]
    )
