"""Lays strata out for kernels."""

from collections.abc import Sequence

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.engine.local.by_row import layout
from tidelog.engine.local.by_row.chains import Instructions, NotSmall, index_name
from tidelog.engine.local.by_row.tables import LaidOut, StrataTables, extended
from tidelog.engine.local.derive import LocalDerivations
from tidelog.plan.flatten import FlatRule, RuleLiteral
from tidelog.plan.operators import IndexJoin, Operator


def enter_stratum(
    tables: StrataTables,
    number: int,
    own: Sequence[str],
    rules: Sequence[FlatRule],
    derivations: LocalDerivations,
) -> bool:
    """Enter a stratum into the tables; return False if the kernel cannot run one of its rules."""
    if len(own) > layout.RELATION_LIMIT:
        return False
    known = len(tables.keys)
    try:
        StratumLayout(tables, number, own, rules, derivations).enter()
    except NotSmall:
        tables.forget_indexes(known)
        return False
    return True


@dataclass
class StratumLayout:
    """Enters the rules of one stratum into tables: its chains, their indexes and what they begin at.

    Evaluation needs only the chains that begin at facts of the stratum's own relations.
    """

    tables: StrataTables
    number: int
    own: Sequence[str]
    rules: Sequence[FlatRule]
    derivations: LocalDerivations
    for_evaluation: bool = False

    def __post_init__(self) -> None:
        # Of this stratum alone, so that a plan does not depend on what else was laid out before.
        self._instructions = Instructions(self.tables, self.derivations.encode)
        self._chains: list[tuple[int, int, int, int, int]] = []
        self._variants: list[int] = []

    def enter(self) -> dict[tuple[int, int], int]:
        """Enter all tables at once, and return the chains by rule and place of a literal.

        A rule that kernels cannot run leaves the tables unchanged, except for indexes.
        """
        tables = self.tables
        if not self.for_evaluation:
            self.derivations.share_indexes(self.rules)
        # Variants come after all first choices: they may use only indexes that are there anyway.
        todo: list[tuple[int, int, RuleLiteral | None]] = []
        for number, rule in enumerate(self.rules):
            literals = list(enumerate(rule.literals))
            if self.for_evaluation:
                todo.extend((number, place, x) for place, x in literals if x.relation in self.own)
            else:
                todo.extend((number, place, literal) for place, literal in literals)
                todo.append((number, -1, None))
        plans = [self._plan(number, literal) for number, _, literal in todo]
        first = [self._first_variant(plan) for plan in plans]
        first_chain = len(tables.chains)
        first_rule, first_variant = len(tables.rules), tables.variants.size
        for (number, place, literal), (start, chosen), plan in zip(todo, first, plans, strict=True):
            starts = [start, *self._other_variants(plan, chosen)]
            relation = tables.numbers[self.rules[number].relation if literal is None else literal.relation]
            variant = first_variant + len(self._variants)
            self._chains.append((first_rule + number, place, relation, variant, len(starts)))
            self._variants.extend(starts)
        self._enter_chains([literal for _, _, literal in todo])
        self._enter_rules()
        tables.chains = extended(tables.chains, self._chains)
        tables.variants = extended(tables.variants, self._variants)
        tables.code = extended(tables.code, self._instructions.code)
        tables.constants = np.array(self._instructions.constants, np.int64)
        self._enter_projection()
        names = {*self.own, *(literal.relation for rule in self.rules for literal in rule.literals)}
        read = names | tables.bases_of(names)
        tables.keep(self.number, LaidOut(self.own, read, self._instructions.keys))
        return {(number, place): first_chain + at for at, (number, place, _) in enumerate(todo) if place >= 0}

    def _plan(self, number: int, literal: RuleLiteral | None) -> Sequence[tuple[Operator, ...]]:
        """Return the chains of a rule from a literal or its head, the one expected to be best first."""
        variants = self.derivations.variants(self.rules[number], literal)
        # While a stratum is evaluated joins see parts of relations, which levels do not tell apart.
        return variants if self.for_evaluation else list(map(self.derivations.through_levels, variants))

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
            needed = {(x.relation, index_name(x)) for x in operators if isinstance(x, IndexJoin)}
            if needed <= self._instructions.keys:
                try:
                    starts.append(self._instructions.add(operators))
                except NotSmall:
                    continue
        return starts

    def _enter_chains(self, literals: Sequence[RuleLiteral | None]) -> None:
        """Say which chains begin at which relations: in this stratum or, as forwards, in earlier ones."""
        tables = self.tables
        uses: dict[str, list[int]] = {name: [] for name in self.own}
        backs: dict[str, list[int]] = {name: [] for name in self.own}
        forwards: list[tuple[int, int, int]] = []
        for position, (literal, row) in enumerate(zip(literals, self._chains, strict=True)):
            chain, relation = len(tables.chains) + position, row[2]
            name = tables.names[relation]
            if literal is None:
                backs[name].append(chain)
            elif name in uses:
                uses[name].append(chain)
            else:
                forwards.append((relation, literal.is_negated, chain))
        for name in self.own:
            of_relation = tables.relations[tables.numbers[name]]
            of_relation["first_use"], of_relation["use_count"] = tables.uses.size, len(uses[name])
            of_relation["first_back"], of_relation["back_count"] = tables.backs.size, len(backs[name])
            tables.uses = extended(tables.uses, uses[name])
            tables.backs = extended(tables.backs, backs[name])
        stratum = tables.strata[self.number]
        stratum["first_forward"], stratum["forward_count"] = len(tables.forwards), len(forwards)
        tables.forwards = extended(tables.forwards, forwards)

    def _enter_projection(self) -> None:
        """Say by which index a stratum is followed that is the keys of one."""
        tables = self.tables
        if (projection := tables.projections.get(self.own[0])) is not None:
            index = projection.base, projection.kept
            self._instructions.keys.add(index)
            tables.strata[self.number]["projected"] = 1 + tables.number_index(*index)

    def _enter_rules(self) -> None:
        tables = self.tables
        rules: list[tuple[int, ...]] = []
        literals: list[tuple[int, ...]] = []
        for rule in self.rules:
            head, arity = tables.numbers[rule.relation], len(rule.head.terms)
            is_recursive = any(literal.relation in self.own for literal in rule.literals)
            first_literal = len(tables.literals) + len(literals)
            rules.append((head, arity, first_literal, len(rule.literals), is_recursive))
            for literal in rule.literals:
                is_own = literal.relation in self.own
                # Kernels fill in the rest.
                literals.append((tables.numbers[literal.relation], literal.is_negated, is_own, *[0] * 4))
        stratum = tables.strata[self.number]
        stratum["first_literal"], stratum["literal_count"] = len(tables.literals), len(literals)
        tables.rules = extended(tables.rules, rules)
        tables.literals = extended(tables.literals, literals)
