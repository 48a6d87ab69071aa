"""Lays strata out for kernels."""

from collections.abc import Mapping, Sequence

import numpy as np

from tidelog.engine.local.derive import LocalDerivations
from tidelog.maintain.small import layout
from tidelog.maintain.small.chains import Instructions, NotSmall
from tidelog.maintain.small.sync import Sync
from tidelog.maintain.small.tables import LaidOut, Tables, extended
from tidelog.plan.maintenance import MaintainedRule, RuleLiteral
from tidelog.plan.operators import Join, Operator
from tidelog.storage import StoredRelation
from tidelog.storage.relation import IndexName


class SmallStratum(Tables):
    """The tables of one stratum on its own: its relations come first in `names`, then those it reads.

    `forward` are its chains by rule and place of a literal, those from heads are `backs`.
    """

    def __init__(
        self,
        rules: Sequence[MaintainedRule],
        own: Sequence[str],
        relations: Mapping[str, StoredRelation],
        derivations: LocalDerivations,
    ) -> None:
        names = list(dict.fromkeys([*own, *(x.relation for rule in rules for x in rule.literals)]))
        super().__init__(names, relations)
        self.enter_strata([len(own)], [set(names) - set(own)])
        self.forward = _Layout(self, 0, own, rules, derivations).enter()
        self._sync = Sync(self, label=None)

    @property
    def widest_output(self) -> int:
        """Return how many values the derivation of a chain can have."""
        widths = self.rules[:, layout.RULE_ARITY] + self.rules[:, layout.RULE_LITERAL_COUNT]
        return int(widths.max(initial=0)) + 1

    def refresh(self, relations: Mapping[str, StoredRelation]) -> None:
        """Bring addresses, sizes and counts up to date; indexes cover all rows then."""
        self._sync.write(relations)


def lay_out(
    rules: Sequence[MaintainedRule],
    own: Sequence[str],
    relations: Mapping[str, StoredRelation],
    derivations: LocalDerivations,
) -> SmallStratum | None:
    """Return the tables of a stratum on its own, None if a rule needs what kernels do not have."""
    try:
        return SmallStratum(rules, own, relations, derivations)
    except NotSmall:
        return None


def enter_stratum(
    tables: Tables,
    number: int,
    own: Sequence[str],
    rules: Sequence[MaintainedRule],
    derivations: LocalDerivations,
) -> bool:
    """Enter a stratum into the tables; return False if a rule needs what the kernel does not have."""
    if len(own) > layout.RELATION_LIMIT:
        return False
    known = len(tables.keys)
    try:
        _Layout(tables, number, own, rules, derivations).enter()
    except NotSmall:
        tables.forget_indexes(known)
        return False
    return True


def _name(join: Join) -> IndexName:
    return join.key if join.ordered is None else (join.key, join.ordered)


