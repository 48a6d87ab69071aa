"""Relations with `keys`: no two facts may agree on them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tidelog.engine.functional import Claim, two_values
from tidelog.engine.local.derive import LocalDerivations
from tidelog.engine.local.expressions import Expressions
from tidelog.engine.local.state import LocalState
from tidelog.errors import TidelogError
from tidelog.plan.flatten import FlatRule, flatten_rule, none_of
from tidelog.program.nodes import Literal, NegatedAtom, Relation, Rule, Stratum, Wildcard
from tidelog.storage import StoredRelation
from tidelog.storage.annotations import ABSENT
from tidelog.storage.kernel import CodeArray, Int64s
from tidelog.storage.key_owners import KeyOwners
from tidelog.syntax.macros import quote
from tidelog.values import Kind
from tidelog.values.codec import Codec

RowChanges = Mapping[str, tuple[Int64s, Int64s]]
RowPair = tuple[int, int]
Mask = npt.NDArray[np.bool_]


class FunctionalRelations:
    """Checks the relations with `keys` of a program, at first as a whole and then change by change."""

    def __init__(self, state: LocalState, expressions: Expressions) -> None:
        self._state = state
        self._expressions = expressions
        # By relation, with the version that they belong to.
        self._owners: dict[str, tuple[int, KeyOwners]] = {}

    def forget(self) -> None:
        """Check relations as a whole next time: a change was undone."""
        self._owners = {}

    def check(self, stratum: Stratum, changes: RowChanges | None = None) -> None:
        """Raise a diagnostic if a relation of the stratum has two facts for a key.

        `changes` are deleted and inserted rows by relation; None if all rows are new.
        """
        mistakes = [
            two_values(relation, [self._claim(relation, row, stratum.rules) for row in rows])
            for relation, rows in self.repeated(stratum, changes)
        ]
        if mistakes:
            raise TidelogError(mistakes)

    def repeated(self, stratum: Stratum, changes: RowChanges | None) -> list[tuple[Relation, RowPair]]:
        """Return each relation with two rows that agree on its keys, and these rows."""
        found = list(self._repeated(stratum, changes))
        if found:
            self.forget()
        return found

    def _repeated(self, stratum: Stratum, changes: RowChanges | None) -> Iterator[tuple[Relation, RowPair]]:
        for name in stratum.relations:
            relation = self._state.program.relations[name]
            if not relation.keys or (changes is not None and name not in changes):
                continue
            stored = self._state.relations[name]
            version, owners = self._owners.get(name, (-1, None))
            if changes is not None and owners is not None and version == stored.version:
                change = changes[name]
            else:
                owners = KeyOwners(stored, relation.keys)
                self._owners[name] = stored.version, owners
                change = np.empty(0, np.int64), _present(stored)
            found = owners.change(*change)
            if found is not None:
                yield relation, found

    def _claim(self, relation: Relation, row: int, rules: Sequence[Rule]) -> Claim:
        """Return a fact with the rules that derive it now."""
        codes = self._state.relations[relation.name].rows[row].tolist()
        deriving = [rule for rule in rules if rule.head.relation == relation.name and self.derives(rule, row)]
        return claim_of(written_fact(relation, codes, self._expressions.codec), deriving)

    def derives(
        self, rule: Rule, row: int, among: Callable[[FlatRule, CodeArray], Mask] | None = None
    ) -> bool:
        """Say whether a rule derives a fact from the facts as they are now, by derivations `among` some."""
        rule = replace(rule, body=tuple(_without_wildcards(literal) for literal in rule.body))
        followed = flatten_rule(rule, self._state.program)
        is_found = False

        def sink(batch: CodeArray) -> None:
            nonlocal is_found
            holds = np.ones(batch.shape[0], np.bool_) if among is None else among(followed, batch)
            for place, literal in enumerate(followed.literals):
                numbers = batch[:, 1 + place]
                relation = self._state.relations[literal.relation]
                present = numbers >= 0
                if relation.levels.size:
                    present &= relation.levels[np.maximum(numbers, 0)] != ABSENT
                holds &= ~present if literal.is_negated else present
            is_found = is_found or bool(holds.any())

        LocalDerivations(self._state, self._expressions).backward(followed, np.array([row], np.int64), sink)
        return is_found


def written_fact(relation: Relation, codes: Sequence[int], codec: Codec) -> str:
    """Return a fact as it is written in a program."""
    values = [
        quote(codec.format(code, column.type))
        if codec.resolve(column.type).kind is Kind.SYMBOL
        else codec.format(code, column.type)
        for code, column in zip(codes, relation.columns, strict=True)
    ]
    return f"{relation.name}({', '.join(values)})"


def claim_of(fact: str, deriving: Iterable[Rule]) -> Claim:
    """Return a fact with the rules that derive it; those made of one that the user wrote count once."""
    found = {(rule.span.start, rule.span.end): rule.span for rule in deriving}
    return Claim(fact, tuple(found.values()))


def _without_wildcards(literal: Literal) -> Literal:
    """Return a negated atom with wildcards as a count, which needs no row of its own."""
    if not isinstance(literal, NegatedAtom) or not any(isinstance(t, Wildcard) for t in literal.atom.terms):
        return literal
    return none_of(literal.atom)


def _present(stored: StoredRelation) -> Int64s:
    """Return the rows that are facts now."""
    if stored.levels.size:
        return np.flatnonzero(stored.levels[: stored.count] != ABSENT)
    if stored.deleted:
        return np.flatnonzero(stored.alive[: stored.count])
    return np.arange(stored.count)