class _Layout:
    def __init__(
        self,
        tables: Tables,
        number: int,
        own: Sequence[str],
        rules: Sequence[MaintainedRule],
        derivations: LocalDerivations,
    ) -> None:
        self._tables = tables
        self._number = number
        self._own = own
        self._rules = rules
        self._derivations = derivations
        # Of this stratum alone, so that a plan does not depend on what else was laid out before.
        self._keys: set[tuple[str, IndexName]] = set()
        self._instructions = Instructions(
            tables.numbers.__getitem__, self._number_index, self._rest, derivations.encode,
            constants=tables.constants.tolist(), offset=tables.code.size,
        )  # fmt: skip
        self._chains: list[tuple[int, int, int, int, int]] = []
        self._variants: list[int] = []

    def _number_index(self, relation: str, name: IndexName) -> int:
        self._keys.add((relation, name))
        return self._tables.number_index(relation, name)

    def _rest(self, relation: str, key: tuple[int, ...]) -> Sequence[int]:
        arity = int(self._tables.relations[self._tables.numbers[relation], layout.ARITY])
        return [column for column in range(arity) if column not in key]

    def enter(self) -> dict[tuple[int, int], int]:
        """Enter all tables at once, and return the chains by rule and place of a literal.

        A rule beyond kernels leaves the tables as they were, but for indexes.
        """
        tables = self._tables
        # Variants come after all first choices: they may use only indexes that are there anyway.
        todo: list[tuple[int, int, RuleLiteral | None]] = []
        for number, rule in enumerate(self._rules):
            todo.extend((number, place, literal) for place, literal in enumerate(rule.literals))
            todo.append((number, -1, None))
        plans = [self._derivations.variants(self._rules[number], literal) for number, _, literal in todo]
        first = [self._first_variant(plan) for plan in plans]
        first_chain = len(tables.chains)
        first_rule, first_variant = len(tables.rules), tables.variants.size
        for (number, place, literal), (start, chosen), plan in zip(todo, first, plans, strict=True):
            starts = [start, *self._other_variants(plan, chosen)]
            relation = self._rules[number].relation if literal is None else literal.relation
            self._chains.append((
                first_rule + number, place, tables.numbers[relation], first_variant + len(self._variants),
                len(starts),
            ))  # fmt: skip
            self._variants.extend(starts)
        self._enter_chains([literal for _, _, literal in todo])
        self._enter_rules()
        tables.chains = extended(tables.chains, self._chains)
        tables.variants = extended(tables.variants, self._variants)
        tables.code = extended(tables.code, self._instructions.code)
        tables.constants = np.array(self._instructions.constants, np.int64)
        names = {*self._own, *(literal.relation for rule in self._rules for literal in rule.literals)}
        tables.keep(self._number, LaidOut(self._own, names, self._keys))
        return {(number, place): first_chain + at for at, (number, place, _) in enumerate(todo) if place >= 0}

    def _first_variant(self, plan: Sequence[tuple[Operator, ...]]) -> tuple[int, tuple[Operator, ...]]:
        """Return where the best chain begins that kernels can follow: joins, where all at once is better."""
        for operators in plan:
            try:
                return self._instructions.add(operators), operators
            except NotSmall:
                continue
        raise NotSmall

    def _other_variants(
        self, plan: Sequence[tuple[Operator, ...]], chosen: tuple[Operator, ...]
    ) -> list[int]:
        starts = []
        for operators in plan:
            if operators == chosen:
                continue
            needed = {(x.relation, _name(x)) for x in operators if isinstance(x, Join)}
            if needed <= self._keys:
                try:
                    starts.append(self._instructions.add(operators))
                except NotSmall:
                    continue
        return starts

    def _enter_chains(self, literals: Sequence[RuleLiteral | None]) -> None:
        """Say which chains begin at which relations: in this stratum or, as forwards, in earlier ones."""
        tables = self._tables
        uses: dict[str, list[int]] = {name: [] for name in self._own}
        backs: dict[str, list[int]] = {name: [] for name in self._own}
        forwards: list[tuple[int, int, int]] = []
        for position, (literal, row) in enumerate(zip(literals, self._chains, strict=True)):
            chain = len(tables.chains) + position
            name = tables.names[row[layout.CHAIN_RELATION]]
            if literal is None:
                backs[name].append(chain)
            elif name in uses:
                uses[name].append(chain)
            else:
                forwards.append((row[layout.CHAIN_RELATION], literal.is_negated, chain))
        for name in self._own:
            number = tables.numbers[name]
            row_of = tables.relations[number]
            row_of[layout.FIRST_USE], row_of[layout.USE_COUNT] = tables.uses.size, len(uses[name])
            row_of[layout.FIRST_BACK], row_of[layout.BACK_COUNT] = tables.backs.size, len(backs[name])
            tables.uses = extended(tables.uses, uses[name])
            tables.backs = extended(tables.backs, backs[name])
        row_of = tables.strata[self._number]
        row_of[layout.FIRST_FORWARD], row_of[layout.FORWARD_COUNT] = len(tables.forwards), len(forwards)
        tables.forwards = extended(tables.forwards, forwards)

    def _enter_rules(self) -> None:
        tables = self._tables
        rules: list[tuple[int, int, int, int, int]] = []
        literals: list[tuple[int, int, int, int]] = []
        for rule in self._rules:
            is_recursive = any(literal.relation in self._own for literal in rule.literals)
            rules.append((
                tables.numbers[rule.relation], len(rule.rule.head.terms),
                len(tables.literals) + len(literals), len(rule.literals), is_recursive,
            ))  # fmt: skip
            literals.extend(
                (tables.numbers[x.relation], x.is_negated, x.relation in self._own, x.is_negated)
                for x in rule.literals
            )
        row_of = tables.strata[self._number]
        row_of[layout.FIRST_LITERAL], row_of[layout.LITERAL_COUNT] = len(tables.literals), len(literals)
        tables.rules = extended(tables.rules, rules)
        tables.literals = extended(tables.literals, literals)
